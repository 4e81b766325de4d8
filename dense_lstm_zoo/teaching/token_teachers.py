"""Teachers of tokens: trained models, functions, and files of tags or probabilities that another model wrote."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.bundles.bundle import Bundle
from dense_lstm_zoo.corpora.own_files import format_of
from dense_lstm_zoo.data import records, soft_labels
from dense_lstm_zoo.data.soft_sentences import read_rows
from dense_lstm_zoo.storage import files, pipes
from dense_lstm_zoo.tasks import Task
from dense_lstm_zoo.teaching.teachers import BundleTeacher, FunctionTeacher, SeveralTeachers, Teacher
from dense_lstm_zoo_runtime.paths import user_path
from dense_lstm_zoo_runtime.rules import NEWEST

if TYPE_CHECKING:
    import numpy as np

_AT_ONCE = 256  # sentences that a function is asked for
_FORMS = "for each sentence a matrix (words, tags), a list with a tag for each word, or None for no answer"


class TokenFunction(FunctionTeacher):
    """A function from a list of sentences, each a list of words, to a matrix (words, tags) for each.

    In place of a matrix it may return a list of tags, or None for a sentence without an answer.

    Args:
        function: The function.
        labels: The tags, in the order of the columns.
    """

    batch_size, takes_tokens = _AT_ONCE, True

    def answer(self, texts: list[Any]) -> np.ndarray:
        """Return the probabilities of all words: float32 (words, tags), NaN for a sentence without an answer."""
        answers = self._function([list(tokens) for tokens in texts])
        if isinstance(answers, str | bytes | dict) or not hasattr(answers, "__len__"):
            raise TypeError(f"{self.name} must return {_FORMS}; received {type(answers).__name__}.")
        if len(answers) != len(texts):
            raise ValueError(
                f"{self.name} must answer each sentence; it returned {len(answers)} answers to {len(texts)} sentences."
            )
        pairs = zip(texts, answers, strict=True)
        return _joined([self._rows(number, tokens, answer) for number, (tokens, answer) in enumerate(pairs)])

    def _rows(self, number: int, tokens: list[str], answer: Any) -> np.ndarray:
        import numpy as np

        location, shape = f"{self.name}, answer {number}, counted from 0", (len(tokens), len(self.labels))
        if answer is None:
            return np.full(shape, np.nan, np.float32)
        if hasattr(answer, "numpy"):  # a tensor
            answer = answer.numpy()
        if isinstance(answer, list | tuple) and answer and all(isinstance(tag, str) for tag in answer):
            if len(answer) != len(tokens):
                raise ValueError(f"{location}: {len(answer)} tags for {len(tokens)} words.")
            return _one_hot(answer, self.labels, location)
        try:
            rows = np.asarray(answer, np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"{location}: expected {_FORMS}; received {answer!r:.80}.") from None
        if rows.shape != shape:
            raise ValueError(
                f"{location}: probabilities of shape {rows.shape}; the sentence has {len(tokens)} words, and there are "
                f"{len(self.labels)} tags."
            )
        return soft_labels.checked(rows, lambda row: f"{location}, word {row}", "word")


class TokenFile(Teacher):
    """The tags or probabilities that another model has written to a file, looked up by the words of a sentence.

    Args:
        name: The file's name.
        sha256: Its checksum.
        labels: The tags.
        matrices: The sentences, tuples of words, with the probabilities (words, tags) of each.
    """

    batch_size, takes_tokens = 1024, True

    def __init__(self, name: str, sha256: str, labels: list[str], matrices: dict[tuple[str, ...], np.ndarray]) -> None:
        self.name, self.identity, self.labels, self._matrices = name, sha256, labels, matrices

    @property
    def sentences(self) -> list[list[str]]:
        """The sentences of the file."""
        return [list(tokens) for tokens in self._matrices]

    def answer(self, texts: list[Any]) -> np.ndarray:
        """Return the probabilities of all words."""
        import numpy as np

        none, width = self._matrices.get, len(self.labels)
        return _joined([none(tuple(tokens), np.full((len(tokens), width), np.nan)) for tokens in texts])


def read_file(path: Path, tags: Sequence[str] | None, task: Task, encoding: str | None = None) -> TokenFile:
    """Read the answers of another model.

    A file in columns has tags, or probabilities beside it. JSON lines have ``tokens``, and ``probabilities`` with an
    object for each word, or ``tags``.

    Args:
        path: The file.
        tags: The tags that the student has. None means those of the file.
        task: The task whose files they are.
        encoding: The encoding. None means UTF-8.

    Raises:
        FileNotFoundError: No such file.
        ValueError: A file without answers, a tag that the student does not have, or probabilities that are not.
    """
    import numpy as np

    path = files.existing_file(path)
    if format_of(path, ("columns", "jsonl"), None, otherwise="columns") == "columns":
        split, _ = task.read_file("columns", path, encoding=encoding or "utf-8")
        sentences, names, own = split.tokens, list(split.tag_names), split.tags
        matrices: list[Any] = list(split.probabilities) or [None] * len(sentences)
    else:
        sentences, names, own, matrices = _of_json_lines(path, encoding)
    if not sentences:
        raise ValueError(f"{path} holds no answers.")
    labels = list(tags) if tags is not None else names or sorted({tag for each in own for tag in each or ()})
    if len(labels) < 2:
        raise ValueError(f"{path} has fewer than two tags; say with labels= (--labels) which there are.")
    for name in names:
        if name not in labels:
            raise checks.unknown_name(f"tag in {path.name}:", name, labels)
    result = dict[tuple[str, ...], np.ndarray]()
    for number, (tokens, matrix, each) in enumerate(zip(sentences, matrices, own, strict=True), start=1):
        rows = np.zeros((len(tokens), len(labels)), np.float32)
        if matrix is None:
            rows[:] = _one_hot(each, labels, f"{path}, sentence {number}")
        else:
            rows[:, [labels.index(name) for name in names]] = matrix
        result.setdefault(tuple(tokens), rows)
    return TokenFile(path.name, files.sha256(path), labels, result)


def _of_json_lines(path: Path, encoding: str | None) -> tuple[list[list[str]], list[str], list[Any], list[Any]]:
    """Return the words of each sentence, the tags of probabilities, and the tags and probabilities of each, or None."""
    rows, own, is_soft = list[tuple[Any, Any, str]](), list[Any](), False
    with pipes.stream(path) as stream:
        options = records.Options("jsonl", "tokens", encoding=encoding, tokens=True)
        for record in records.read_records(stream, str(path), options).records:
            row: dict[str, Any] = dict(zip(record.names, record.cells, strict=True))
            shares, tags = row.get(soft_labels.NESTED), row.get("tags")
            if isinstance(shares, list) and not any(isinstance(share, dict) for share in shares):
                shares = None  # the probability of each tag that a model has given, as predict writes it
            has_tags = isinstance(tags, list) and all(isinstance(tag, str) and tag.strip() for tag in tags)
            if shares is None and not (has_tags and len(tags or ()) == len(record.text)):
                raise ValueError(
                    f"{record.location} has no answer: expected 'probabilities', an object for each word, or 'tags', a "
                    "string for each."
                )
            rows.append((record.text, shares, record.location))
            own.append(tags)
            is_soft = is_soft or shares is not None
    if not is_soft:
        return [tokens for tokens, *_ in rows], [], own, [None] * len(rows)
    soft = read_rows(rows, str(path))
    return [tokens for tokens, *_ in rows], soft.names, own, soft.matrices


def _one_hot(tags: Sequence[str], names: Sequence[str], location: str) -> np.ndarray:
    import numpy as np

    for tag in tags:
        if tag not in names:
            raise checks.unknown_name(f"tag of {location}:", str(tag), names)
    one_hot: np.ndarray = np.eye(len(names), dtype=np.float32)[[names.index(tag) for tag in tags]]
    return one_hot


def _joined(rows: list[np.ndarray]) -> np.ndarray:
    import numpy as np

    joined: np.ndarray = np.concatenate(rows).astype(np.float32)
    return joined


def find(teacher: object, tags: Sequence[str] | None, task: Task, encoding: str | None = None) -> Teacher:
    """Return a teacher, checked. Nothing is loaded that answers will need.

    Args:
        teacher: As for ``teach``.
        tags: The tags that the student has, or None for the teacher's own.
        task: The task of the teacher and the student.
        encoding: The encoding of a file of answers.

    Raises:
        TypeError: Anything that is not a teacher.
        ValueError: A teacher with other tags, with a near match, or a function without ``labels``.
    """
    if isinstance(teacher, list | tuple):
        if not teacher:
            raise ValueError("The list of teachers is empty; give at least one.")
        several = [find(each, tags, task, encoding) for each in teacher]
        for each in several[1:]:
            _check_tags(each, several[0].labels, several[0].name)
        return several[0] if len(several) == 1 else SeveralTeachers(several)
    single = _single(teacher, tags, task, encoding)
    if tags is not None:
        _check_tags(single, tags, "the student")
    return single


def _single(teacher: object, tags: Sequence[str] | None, task: Task, encoding: str | None) -> Teacher:
    if isinstance(teacher, str | os.PathLike) and "://" not in os.fspath(teacher):
        path = user_path(os.fspath(teacher))
        if path.is_file():
            return read_file(path, tags, task, encoding)
    if isinstance(teacher, str | os.PathLike | Bundle):
        teacher = BundleTeacher(teacher)
    if isinstance(teacher, Teacher):
        if not teacher.takes_tokens:
            raise ValueError(
                f"{teacher.name} gives each text a label, and a file in columns has a tag for each word; name a csv, "
                "jsonl or parquet file as the output."
            )
        return teacher
    if not callable(teacher):
        raise TypeError(
            f"A teacher must be a trained model for {task.name}, its folder, a preset's name, a file of answers, a "
            f"function from lists of words to matrices, or a list of these; received {type(teacher).__name__}."
        )
    if tags is None:
        raise ValueError(
            "A function does not say what its tags are; give them with labels=, in the order of the columns of its "
            "matrices, or give dataset=."
        )
    return TokenFunction(teacher, tags)


def _check_tags(teacher: Teacher, tags: Sequence[str], owner: str) -> None:
    """Raise ``ValueError`` for a teacher with other tags, in whatever order. It names the first that differs."""
    for name in teacher.labels:
        if name not in tags:
            raise checks.unknown_name(f"tag of {teacher.name}; {owner} does not have it:", name, tags)
    for name in tags:
        if name not in teacher.labels:
            raise checks.unknown_name(f"tag of {owner}; {teacher.name} does not have it:", name, teacher.labels)


def rules_of(teacher: Teacher) -> int:
    """Return the version of the rules by which a teacher splits raw sentences: the newest, if it has none."""
    first = teacher.teachers[0] if isinstance(teacher, SeveralTeachers) else teacher
    return first.tokenizer if isinstance(first, BundleTeacher) else NEWEST
