"""Reading what a bundle says it shares with a word table, which may come from a stranger: every claim is checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.bundles.checks import BundleError, Shape, named
from dense_lstm_zoo.bundles.shared_words import FIRST_WORD, HERE, KEY, ROWS, Part, SharedWords, installed, tail
from dense_lstm_zoo.data.word_table import WordTable

if TYPE_CHECKING:
    import numpy as np

_MOST_ARRAYS = 6


def read(folder: Path, claims: object, files: Collection[str], shapes: Mapping[str, Shape]) -> SharedWords:
    """Return what a bundle shares with a word table, after checking every claim of its files.

    Args:
        folder: The bundle's.
        claims: What its config says.
        files: The files in its manifest.
        shapes: The shapes of the arrays in its file of weights, by name.

    Raises:
        BundleError: The table is not installed or another version, or the files do not match it or each other.
    """
    with named(folder / "config.json"):
        arrays, others = _claims(claims)
    if ROWS not in files:
        raise BundleError(f"{folder} is incomplete: {ROWS} is missing in its manifest.")
    tables = {
        (name, sha256): installed(folder, name, sha256)
        for name, sha256 in dict.fromkeys((array["table"], array["sha256"]) for array in arrays)
    }
    with named(folder / "vocabulary.txt"):
        words = (folder / "vocabulary.txt").read_bytes().decode().split("\n")[:-1]
        first = tables[arrays[0]["table"], arrays[0]["sha256"]]
        left = _others(first, words, others)
    end = FIRST_WORD + len(words)
    words += [first.words[row] for row in left.tolist()]
    with named(folder / ROWS):
        tails = [tail(left, end, array["first"])[: max(0, array["first"] + array["rows"] - end)] for array in arrays]
        parts = []
        for array, rows in zip(arrays, _rows(folder / ROWS, arrays, tails), strict=True):
            table = tables[array["table"], array["sha256"]]
            _check_rows(rows, array["first"], words, table)
            parts.append(Part(array["array"], array["first"], array["scale"], rows, array["table"], table))
    for part in parts:
        expected = (int((part.rows == HERE).sum()), part.table.dim)
        if shapes.get(part.array) != expected:
            raise BundleError(
                f"{folder / 'model.weights.h5'} does not match {ROWS}: {part.array:.80} has shape "
                f"{shapes.get(part.array)}, not {expected}."
            )
    return SharedWords(tuple(parts), tuple(words), others)


def _claims(claims: Any) -> tuple[list[dict[str, Any]], int]:
    """Return what a config says of each array, its table among it, and of other words, after checking the types."""
    arrays = claims["arrays"]
    kinds = {"array": str, "first": int, "rows": int, "scale": float, "table": str, "sha256": str}
    if not isinstance(arrays, list) or not 0 < len(arrays) <= _MOST_ARRAYS:
        raise ValueError(f"{KEY} must have 1 to {_MOST_ARRAYS} arrays")
    if not isinstance(claims["table"], str) or not isinstance(claims["sha256"], str):
        raise ValueError(f"{KEY} must name a table and its sha256")
    arrays = [{"table": claims["table"], "sha256": claims["sha256"], **array} for array in arrays]
    for array in arrays:
        wrong = [key for key, kind in kinds.items() if type(array[key]) is not kind]
        if wrong or array["first"] < 0 or array["rows"] < 0 or not 0 < array["scale"] < float("inf"):
            raise ValueError(f"{KEY} has an array that is not one of word vectors: {array!s:.80}")
    if len({array["array"] for array in arrays}) < len(arrays):
        raise ValueError(f"{KEY} names an array twice")
    others = claims.get("others", 0)
    if type(others) is not int or others < 0:
        raise ValueError(f"the other words of {KEY} must be a number of them; received {others!r:.80}")
    return arrays, others


def _others(table: WordTable, words: Sequence[str], count: int) -> np.ndarray:
    """Return the rows of the words of a table that are not among ``words``; ``count`` is how many are claimed."""
    import numpy as np

    rows = table.others(words) if count else np.empty(0, np.int32)
    if len(rows) != count:
        raise ValueError(
            f"config.json says that {count:,} words of {table.name} follow; it lacks {len(rows):,} of them"
        )
    return rows


def _rows(path: Path, arrays: Sequence[Mapping[str, Any]], tails: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the rows of each array: those in the file, and those of the words that are left to the table."""
    import numpy as np

    counts = [array["rows"] - len(rows) for array, rows in zip(arrays, tails, strict=True)]
    rows = np.frombuffer(path.read_bytes(), "<i4").astype(np.int32)
    if len(rows) != sum(counts):
        raise ValueError(f"it has {len(rows):,} rows, config.json says {sum(counts):,}")
    in_file = np.split(rows, np.cumsum(counts[:-1]))
    return [np.concatenate(pair) for pair in zip(in_file, tails, strict=True)]


def _check_rows(rows: np.ndarray, first: int, words: Sequence[str], table: WordTable) -> None:
    """Raise ``ValueError`` for a row that is not the same word's in the table; so no more rows are made than it has."""
    import numpy as np

    at = np.flatnonzero(rows != HERE)
    for i, row in zip((at + first - FIRST_WORD).tolist(), rows[at].tolist(), strict=True):
        if not (0 <= i < len(words) and 0 <= row < len(table) and table.words[row] == words[i]):
            raise ValueError(f"it gives row {row:,} of {table.name} to the word id {i + FIRST_WORD:,}, another word's")
