"""Soft labels from a teacher: ``teach``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks, tasks
from dense_lstm_zoo.bundles.bundle import Bundle
from dense_lstm_zoo.data import labels as written
from dense_lstm_zoo.data.cells import escape_controls
from dense_lstm_zoo.data.label_columns import SEPARATOR, Label, names_of
from dense_lstm_zoo.data.tokens import token_stream
from dense_lstm_zoo.display import notes
from dense_lstm_zoo.storage import work_folders
from dense_lstm_zoo.storage.outputs import check_output
from dense_lstm_zoo.storage.snapshots import Target
from dense_lstm_zoo.teaching import soft_files, teachers, token_teaching
from dense_lstm_zoo.teaching.answers import check_names
from dense_lstm_zoo.teaching.augmenting import copies
from dense_lstm_zoo.teaching.labelling import Labelling, labelling_folder
from dense_lstm_zoo.teaching.raw_texts import RawTexts, keys_of, read_texts, without_copies
from dense_lstm_zoo.teaching.teachers import FileTeacher, Teacher, say_overlap

if TYPE_CHECKING:
    import pandas as pd

    from dense_lstm_zoo.corpora.corpus import AnyCorpus
    from dense_lstm_zoo.corpora.loader import AnyDataset
    from dense_lstm_zoo.teaching.raw_texts import TextsToLabel

Source = str | os.PathLike[str] | Bundle | Teacher | Callable[[list[str]], Any]
UNANSWERED = "without an answer"
_SHOWN = 20  # labels


@dataclass(frozen=True)
class TeachResult:
    """The outcome of ``teach``. ``print`` shows it.

    Attributes:
        path: The file.
        teacher: The name of the teacher.
        labels: The labels.
        texts: The number of texts in the file.
        labelled: The number of those that have a label of their own too.
        copies: The number of those that are changed copies of others.
        left_out: The number of texts that are not in the file, by the reason.
        is_several: Whether texts may have several labels.
    """

    path: Path
    teacher: str
    labels: tuple[str, ...]
    texts: int
    labelled: int
    copies: int
    left_out: dict[str, int]
    is_several: bool = False

    def __str__(self) -> str:
        more = f" and {len(self.labels) - _SHOWN:,} more labels" if len(self.labels) > _SHOWN else ""
        labels = escape_controls(", ".join(self.labels[:_SHOWN])) + more
        lines = [f"{self.path}: {self.texts:,} texts with probabilities of {labels}, by {self.teacher}"]
        if self.labelled:
            lines.append(f"{self.labelled:,} of them have a label of their own")
        if self.copies:
            lines.append(f"{self.copies:,} of them are changed copies")
        if self.left_out:
            lines.append("left out: " + ", ".join(f"{count:,} {reason}" for reason, count in self.left_out.items()))
        if self.is_several:
            option = f"label_separator={SEPARATOR!r} (--label-separator {SEPARATOR!r})"
            lines.append(f"texts may have several labels: read the file with {option}")
        return "\n".join(lines)


def teach(
    teacher: Source | Sequence[Source],
    texts: str | os.PathLike[str] | Iterable[str] | pd.DataFrame | None = None,
    *,
    output: str | os.PathLike[str],
    dataset: str | os.PathLike[str] | AnyCorpus | None = None,
    labels: Sequence[str] | None = None,
    train_texts: bool = False,
    augment: int = 0,
    seed: int = 1,
    text_column: str | None = None,
    label_column: str | None = None,
    label_separator: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    batch_size: int | None = None,
    overwrite: bool = False,
    progress: bool = True,
) -> TeachResult:
    """Let a teacher label texts, and write a table of soft labels that ``train`` reads.

    The answers are kept in ``OUTPUT.unfinished`` batch by batch. After a kill, or a teacher that fails, the same call
    goes on from there, and ends with the same file. No text is asked for twice.

    Texts that are repeated are labelled once. With ``dataset``, texts with the words of a dev or test text are left
    out: a student that has read them would be scored too well.

    Texts may have several labels if the teacher gives several, or ``dataset`` or ``label_separator`` says so. Each
    probability is then one by itself.

    Args:
        teacher: A trained classifier, its folder, a preset's name or address; a function from a list of texts to a
            matrix (texts, labels), or to a list with a dictionary of probabilities, a label, a list of labels or None
            for each text; a file that another model has written (``probability_NAME``, or ``label`` with or without
            ``confidence``); or a list of these, whose probabilities are averaged. Or a trained tagger; a function from
            a list of sentences, each a list of words, to a list with a matrix (words, tags), a list of tags or None for
            each; or a file of them (columns, or JSON lines of ``tokens`` with ``tags`` or ``probabilities``).
        texts: A file with a text per line, a table, a list of strings, or a table in memory. Labels in a table are
            kept. None means the training texts of ``dataset``, or those of a teacher that is a file.
        output: The file to write: csv, jsonl or Parquet, by its name. Of taggers, a file in columns such as
            ``soft.conll``, beside which ``soft.probabilities.jsonl`` is written.
        dataset: The corpus that the student is scored on: a name, a file, a folder or a corpus. Its labels must be the
            teacher's.
        labels: The labels, for a function, and for a file with other answers among them. None means those of
            ``dataset``, or the teacher's.
        train_texts: Whether the training texts of ``dataset`` are labelled as well. They keep their labels.
        augment: Changed copies that are made of each text: words are masked, and short spans are taken.
        seed: Of the copies.
        text_column: The column of the texts in tables, also of answers. None means "text".
        label_column: The column of the labels in tables, also of answers. None means "label", if there is one.
        label_separator: What is between two labels of a text, such as ``|``, in tables, also of answers. It says that
            texts may have several labels.
        encoding: The encoding of files. None means UTF-8.
        delimiter: What separates the columns of csv and tsv. None finds it out.
        batch_size: Texts that the teacher is asked for at once: 1,024 of a trained model, 256 of a function.
        overwrite: Whether to replace an existing file, or an interrupted labelling of another kind. Answers of a
            function are asked for anew, unless the interrupted call had ``overwrite`` too.
        progress: Whether to print progress.

    Raises:
        TypeError: Anything but a teacher, or texts that are not strings.
        ValueError: No texts, a teacher with other labels, or with several per text where the student has one, a value
            out of range, or an ``output`` that is one of the files that are read.
        FileExistsError: ``output`` exists and ``overwrite`` is False.
        FileNotFoundError: No such file, folder or preset.

    Example:
        ``zoo.teach("dc_bilstm_sst2", "raw.txt", output="soft.parquet", dataset="sst2", augment=5)``
    """
    checks.integer("augment", augment, minimum=0)
    checks.seed(seed)
    if batch_size is not None:
        checks.integer("batch_size", batch_size)
    target = check_output(output, overwrite)
    work_folders.check(labelling_folder(target))
    if not (is_for_tokens := token_teaching.is_for_tokens(target)):
        soft_files.check_format(target)
    if train_texts and dataset is None:
        raise ValueError("train_texts=True needs dataset, whose training texts are labelled.")
    columns = {"text_column": text_column, "encoding": encoding, "delimiter": delimiter}
    of_labels = {"label_column": label_column, "label_separator": label_separator}
    if is_for_tokens:
        for name, value in of_labels.items():
            if value is not None:
                raise ValueError(f"{name}={value!r} is for texts with labels; a file in columns has none.")
        settings: dict[str, Any] = {"dataset": dataset, "labels": labels, "train_texts": train_texts}
        settings |= {"augment": augment, "columns": columns, "batch_size": batch_size}
        settings |= {"overwrite": overwrite, "progress": progress}
        result = TeachResult(**token_teaching.label(teacher, texts, target, **settings))
        if progress:
            notes.show(result)
        return result
    columns |= of_labels
    corpus: Any = _corpus(dataset)
    teachers.check_sources([target], teacher, texts, corpus)
    own_labels = student_labels(labels, corpus)
    source = teachers.find(teacher, own_labels, columns, None if corpus is None else corpus.is_several)
    raw = _raw_texts(source, texts, corpus, train_texts, columns)
    own = _own_labels(raw, source)
    soft_files.check_label_sets(target, own)
    parts = {part: split.texts for part in ("dev", "test") if corpus is not None and (split := getattr(corpus, part))}
    raw, num_copies = _prepared(RawTexts(raw.texts, own, raw.left_out), parts, augment, seed)
    say_overlap(source, {part: token_stream(own_texts) for part, own_texts in parts.items()})
    if corpus is not None and corpus.dev is None:
        notes.say(
            f"{corpus.name} has no dev texts. Those that train holds out may have copies among the texts to learn; "
            "hold them out first with corpus.with_dev(), and give that corpus here and, with with_train, to train."
        )
    if augment and corpus is None:
        notes.say(
            "no dataset is given: texts that train holds out for dev may have changed copies among those to learn. "
            "Give train a dev file (--dev-file), or give a dataset with dev texts here."
        )
    return _label(source, raw, num_copies, target, batch_size or source.batch_size, overwrite, progress)


def _label(
    teacher: Teacher, raw: RawTexts, num_copies: int, target: Target, batch_size: int, overwrite: bool, progress: bool
) -> TeachResult:
    """Ask the teacher, and write the file."""
    import numpy as np

    with Labelling(labelling_folder(target), teacher, raw.texts, batch_size, overwrite=overwrite) as labelling:
        rows = labelling.answer(progress)
        places = np.flatnonzero(~np.isnan(rows).all(axis=1))
        raw.leave_out(UNANSWERED, len(rows) - len(places))
        if not len(places):
            labelling.remove()
            raise ValueError(f"{teacher.name} has no answer to any of the {len(rows):,} texts.")
        texts, own = [raw.texts[place] for place in places], [raw.labels[place] for place in places]
        soft_files.write(target, texts, own, teacher.labels, rows[places], teacher.name)
        labelling.remove()
    result = TeachResult(
        path=target.path,
        teacher=teacher.name,
        labels=tuple(teacher.labels),
        texts=len(texts),
        labelled=sum(label is not None for label in own),
        copies=int((places >= len(rows) - num_copies).sum()),
        left_out=raw.left_out,
        is_several=teacher.is_several,
    )
    if progress:
        notes.show(result)
    return result


def _corpus(dataset: AnyDataset | None) -> AnyCorpus | None:
    """Return the corpus of a dataset whose texts have a label each."""
    if dataset is None:
        return None
    from dense_lstm_zoo.corpora.loader import as_corpus

    task = tasks.of_texts_with_labels()
    corpus: AnyCorpus = as_corpus(dataset, task.name)
    if not hasattr(corpus, "label_names"):  # said without TensorFlow, which the teacher's machine may lack
        raise ValueError(f"teach needs a corpus with a label for each text; received {type(corpus).__name__}.")
    return corpus


def student_labels(labels: Sequence[str] | None, corpus: Any) -> list[str] | None:
    """Return the labels of the student, checked, or None for those of the teacher."""
    if labels is None:
        return None if corpus is None else list(corpus.label_names)
    names = check_names(labels)
    if len(names) < 2 or len({*map(written.key, names)}) < len(names):
        raise ValueError(f"labels must be at least two different strings; received {labels!r:.80}.")
    checks.writable("The label", names)
    if corpus is not None and {*map(written.key, names)} != {*map(written.key, corpus.label_names)}:
        raise ValueError(
            f"labels are {', '.join(names)}; those of {corpus.name} are {', '.join(corpus.label_names)}. Leave labels "
            "out."
        )
    return names


def _raw_texts(
    source: Teacher, texts: TextsToLabel | None, corpus: Any, train_texts: bool, columns: dict[str, Any]
) -> RawTexts:
    """Return the texts to label."""
    if texts is not None:
        raw = read_texts(texts, **columns, may_lack=teachers.reads_file(source))
    elif isinstance(source, FileTeacher) and corpus is None:
        raw = RawTexts(list(source.answers.texts), [None] * len(source.answers.texts))
    elif corpus is None:
        raise ValueError(
            "Say what to label: texts (--file), or dataset (--dataset), whose training texts are labelled."
        )
    else:
        raw = RawTexts()
    if corpus is not None and (train_texts or texts is None):
        own = RawTexts()
        labelled = zip(corpus.train.texts, corpus.train.labels, corpus.train.labelled.tolist(), strict=True)
        for number, (text, label, is_labelled) in enumerate(labelled):
            if not isinstance(text, str):
                raise TypeError(checks.not_text(f"the training texts of {corpus.name}", number, text))
            own.add(text.strip(), _named(label, corpus.label_names) if is_labelled else None)
        for reason, count in own.left_out.items():
            raw.leave_out(reason, count)
        raw = RawTexts([*own.texts, *raw.texts], [*own.labels, *raw.labels], raw.left_out)
    return raw


def _named(label: int | tuple[int, ...], names: Sequence[str]) -> Label:
    return tuple(names[place] for place in label) if isinstance(label, tuple) else names[label]


def _own_labels(raw: RawTexts, teacher: Teacher) -> list[Label | None]:
    """Return the labels of texts that have one, as the teacher writes them."""
    names = {written.key(label): label for label in teacher.labels}
    own = list[Label | None]()
    for text, label in zip(raw.texts, raw.labels, strict=True):
        if label is None:
            own.append(None)
            continue
        if isinstance(label, tuple) != teacher.is_several:
            kinds = ("one label", "several labels")[:: -1 if teacher.is_several else 1]
            raise ValueError(
                f"{teacher.name} gives {kinds[0]} per text, and a text to learn has {kinds[1]}: {label!r:.60}. Several "
                "labels are a list, or a string with label_separator (--label-separator)."
            )
        for name in names_of(label):
            if written.key(name) not in names:
                unknown = checks.unknown_name("label of a text to learn:", name, teacher.labels)
                raise ValueError(f"{unknown} The text is {text!r:.80}.")
        exact = tuple(names[written.key(name)] for name in names_of(label))
        own.append(exact if teacher.is_several else exact[0])
    return own


def _prepared(raw: RawTexts, parts: dict[str, Sequence[str]], augment: int, seed: int) -> tuple[RawTexts, int]:
    """Return the texts without copies of others and of scored texts, then changed copies, and how many these are."""
    raw = without_copies(raw, parts)
    if not raw.texts:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in raw.left_out.items())
        raise ValueError(f"There is no text to label: of all texts, {reasons}.")
    if not augment:
        return raw, 0
    changed = RawTexts()
    for copy in _copies(raw.texts, augment, seed):
        changed.append(copy)
    changed = without_copies(changed, parts, near=raw.texts)
    for reason, count in changed.left_out.items():
        raw.leave_out(f"{reason}, of the changed copies", count)
    return RawTexts([*raw.texts, *changed.texts], [*raw.labels, *changed.labels], raw.left_out), len(changed.texts)


def _copies(texts: Sequence[str], number: int, seed: int) -> Iterator[str]:
    for text, key in zip(texts, keys_of(texts), strict=True):
        yield from copies(text, number, seed, key)
