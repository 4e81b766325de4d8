"""Reading what a bundle says it shares with a word table, which may come from a stranger: every claim is checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.bundle_checks import BundleError, Shape, named
from dense_lstm_zoo.data.word_table import WordTable
from dense_lstm_zoo.shared_words import FIRST_WORD, HERE, KEY, ROWS, Part, SharedWords, installed

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
    import numpy as np

    path = folder / "config.json"
    with named(path):
        arrays = _claims(claims)
    if ROWS not in files:
        raise BundleError(f"{folder} is incomplete: {ROWS} is missing in its manifest.")
    tables = {
        (name, sha256): installed(folder, name, sha256)
        for name, sha256 in dict.fromkeys((array["table"], array["sha256"]) for array in arrays)
    }
    with named(folder / "vocabulary.txt"):
        words = (folder / "vocabulary.txt").read_bytes().decode().split("\n")[:-1]
    with named(folder / ROWS):
        rows = np.frombuffer((folder / ROWS).read_bytes(), "<i4").astype(np.int32)
        if len(rows) != sum(array["rows"] for array in arrays):
            raise ValueError(f"it has {len(rows):,} rows, config.json says {sum(a['rows'] for a in arrays):,}")
        parts = []
        for array in arrays:
            of_array, rows = np.split(rows, [array["rows"]])
            table = tables[array["table"], array["sha256"]]
            _check_rows(of_array, array["first"], words, table)
            parts.append(Part(array["array"], array["first"], array["scale"], of_array, array["table"], table))
    for part in parts:
        expected = (int((part.rows == HERE).sum()), part.table.dim)
        if shapes.get(part.array) != expected:
            raise BundleError(
                f"{folder / 'model.weights.h5'} does not match {ROWS}: {part.array:.80} has shape "
                f"{shapes.get(part.array)}, not {expected}."
            )
    return SharedWords(tuple(parts))


def _claims(claims: Any) -> list[dict[str, Any]]:
    """Return what a config says of each array, its table among it, after checking the types."""
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
    return arrays


def _check_rows(rows: np.ndarray, first: int, words: Sequence[str], table: WordTable) -> None:
    """Raise ``ValueError`` for a row that is not the same word's in the table; so no more rows are made than it has."""
    import numpy as np

    at = np.flatnonzero(rows != HERE)
    for i, row in zip((at + first - FIRST_WORD).tolist(), rows[at].tolist(), strict=True):
        if not (0 <= i < len(words) and 0 <= row < len(table) and table.words[row] == words[i]):
            raise ValueError(f"it gives row {row:,} of {table.name} to the word id {i + FIRST_WORD:,}, another word's")
