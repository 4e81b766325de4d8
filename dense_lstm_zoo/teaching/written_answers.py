"""Files of answers that another model wrote: labels, with or without a confidence, probabilities, or free words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.corpora.own_files import input_format
from dense_lstm_zoo.data import labels as written
from dense_lstm_zoo.data import records, soft_labels
from dense_lstm_zoo.data.delimited import check_once
from dense_lstm_zoo.data.label_columns import Label, LabelColumns, check_one_kind, kind_of, names_of
from dense_lstm_zoo.data.soft_labels import SoftRows
from dense_lstm_zoo.display.notes import say
from dense_lstm_zoo.storage import files, pipes
from dense_lstm_zoo.teaching.answers import checked_rows, label_finder, of_names, one_hot

if TYPE_CHECKING:
    import numpy as np

_LABELS = ("label", "answer")  # columns that hold a label, the first that is there
_CONFIDENCES = ("confidence", "probability", "score")  # likewise, the confidence in it
_MOST_LABELS = 1000  # that a file without ``labels`` may have


@dataclass(frozen=True, eq=False)
class WrittenAnswers:
    """The answers in a file, by their texts.

    Args:
        name: The file's name.
        sha256: Its checksum.
        labels: The labels.
        texts: The texts that have an answer, each once, in the order of the file.
        rows: Their probabilities (texts, labels), float32, NaN for answers that are not a label.
        is_several: Whether texts may have several labels.
    """

    name: str
    sha256: str
    labels: list[str]
    texts: list[str]
    rows: np.ndarray
    is_several: bool

    def look_up(self, texts: Sequence[str]) -> np.ndarray:
        """Return the probabilities of texts: float32 (texts, labels), NaN for one without an answer."""
        import numpy as np

        place_of = {text: place for place, text in enumerate(self.texts)}
        places = np.array([place_of.get(text.strip(), len(self.texts)) for text in texts], int)
        none = np.full((1, len(self.labels)), np.nan, np.float32)
        rows: np.ndarray = np.concatenate([self.rows, none])[places]
        return rows


def read_answers(
    path: Path,
    labels: Sequence[str] | None,
    *,
    text_column: str | None = None,
    label_column: str | None = None,
    label_separator: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    is_several: bool | None = None,
) -> WrittenAnswers:
    """Read the answers of another model: a table with a row per text.

    The columns ``probability_NAME``, or in JSON lines an object ``probabilities``, hold the probability of each label.
    Without them, a column ``label`` or ``answer`` holds a label, and a column ``confidence``, ``probability`` or
    ``score`` its probability, which is 1 without one. With ``labels``, an answer that is none of them, such as a
    sentence of a language model, counts as no answer.

    Texts may have several labels: in lists, or with ``label_separator``. A probability is then one by itself.

    Args:
        path: csv, tsv, jsonl, Parquet or xlsx.
        labels: The labels. None means those that the file has.
        text_column: The column of the texts. None means "text".
        label_column: The column of the labels.
        label_separator: What is between two labels of a text, such as ``|``.
        encoding: The encoding. None means UTF-8.
        delimiter: What separates the columns of csv and tsv. None finds it out.
        is_several: Whether texts may have several labels, where the file holds nothing but probabilities.

    Raises:
        FileNotFoundError: No such file.
        ValueError: A file without answers, without the columns or with one of them twice, with probabilities that are
            not, or with a confidence in several labels.
    """
    path = files.existing_file(path)
    form = input_format(path, records.FORMATS[1:], None)
    options = records.Options(form, text_column, encoding=encoding, delimiter=delimiter)
    label_column = label_column if label_column is None else label_column.strip()
    columns = LabelColumns.of_options(label_column, label_separator, None, default=None)
    soft, texts, answers, places = SoftRows(), list[str](), list[tuple[Label, float]](), list[str]()
    with pipes.stream(path) as stream:
        source = records.read_records(stream, str(path), options)
        names_of_columns = [name.strip() for name in source.names]
        for name in names_of_columns:
            if name in (*_LABELS, *_CONFIDENCES, "labels", columns.column) or name.startswith("p_"):
                check_once(str(path), names_of_columns, name)
        soft_labels.label_columns(source.names, [text_column or "text"], str(path), says=False)
        for record in source.records:
            if not (text := str(record.text).strip()):
                continue
            row = dict(zip(map(str.strip, record.names), record.cells, strict=True))
            shares, answer = _answer(row, record.location, (text_column or "text").strip(), columns)
            soft.append(shares, record.location)
            texts.append(text)
            answers.append(answer)
            places.append(record.location)
    if not texts:
        raise ValueError(f"{path} holds no answers.")
    if len(soft.names) == 1:
        raise ValueError(f"{path} has probabilities of {soft.names[0]!r} alone; give those of each label.")
    own_labels = [label for label, _ in answers]
    check_one_kind(own_labels, str(path), lambda label: places[own_labels.index(label)])
    kind = kind_of(own_labels, columns)
    are_several = bool(is_several) if kind is None else kind
    own_names = [name for label in own_labels for name in names_of(label)]
    names = list(labels) if labels is not None else list(_own_labels(path, soft, own_names))
    rows = _of_soft(soft, names, path, len(texts))
    find = label_finder(names)
    for number, (label, confidence) in enumerate(answers):
        if isinstance(label, tuple):
            rows[number] = of_names(label, find, len(names))
        elif label and (place := find(label)) is not None:
            if not 0 <= confidence <= 1:
                raise ValueError(f"{places[number]}: a confidence must be from 0 to 1; found {confidence:g}.")
            rows[number] = one_hot(place, len(names), confidence)
    checked = checked_rows(rows, places.__getitem__, is_several=are_several)
    firsts = _first_answers(texts, checked)
    if repeats := len(texts) - len(firsts):
        say(f"{path}: rows that repeat a text: {repeats:,}. The first answer to it counts.")
    texts = [texts[place] for place in firsts]
    return WrittenAnswers(path.name, files.sha256(path), names, texts, checked[firsts], are_several)


def _first_answers(texts: Sequence[str], rows: np.ndarray) -> list[int]:
    """Return for each text the place of the first row that answers it, or of its first row if none does."""
    place_of: dict[str, int] = {}
    answered = (rows == rows).all(axis=1).tolist()
    for place, text in enumerate(texts):
        if not answered[place_of.setdefault(text, place)] and answered[place]:
            place_of[text] = place
    return list(place_of.values())


def _answer(
    row: Mapping[str, Any], location: str, text_column: str, columns: LabelColumns
) -> tuple[Mapping[str, Any], tuple[Label, float]]:
    """Return the probabilities of a row or, without any, its label or labels with the confidence in it."""
    shares = soft_labels.present(soft_labels.of_json(row, [text_column], location) or _of_predict(row))
    if shares:
        return shares, ("", 1.0)
    column = columns.column or next((name for name in _LABELS if name in row), None)
    if column is None or column not in row:
        raise ValueError(
            f"{location} has no answer: expected columns {soft_labels.PREFIX}NAME, or {' or '.join(_LABELS)}, or the "
            f"one of label_column (--label-column); it has {', '.join(row)}."
        )
    label = LabelColumns(column, columns.separator).label([row[column]], location)
    for name in _CONFIDENCES:
        if row.get(name) not in (None, "") and name != column:
            if isinstance(label, tuple):
                raise ValueError(
                    f"{location} has several labels and one {name!r}; leave that column out, or write the probability "
                    f"of each label as {soft_labels.PREFIX}NAME."
                )
            try:
                return {}, (label, float(row[name]))
            except (TypeError, ValueError, OverflowError):
                raise ValueError(f"{location}: {name!r} must be a number; found {row[name]!r:.80}.") from None
    return {}, (label, 1.0)


def _of_predict(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the probabilities of a table that ``predict`` wrote: ``p_NAME`` beside ``label`` and ``probability``."""
    shares = {name.removeprefix("p_"): share for name, share in row.items() if name.startswith("p_")}
    is_of_none = "labels" in row and not row.get("label")  # of several labels, a text may have none
    is_ours = "probability" in row and "label" in row and (row["label"] in [*shares] or is_of_none)
    return shares if is_ours else {}


def _own_labels(path: Path, soft: SoftRows, answers: list[str]) -> Iterator[str]:
    """Return the labels of a file: of its columns, or those that its rows have."""
    if soft.names:
        return iter(written.sorted_labels(soft.names))
    names = written.sorted_labels(written.unify((label for label in answers if label), str(path)).values())
    if not 2 <= len(names) <= _MOST_LABELS:
        raise ValueError(
            f"{path} has {len(names):,} different answers; say with labels= (--labels) which of them are labels, at "
            "least two."
        )
    return iter(names)


def _of_soft(soft: SoftRows, names: list[str], path: Path, count: int) -> np.ndarray:
    """Return the probabilities in the order of the labels, NaN for rows that have none: (rows, labels), float64."""
    import numpy as np

    rows = np.full((count, len(names)), np.nan)
    if not soft.names:
        return rows
    place_of = {written.key(name): place for place, name in enumerate(names)}
    first_of: dict[str, str] = {}
    for label in soft.names:
        if written.key(label) not in place_of:
            raise soft_labels.unknown_label(label, names, path.name)
        if (first := first_of.setdefault(written.key(label), label)) != label:
            raise ValueError(f"{path} has probabilities of one label twice, as {first!r} and {label!r}.")
    values = soft.values
    rows[~np.isnan(values).all(axis=1)] = 0.0
    for column, label in enumerate(soft.names):
        rows[:, place_of[written.key(label)]] = values[:, column]
    return rows
