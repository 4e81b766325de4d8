"""Word vectors of exports that leave them out: rows of installed word tables, and a few of the export's own."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dense_lstm_zoo_runtime import install
from dense_lstm_zoo_runtime.errors import ExportError, errors_of
from dense_lstm_zoo_runtime.export_folder import Export
from dense_lstm_zoo_runtime.word_table import MappedTable, installed_tables

ROWS = "shared_words.rows"
HERE = -1  # of a row that the folder holds itself
FIRST_WORD = 2  # the id of the first word, after padding and unknown
_MOST_ARRAYS = 6
_KINDS = {"input": str, "dim": int, "rows": int}  # of what an export says of an array

_Table = TypeVar("_Table", bound=MappedTable)


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
        # Indexing a mapped array itself, rather than a plain view of it, takes several times as long.
        vectors = np.asarray(self.table.values)[rows].astype(np.float32)
        vectors *= np.asarray(self.table.scales)[rows][:, None]
        (own_places,) = (rows == HERE).nonzero()
        if own_places.size:
            vectors[own_places] = self.own[self.own_rows[flat[own_places]]]
        return vectors.reshape(*ids.shape, -1)


def with_all_words(export: Export) -> Export:
    """Return an export with the words that its vocabulary leaves to a table: the table's others, in its order.

    Raises:
        ExportError: As for ``read``.
    """
    if export.config.get("shared_words") is None:
        return export
    with errors_of(export.folder / "config.json"):
        (first, *_), count = checked_claims(export.config["shared_words"], _KINDS)
    if not count:
        return export
    table = _table(export.folder, first["table"], first["sha256"])
    with errors_of(export.folder / "vocabulary.txt"):
        rows = tuple(other_rows(table, export.words, count).tolist())
    words = [*export.words, *(table.words[row] for row in rows)]
    return dataclasses.replace(export, words=words, other_rows=rows)


def read_shared_words(export: Export) -> dict[str, SharedWords]:
    """Return the word vectors that an export ``with_all_words`` shares with a table, by the input of its graph.

    Raises:
        ExportError: The table is not installed or another version, or the files do not match it or each other.
    """
    path = export.folder / "config.json"
    with errors_of(path):
        claims = export.config["shared_words"]
        if claims is None:
            return {}
        arrays, _ = checked_claims(claims, _KINDS)
    tables = [_table(export.folder, array["table"], array["sha256"]) for array in arrays]
    count = len(export.words) + FIRST_WORD
    for array, table in zip(arrays, tables, strict=True):
        if array["rows"] != count or array["dim"] != table.dim:
            raise ExportError(
                f"{path} is damaged: {array['rows']:,} rows of {array['dim']} numbers in {array['input']!r:.80}, where "
                f"the vocabulary has {count:,} ids and {array['table']} {table.dim} numbers. Export the model again."
            )
    inputs = {}
    with errors_of(export.folder / ROWS):
        num_own = count - len(export.other_rows)
        expected = 4 * num_own * len(arrays)
        if (size := (export.folder / ROWS).stat().st_size) != expected:
            raise ValueError(f"it has {size:,} bytes, not {expected:,}")
        rows = np.fromfile(export.folder / ROWS, "<i4").astype(np.int32).reshape(len(arrays), num_own)
        rows = np.concatenate([rows, np.tile(np.array(export.other_rows, np.int32), (len(arrays), 1))], axis=1)
        for of_array, table in zip(rows, tables, strict=True):
            check_rows(of_array, export.words, table)
    for number, (array, table, of_array) in enumerate(zip(arrays, tables, rows, strict=True)):
        own = _own(export.folder / f"own_words_{number}.npy", int((of_array == HERE).sum()), table.dim)
        inputs[array["input"]] = SharedWords(table, of_array, own, np.cumsum(of_array == HERE) - 1)
    return inputs


def checked_claims(claims: Any, kinds: Mapping[str, type]) -> tuple[list[dict[str, Any]], int]:
    """Return what a config says of each array, and how many words of the first array's table follow the vocabulary's.

    Args:
        claims: What the config says.
        kinds: The keys that each array has, and their types; ``table`` and ``sha256`` are added to each.

    Raises:
        ValueError: A value of another type.
    """
    arrays = claims["arrays"]
    if not isinstance(arrays, list) or not 0 < len(arrays) <= _MOST_ARRAYS:
        raise ValueError(f"shared_words must have 1 to {_MOST_ARRAYS} arrays")
    if not isinstance(claims["table"], str) or not isinstance(claims["sha256"], str):
        raise ValueError("shared_words must name a table and its sha256")
    arrays = [{"table": claims["table"], "sha256": claims["sha256"], **array} for array in arrays]
    for array in arrays:
        if any(type(array[key]) is not kind for key, kind in {**kinds, "table": str, "sha256": str}.items()):
            raise ValueError(f"shared_words has an array that is not one of word vectors: {array!s:.80}")
    others = claims.get("others", 0)
    if type(others) is not int or others < 0:
        raise ValueError(f"the other words of shared_words must be a number of them; received {others!r:.80}")
    return arrays, others


def other_rows(table: MappedTable, words: Collection[str], count: int) -> np.ndarray:
    """Return the rows of a table's words that are not among ``words``, after checking that they are ``count``."""
    rows = table.other_rows(words) if count else np.empty(0, np.int32)
    if len(rows) != count:
        raise ValueError(
            f"config.json says that {count:,} words of {table.name} follow; it lacks {len(rows):,} of them"
        )
    return rows


def check_rows(rows: np.ndarray, words: Sequence[str], table: MappedTable, first: int = 0) -> None:
    """Raise ``ValueError`` for a row that is not the same word's in the table; ``first`` is the id of ``rows[0]``."""
    at = np.flatnonzero(rows != HERE)
    for i, row in zip((at + first - FIRST_WORD).tolist(), rows[at].tolist(), strict=True):
        if not (0 <= i < len(words) and 0 <= row < len(table) and table.words[row] == words[i]):
            raise ValueError(f"it gives row {row:,} of {table.name} to the word id {i + FIRST_WORD:,}, another word's")


def checked_table(
    owner: object, name: str, sha256: str, read: Callable[[str], _Table], error: type[ValueError], history: str
) -> _Table:
    """Return an installed word table of that checksum.

    Args:
        owner: What needs the table, for the error.
        name: Its installed name.
        sha256: Its checksum.
        read: Returns the table of a name.
        error: The error to raise.
        history: A clause that says how ``owner`` came to need it, and ends in what has that version.

    Raises:
        ValueError: Of the type ``error``: the table is not installed, cannot be read, or is another version.
    """
    needs = f"{owner} needs the word table {name!r:.80} with sha256 {sha256[:12]!r}..."
    if name not in installed_tables():
        raise error(f"{needs}, which is not installed: {install.PRESETS}.")
    try:
        table = read(name)
    except (ValueError, OSError) as reason:
        raise error(f"{needs}, which cannot be read: {reason}") from reason
    if table.sha256 != sha256:
        raise error(
            f"{needs}; the installed one has {table.sha256[:12]!r}..., another version. The version of "
            f"dense-lstm-zoo-presets that {history}."
        )
    return table


def _table(folder: Path, name: str, sha256: str) -> MappedTable:
    history = "the export was made with has it; or export the model again"
    return checked_table(folder, name, sha256, _installed, ExportError, history)


def _installed(name: str) -> MappedTable:
    folder = installed_tables()[name]
    return _read_table(folder, (folder / "config.json").stat().st_mtime_ns)


@functools.lru_cache(maxsize=4)
def _read_table(folder: Path, changed: int) -> MappedTable:
    return MappedTable.read(folder)


def _own(path: Path, count: int, dim: int) -> np.ndarray:
    with errors_of(path):
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        if mapped.dtype not in (np.float16, np.float32) or mapped.shape != (count, dim):
            raise ValueError(f"it has {mapped.dtype} of shape {mapped.shape}, not float16 or float32 of {(count, dim)}")
        return np.array(mapped, np.float32)
