"""Word vectors of exports that leave them out: rows of installed word tables, and a few of the export's own."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dense_lstm_zoo_runtime import install
from dense_lstm_zoo_runtime.errors import ExportError, named
from dense_lstm_zoo_runtime.export_folder import Export
from dense_lstm_zoo_runtime.word_table import MappedTable, installed_tables

_ROWS = "shared_words.rows"
_HERE = -1
_FIRST_WORD = 2  # the id of the first word, after padding and unknown
_MOST_ARRAYS = 6


@dataclass(frozen=True, eq=False)
class SharedWords:
    """The vectors of one input of a graph.

    Args:
        table: The word table.
        rows: For each id, the table's row, or -1.
        own: The other vectors, float32, in the order of their ids.
        own_rows: For each id without a row, its place in ``own``.
    """

    table: MappedTable
    rows: np.ndarray
    own: np.ndarray
    own_rows: np.ndarray

    def vectors(self, ids: np.ndarray) -> np.ndarray:
        """Return the vectors of ids (batch, time) as float32, (batch, time, dim)."""
        flat = ids.reshape(-1)
        rows = self.rows[flat]
        # The row of an id without one is the table's last: computed too, and then written over.
        found = self.table.values[rows].astype(np.float32)
        found *= self.table.scales[rows, None]
        (here,) = np.nonzero(rows == _HERE)
        found[here] = self.own[self.own_rows[flat[here]]]
        return found.reshape(*ids.shape, -1)


def with_all_words(export: Export) -> Export:
    """Return an export with the words that its vocabulary leaves to a table: the table's others, in its order.

    Raises:
        ExportError: As for ``read``.
    """
    if export.config.get("shared_words") is None:
        return export
    path = export.folder / "config.json"
    with named(path):
        first, *_ = _checked_claims(export.config["shared_words"])
        others = _others(export.config["shared_words"])
    if not others:
        return export
    table = _table(export.folder, first["table"], first["sha256"])
    rows = tuple(table.others(export.words).tolist())
    if len(rows) != others:
        raise ExportError(
            f"{path} is damaged: {others:,} words of {table.name} are to follow those of vocabulary.txt, which lacks "
            f"{len(rows):,} of them. Export the model again."
        )
    words = [*export.words, *(table.words[row] for row in rows)]
    return dataclasses.replace(export, words=words, other_rows=rows)


def read(export: Export) -> dict[str, SharedWords]:
    """Return the word vectors that an export ``with_all_words`` shares with a table, by the input of its graph.

    Raises:
        ExportError: The table is not installed or another version, or the files do not match it or each other.
    """
    path = export.folder / "config.json"
    with named(path):
        claims = export.config["shared_words"]
        if claims is None:
            return {}
        arrays = _checked_claims(claims)
    tables = [_table(export.folder, array["table"], array["sha256"]) for array in arrays]
    count = len(export.words) + _FIRST_WORD
    for array, table in zip(arrays, tables, strict=True):
        if array["rows"] != count or array["dim"] != table.dim:
            raise ExportError(
                f"{path} is damaged: {array['rows']:,} rows of {array['dim']} numbers in {array['input']!r:.80}, where "
                f"the vocabulary has {count:,} ids and {array['table']} {table.dim} numbers. Export the model again."
            )
    found = {}
    with named(export.folder / _ROWS):
        kept = count - len(export.other_rows)
        expected = 4 * kept * len(arrays)
        if (size := (export.folder / _ROWS).stat().st_size) != expected:
            raise ValueError(f"it has {size:,} bytes, not {expected:,}")
        rows = np.fromfile(export.folder / _ROWS, "<i4").astype(np.int32).reshape(len(arrays), kept)
        rows = np.concatenate([rows, np.tile(np.array(export.other_rows, np.int32), (len(arrays), 1))], axis=1)
        for of_array, table in zip(rows, tables, strict=True):
            _check_rows(of_array, export.words, table)
    for number, (array, table, of_array) in enumerate(zip(arrays, tables, rows, strict=True)):
        own = _own(export.folder / f"own_words_{number}.npy", int((of_array == _HERE).sum()), table.dim)
        found[array["input"]] = SharedWords(table, of_array, own, np.cumsum(of_array == _HERE) - 1)
    return found


def _checked_claims(claims: Any) -> list[dict[str, Any]]:
    """Return what a config says of each array; one whose table is another than the first one's names it."""
    arrays = claims["arrays"]
    if not isinstance(arrays, list) or not 0 < len(arrays) <= _MOST_ARRAYS:
        raise ValueError(f"shared_words must have 1 to {_MOST_ARRAYS} arrays")
    if not isinstance(claims["table"], str) or not isinstance(claims["sha256"], str):
        raise ValueError("shared_words must name a table and its sha256")
    arrays = [{"table": claims["table"], "sha256": claims["sha256"], **array} for array in arrays]
    for array in arrays:
        if [type(array[key]) for key in ("input", "dim", "rows", "table", "sha256")] != [str, int, int, str, str]:
            raise ValueError(f"shared_words has an array that is not one of word vectors: {array!s:.80}")
    return arrays


def _others(claims: dict[str, Any]) -> int:
    """Return how many words of the first array's table follow those of the vocabulary."""
    others = claims.get("others", 0)
    if type(others) is not int or others < 0:
        raise ValueError(f"the other words of shared_words must be a number of them; received {others!r:.80}")
    return others


def _table(folder: Path, name: str, sha256: str) -> MappedTable:
    needs = f"{folder} needs the word table {name!r:.80} with sha256 {sha256[:12]!r}..."
    tables = installed_tables()
    if name not in tables:
        raise ExportError(f"{needs}, which is not installed: {install.PRESETS}.")
    try:
        table = _read(tables[name], (tables[name] / "config.json").stat().st_mtime_ns)
    except (ValueError, OSError) as error:
        raise ExportError(f"{needs}, which cannot be read: {error}") from error
    if table.sha256 != sha256:
        raise ExportError(
            f"{needs}; the installed one has {table.sha256[:12]!r}..., another version. The version of "
            "dense-lstm-zoo-presets that the export was made with has it; or export the model again."
        )
    return table


@functools.lru_cache(maxsize=4)
def _read(folder: Path, changed: int) -> MappedTable:
    return MappedTable.read(folder)


def _check_rows(rows: np.ndarray, words: list[str], table: MappedTable) -> None:
    """Raise ``ValueError`` for a row that is not the same word's in the table."""
    at = np.flatnonzero(rows != _HERE)
    if len(at) and (at[0] < _FIRST_WORD or rows[at].min() < 0 or rows[at].max() >= len(table)):
        raise ValueError(f"it gives a row that {table.name} does not have, or one to padding or to unknown words")
    for i, row in zip((at - _FIRST_WORD).tolist(), rows[at].tolist(), strict=True):
        if table.words[row] != words[i]:
            raise ValueError(f"it gives row {row:,} of {table.name} to the word id {i + _FIRST_WORD:,}, another word's")


def _own(path: Path, count: int, dim: int) -> np.ndarray:
    with named(path):
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        if mapped.dtype not in (np.float16, np.float32) or mapped.shape != (count, dim):
            raise ValueError(f"it has {mapped.dtype} of shape {mapped.shape}, not float16 or float32 of {(count, dim)}")
        return np.array(mapped, np.float32)
