"""Texts to label, from a file or from memory, without repeated ones and without copies of texts that are scored."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dense_lstm_zoo import checks
from dense_lstm_zoo.bundles.text_hashes import text_hash
from dense_lstm_zoo.corpora.own_files import input_format
from dense_lstm_zoo.data import records, typed_tables
from dense_lstm_zoo.data.delimited import check_once
from dense_lstm_zoo.data.frames import check_frame, column, is_frame
from dense_lstm_zoo.data.label_columns import Label, LabelColumns
from dense_lstm_zoo.storage import files, pipes
from dense_lstm_zoo_runtime.rules import NEWEST, VERSIONS

if TYPE_CHECKING:
    import pandas as pd

# A file, a table in memory, or strings.
TextsToLabel: TypeAlias = "str | os.PathLike[str] | pd.DataFrame | Iterable[str]"


@dataclass
class RawTexts:
    """Texts, with the label of each that has one of its own, and how many were left out for which reason.

    A text that may have several labels has a tuple of them.
    """

    texts: list[str] = field(default_factory=list)
    labels: list[Label | None] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)

    def add(self, text: str, label: Label | None = None) -> None:
        """Add a text, unless it is empty or a table could not hold it."""
        if not text:
            self.leave_out("empty")
        elif "\0" in text:
            self.leave_out("with a null character")
        else:
            self.append(text, label)

    def append(self, text: str, label: Label | None = None) -> None:
        """Add a text as it is."""
        self.texts.append(text)
        self.labels.append(label)

    def leave_out(self, reason: str, count: int = 1) -> None:
        """Count a text that is not there."""
        if count:
            self.left_out[reason] = self.left_out.get(reason, 0) + count


def read_texts(
    source: TextsToLabel,
    *,
    text_column: str | None = None,
    label_column: str | None = None,
    label_separator: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    may_lack: bool = False,
) -> RawTexts:
    """Read texts to label. Blank ones, and those with a null character, are left out.

    Args:
        source: A file with a text per line, a table (csv, tsv, jsonl, Parquet, xlsx, by its name), a list of strings,
            or a table in memory. A table may have labels for some of its texts.
        text_column: The column of the texts in a table. None means "text".
        label_column: The column of the labels. None means "label", if there is one.
        label_separator: What is between two labels of a text, such as ``|``, where a string holds several.
        encoding: The encoding of a file. None means UTF-8.
        delimiter: What separates the columns of csv and tsv. None finds it out.
        may_lack: Whether the options are those of a file of answers too, so that the texts may lack the column of the
            labels, and a file what its format does not have.

    Raises:
        FileNotFoundError: No such file.
        TypeError: Anything else, or an item that is not a string.
        ValueError: No texts, a column of labels that is there twice, or as for ``records.read_records``.
    """
    raw, columns = RawTexts(), LabelColumns.of_options(label_column, label_separator, None, default=None)
    options = records.Options("text", text_column, encoding=encoding, delimiter=delimiter, is_strict=True)
    for text, label in _pairs(source, columns, options, may_lack):
        raw.add(text.strip(), label)
    if not raw.texts:
        name = os.fspath(source) if isinstance(source, str | os.PathLike) else "The list of texts"
        raise ValueError(f"{name} holds no text to label.")
    return raw


def _pairs(
    source: TextsToLabel, columns: LabelColumns, options: records.Options, may_lack: bool
) -> Iterator[tuple[str, Label | None]]:
    """Yield each text with its label, or None."""
    if is_frame(source):
        frame = check_frame("texts", source)
        texts = column("the frame", frame, options.text_column or "text").tolist()
        name = _label_column(frame.columns, columns, "the frame", may_lack)
        own_labels = [None] * len(texts) if name is None else column("the frame", frame, name).tolist()
        for number, (text, label) in enumerate(zip(texts, own_labels, strict=True)):
            if not isinstance(text, str):
                raise TypeError(checks.not_text("texts", number, text))
            own = columns.label([label], f"the frame, row {number}, counted from 0")
            yield text, None if own == "" else own
    elif isinstance(source, str | os.PathLike):
        yield from _of_file(files.existing_file(source), columns, options, may_lack)
    else:
        checks.sequence(source)
        for number, text in enumerate(source):
            if not isinstance(text, str):
                raise TypeError(checks.not_text("texts", number, text))
            yield text, None


def _of_file(
    path: Path, columns: LabelColumns, options: records.Options, may_lack: bool
) -> Iterator[tuple[str, Label | None]]:
    form = input_format(path, records.FORMATS, None, otherwise="text")
    if may_lack:
        options = _of_format(options, form)
    else:
        records.check_options(form, options.text_column or columns.column, options.encoding, options.delimiter)
    with pipes.stream(path) as stream:
        source = records.read_records(stream, str(path), dataclasses.replace(options, form=form))
        has_header = form not in ("text", "jsonl")
        name = _label_column(source.names, columns, str(path), may_lack) if has_header else None
        for record in source.records:
            if form == "jsonl":
                name = _label_column(record.names, columns, record.location, may_lack)
            cell = None if name is None else record.cells[record.names.index(name)]
            label = columns.label([cell], record.location)
            yield str(record.text), None if label == "" else label


def _of_format(options: records.Options, form: str) -> records.Options:
    """Return the options without those that files of a format do not have."""
    return dataclasses.replace(
        options,
        text_column=None if form == "text" else options.text_column,
        encoding=None if form in typed_tables.FORMATS else options.encoding,
        delimiter=options.delimiter if form in ("csv", "tsv") else None,
    )


def _label_column(names: Iterable[Any], columns: LabelColumns, location: str, may_lack: bool) -> Any:
    """Return the name of the column of the labels, or None without one.

    Raises:
        ValueError: It is there twice, or it has been named and is not there.
    """
    names, name = list(names), columns.column
    if name is None:
        own = [each for each in names if str(each).strip() == "label"]
        name = "label" if "label" in own else next(iter(own), None)
    elif name not in names:
        if may_lack:
            return None
        raise checks.unknown_name(f"column of {location}:", name, map(str, names))
    check_once(location, names, name)
    return name


def words_of(tokens: Sequence[str]) -> list[str]:
    """Return the tokens that hold a letter or a digit, by which near copies of a text are known. All if none does."""
    return [token for token in tokens if any(map(str.isalnum, token))] or list(tokens)


def keys_of(texts: Iterable[str | Sequence[str]]) -> Iterator[int]:
    """Yield a number for each text, a string or a list of words, the same for texts with the same words.

    Example:
        >>> len(set(keys_of(["A fine film !", "a fine  film", "A fine film"])))
        1
    """
    from dense_lstm_zoo_runtime.text import Tokenizer

    tokenize = Tokenizer(VERSIONS[NEWEST])  # without TensorFlow, which a teacher's machine may lack
    for text in texts:
        joined = text if isinstance(text, str) else " ".join(text)
        yield text_hash(words_of(tokenize(joined.lower())))


def without_copies(
    raw: RawTexts, scored: Mapping[str, Iterable[str | Sequence[str]]], near: Iterable[str] | None = None
) -> RawTexts:
    """Return texts without those that repeat an earlier one, but for spaces, and without near copies of scored texts.

    A repeated text keeps its first label.

    Args:
        raw: The texts.
        scored: The texts of dev and test, by the name of the part. A near copy of one has the same words.
        near: Other texts. If they are given, near copies of them and of earlier texts are repeated, too.
    """
    part_of = {key: part for part, texts in scored.items() for key in keys_of(texts)}
    place_of: dict[int | str, int] = {} if near is None else dict.fromkeys(keys_of(near), -1)
    result = RawTexts(left_out=dict(raw.left_out))
    for text, label, key in zip(raw.texts, raw.labels, keys_of(raw.texts), strict=True):
        own = " ".join(text.split() if isinstance(text, str) else text) if near is None else key
        place = place_of.setdefault(own, len(result.texts))
        if key in part_of:
            result.leave_out(f"in {part_of[key]}")
        elif place == len(result.texts):
            result.append(text, label)
        elif label is None:
            result.leave_out("repeated")
        elif result.labels[place] in (None, label):
            result.labels[place] = label
            result.leave_out("repeated")
        else:
            result.leave_out("repeated with another label")
    return result
