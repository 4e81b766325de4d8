"""Soft labels of tokens: for each token a probability of each tag, in JSON lines beside a file in columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.data import soft_labels
from dense_lstm_zoo.data.cells import escape_json
from dense_lstm_zoo.data.soft_labels import NESTED, TEACHER, SoftRows
from dense_lstm_zoo.data.tables import parse_json_object
from dense_lstm_zoo.data.text_file import numbered_lines
from dense_lstm_zoo.storage import json_files
from dense_lstm_zoo_runtime.paths import user_path

if TYPE_CHECKING:
    import numpy as np

ENDING = f".{NESTED}.jsonl"
NO_TAG = "_"  # in the tags' column, for a sentence that has probabilities alone
_LEAST = 1e-7  # smaller probabilities are not written: beside 1, float32 cannot tell them from 0


def file_beside(path: Path) -> Path:
    """Return the file with the probabilities of a file in columns. It need not exist.

    Example:
        >>> file_beside(Path("mine/soft.conll")).name, file_beside(Path("mine/soft.conll.gz")).name
        ('soft.probabilities.jsonl', 'soft.probabilities.jsonl.gz')
    """
    packed = ".gz" if path.name.lower().endswith(".gz") else ""
    return path.with_name(f"{Path(path.name[: -len(packed) or None]).stem}{ENDING}{packed}")


@dataclass(frozen=True)
class SoftSentences:
    """The probabilities of sentences.

    Attributes:
        names: The tags of the columns.
        matrices: For each sentence the probabilities (tokens, tags), float32, or None for a sentence without.
        teachers: Those who gave them.
    """

    names: list[str]
    matrices: list[np.ndarray | None]
    teachers: tuple[str, ...]


def read_beside(path: Path, sentences: Sequence[Sequence[str]]) -> SoftSentences | None:
    """Return the probabilities that stand beside a file in columns, or None without such a file.

    Args:
        path: The file in columns.
        sentences: Its sentences, lists of tokens.

    Raises:
        ValueError: Another number of lines than sentences or of rows than tokens, or probabilities that are not.
    """
    file = file_beside(user_path(path))
    if not file.is_file():
        return None
    reader = _Reader()
    for number, line in numbered_lines(file):
        if not line.strip():
            continue
        row, location = parse_json_object(line, f"{file}, line {number}", repr(NESTED)), f"{file}, line {number}"
        if len(reader.counts) < len(sentences):
            reader.append(sentences[len(reader.counts)], row.get(NESTED), location, row.get(TEACHER))
        else:
            reader.counts.append(0)
    if len(reader.counts) != len(sentences):
        raise ValueError(
            f"{file} has {len(reader.counts):,} lines; {path} has {len(sentences):,} sentences. Each sentence needs a "
            "line, in their order."
        )
    return reader.result(str(file))


class _Reader:
    """Collects the probabilities of sentences, one after the other."""

    def __init__(self) -> None:
        self.soft, self.places, self.counts = SoftRows(), list[str](), list[int]()

    def append(self, tokens: Sequence[str], items: object, location: str, teacher: object) -> None:
        """Add a sentence. ``items`` is a list with an object of probabilities for each token, or None for none."""
        if items is None:
            self.counts.append(0)
            return
        if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
            raise ValueError(
                f"{location}: {NESTED!r} must be a list with an object for each token, which holds the probability of "
                f"each tag; found {items!r:.80}."
            )
        if len(items) != len(tokens):
            raise ValueError(
                f"{location}: probabilities of {len(items)} tokens; the sentence has {len(tokens)} tokens, "
                f"{' '.join(tokens)!r:.80}."
            )
        for number, (token, item) in enumerate(zip(tokens, items, strict=True), start=1):
            place = f"{location}, token {number} ({token!r:.40})"
            if not item:
                raise ValueError(f"{place} has no probabilities.")
            self.soft.append(item, place, teacher)
            self.places.append(place)
        self.counts.append(len(items))

    def result(self, location: str) -> SoftSentences:
        """Return all of them, checked."""
        if len(self.soft.names) < 2:
            raise ValueError(f"{location} has probabilities of fewer than two tags; give those of each tag.")
        rows = soft_labels.checked(self.soft.values, self.places.__getitem__, "token")
        return SoftSentences(self.soft.names, list(split_rows(rows, self.counts)), self.soft.teachers)


def read_rows(rows: Iterable[tuple[Sequence[str], Any, str]], location: str) -> SoftSentences:
    """Return the probabilities of sentences that another program wrote.

    Args:
        rows: For each sentence its tokens, a list with an object for each of them or None, and its place for errors.
        location: All of them, for errors.

    Raises:
        ValueError: As for ``read_beside``.
    """
    reader = _Reader()
    for tokens, items, place in rows:
        reader.append(tokens, items, place, None)
    return reader.result(location)


def split_rows(rows: np.ndarray, counts: Sequence[int]) -> Iterator[np.ndarray | None]:
    """Yield the rows of each sentence, views of (tokens, tags), or None for a sentence without rows."""
    start = 0
    for count in counts:
        yield rows[start : start + count] if count else None
        start += count


def to_line(shares: np.ndarray, names: Sequence[str], teacher: str, *, is_first: bool = False) -> str:
    """Return the line of a sentence: the probabilities of its tokens (tokens, tags), without those near 0.

    Args:
        shares: The probabilities.
        names: The tags.
        teacher: Who gave them.
        is_first: Whether it is the first line of a file. Its first token has all tags, so that none is lost.

    Example:
        >>> import numpy as np
        >>> to_line(np.array([[0.25, 0.75], [1.0, 0.0]]), ["NOUN", "VERB"], "mine")
        '{"probabilities": [{"NOUN": 0.25, "VERB": 0.75}, {"NOUN": 1.0}], "teacher": "mine"}'
    """
    items = []
    for number, row in enumerate(shares.tolist()):
        least = 0.0 if is_first and not number else _LEAST
        items.append({name: float(f"{share:.7g}") for name, share in zip(names, row, strict=True) if share >= least})
    return escape_json(json_files.to_line({NESTED: items, TEACHER: teacher}))
