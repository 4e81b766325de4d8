"""Bundles that refer to a word table for their word vectors, instead of holding them.

Such a bundle's config names the table and its sha256, and ``shared_words.rows`` holds, for each row of each array of
word vectors, the row of the table that is the same word's (-1 for a row that the bundle holds): int32, little-endian.
The arrays in the file of weights hold the other rows, in their order. Vectors of another length, such as those that a
text encoder reads, may be another table's, which their array then names. Where the last words of a vocabulary are all
the other words of the table, in its order, both files leave them out, and the config says how many ``others`` follow.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.bundles.checks import BundleError, Shape, named
from dense_lstm_zoo.data.word_table import WordTable, installed_tables, load_vectors
from dense_lstm_zoo.data.words import read_words
from dense_lstm_zoo.storage import bundle_names
from dense_lstm_zoo_runtime import install

if TYPE_CHECKING:
    import keras
    import numpy as np

KEY = "shared_words"  # in config.json
ROWS = bundle_names.SHARED_ROWS
FIRST_WORD = 2  # the id of the first word, after padding and unknown
HERE = -1  # of a row that the bundle holds
_CHUNK = 1024  # rows


@dataclass(frozen=True, eq=False)
class Part:
    """An array of word vectors in a file of weights.

    Args:
        array: Its name in the file.
        first: The id of its first row.
        scale: By what the table's vectors are divided. See ``WordEmbedding``.
        rows: For each of its rows, the table's row, or -1.
        name: The table's installed name.
        table: The table.
    """

    array: str
    first: int
    scale: float
    rows: np.ndarray
    name: str
    table: WordTable


@dataclass(frozen=True, eq=False)
class SharedWords:
    """The rows of a bundle's weights that are rows of installed word tables, array by array; at least one array.

    Args:
        parts: The arrays.
        words: The bundle's words, in the order of their ids.
        others: How many of the last words are left to the first array's table. See ``shortened``.
    """

    parts: tuple[Part, ...]
    words: tuple[str, ...]
    others: int = 0

    @property
    def name(self) -> str:
        """The installed name of the first array's table."""
        return self.parts[0].name

    @property
    def table(self) -> WordTable:
        """The first array's table."""
        return self.parts[0].table

    @property
    def config(self) -> dict[str, Any]:
        """The entry of ``config.json``."""
        arrays = [
            {"array": p.array, "first": p.first, "rows": len(p.rows), "scale": p.scale, **self.own_table(p)}
            for p in self.parts
        ]
        others = {"others": self.others} if self.others else {}
        return {"table": self.name, "sha256": self.table.sha256, **others, "arrays": arrays}

    def own_table(self, part: Part) -> dict[str, str]:
        """Return name and sha256 of an array's table, if it is another than the first array's."""
        return {} if part.name == self.name else {"table": part.name, "sha256": part.table.sha256}

    @property
    def own_words(self) -> tuple[str, ...]:
        """The words that the vocabulary's file has to hold."""
        return self.words[: len(self.words) - self.others]

    def shortened(self) -> SharedWords:
        """Return the same without the last words, where these are all other words of the table, in its order."""
        index, count, last = self.table.index, len(self.words), len(self.table)
        while count and index.get(self.words[count - 1], last) < last:
            count, last = count - 1, index[self.words[count - 1]]
        rows = self.table.other_rows(self.words[:count])
        if len(rows) != len(self.words) - count:
            return self
        end = FIRST_WORD + count
        tails = ((part.rows[max(0, end - part.first) :], tail(rows, end, part.first)) for part in self.parts)
        same = all((actual == expected[: len(actual)]).all() for actual, expected in tails)
        return dataclasses.replace(self, others=len(rows)) if same else self

    def write_rows(self, path: Path) -> None:
        """Write the numbers of the rows, but those of the words that are left to the table."""
        import numpy as np

        end = FIRST_WORD + len(self.own_words)
        rows = [part.rows[: max(0, end - part.first)] for part in self.parts]
        path.write_bytes(np.concatenate(rows).astype("<i4").tobytes())

    def reduced(self, name: str, values: np.ndarray) -> np.ndarray:
        """Return an array without the rows that the table has."""
        part = next((part for part in self.parts if part.array == name), None)
        return values if part is None else values[part.rows == HERE]

    def complete(self, name: str, values: np.ndarray) -> np.ndarray:
        """Return the array with the table's rows in it, as float32."""
        import numpy as np

        part = next((part for part in self.parts if part.array == name), None)
        if part is None:
            return values
        matrix = np.empty((len(part.rows), part.table.dim), np.float32)
        matrix[part.rows == HERE] = values
        shared = np.flatnonzero(part.rows != HERE)
        for start in range(0, len(shared), _CHUNK):  # a second copy of a large table takes long to allocate
            rows = shared[start : start + _CHUNK]
            matrix[rows] = _vectors(part.table, part.rows[rows], part.scale)
        return matrix

    def shapes(self, shapes: Mapping[str, Shape]) -> dict[str, Shape]:
        """Return the shapes of the complete arrays."""
        return {**shapes, **{part.array: (len(part.rows), part.table.dim) for part in self.parts}}


def tail(rows: np.ndarray, end: int, first: int) -> np.ndarray:
    """Return the rows of the words left to a table from an array's first id on. Those words' ids begin at ``end``."""
    return rows[max(0, first - end) :]


def find(
    weights: Path, model: keras.Model, words: Sequence[str], table_name: object = None, *, required: bool | None = True
) -> SharedWords | None:
    """Return the installed table that has rows of a model's word vectors, and which rows.

    Args:
        weights: The file of the model's weights, as Keras wrote it.
        model: The model.
        words: Its words, in the order of their ids.
        table_name: The name of the table it was trained with: tried first. Of the others, the one with the most rows
            wins.
        required: Whether to raise an error if there is none, rather than to return None.

    Raises:
        ValueError: No table is installed, or none has any of the rows.
    """
    return find_in(list(_arrays(weights, model)), words, table_name, required=required)


def find_in(
    arrays: Sequence[tuple[str, int, float, np.ndarray]],
    words: Sequence[str],
    table_name: object,
    *,
    required: bool | None = True,
) -> SharedWords | None:
    """Return the installed tables that have rows of arrays of word vectors, and which rows. See ``find``.

    Arrays of one length of vectors share a table. Those of a length that no table has rows of are left out.

    Args:
        arrays: Name, id of the first row, scale and values of each. See ``Part``.
        words: As for ``find``.
        table_name: As for ``find``.
        required: As for ``find``.

    Raises:
        ValueError: As for ``find``.
    """
    names = sorted(installed_tables(), key=lambda name: name != table_name)
    if not names and required:
        raise ValueError(f"shared_words=True needs an installed word table; there is none: {install.PRESETS}.")
    by_name: dict[str, Part] = {}
    for dim in dict.fromkeys(values.shape[1] for *_, values in arrays):
        same_length = [array for array in arrays if array[3].shape[1] == dim]
        by_name |= {part.array: part for part in _best(names, words, same_length, table_name)}
    if by_name:
        return SharedWords(tuple(by_name[name] for name, *_ in arrays if name in by_name), tuple(words))
    if required:
        raise ValueError(
            f"shared_words=True: none of the model's word vectors is one of an installed table ({', '.join(names)}), "
            "so there is nothing to share. Save without it."
        )
    return None


def _best(
    names: Sequence[str], words: Sequence[str], arrays: Sequence[tuple[str, int, float, np.ndarray]], table_name: object
) -> list[Part]:
    """Return the parts of arrays of one length of vectors that a table has the most rows of. None if no table has."""
    best, most = [], 0
    for name in names:
        table = load_vectors(name)
        if table.dim != arrays[0][3].shape[1]:
            continue
        parts = [_part(name, table, words, *array) for array in arrays]
        count = sum(int((part.rows != HERE).sum()) for part in parts)
        if count > most:
            best, most = parts, count
            if name == table_name:
                break
    return best


def _arrays(weights: Path, model: keras.Model) -> Iterator[tuple[str, int, float, np.ndarray]]:
    """Yield name, first id, scale and values of each array of word vectors in a file."""
    import h5py

    from dense_lstm_zoo.layers import WordEmbedding

    layers = {layer.name: layer for layer in model.layers if isinstance(layer, WordEmbedding)}
    with h5py.File(weights, "r") as file:
        groups = {group.attrs.get("name"): group for group in (item.get("vars") for item in file["layers"].values())}
        for name, layer in layers.items():
            first = 0
            for number, variable in enumerate((layer.table, layer.frozen_table)):
                if variable is None:
                    continue
                array = groups[name][str(number)]
                yield array.name, first, float(1 if number else layer.update_scale), array[()]
                first += array.shape[0]


def _part(
    name: str, table: WordTable, words: Sequence[str], array: str, first: int, scale: float, values: np.ndarray
) -> Part:
    import numpy as np

    rows = np.full(len(values), HERE, np.int32)
    if values.dtype == np.float32:
        ids = range(max(first, FIRST_WORD), first + len(values))
        pairs = [(i - first, table.index[words[i - FIRST_WORD]]) for i in ids if words[i - FIRST_WORD] in table]
        at, theirs = np.array(pairs, np.int64).reshape(-1, 2).T
        # the numbers' bits, as 0.0 equals -0.0
        same = (_vectors(table, theirs, scale).view(np.int32) == values[at].view(np.int32)).all(axis=1)
        rows[at[same]] = theirs[same]
    return Part(array, first, scale, rows, name, table)


def _vectors(table: WordTable, rows: np.ndarray, scale: float) -> np.ndarray:
    import numpy as np

    vectors = table.rows(rows)
    if scale == 1:
        return vectors
    with np.errstate(all="ignore"):  # weights that are not finite are refused by name
        return (vectors / np.float32(scale)).astype(np.float32)


def installed(owner: object, name: str, sha256: str) -> WordTable:
    """Return an installed word table of that checksum. ``owner`` is what needs it, for the error.

    Raises:
        BundleError: The table is not installed, or another version.
    """
    from dense_lstm_zoo_runtime.shared_words import checked_table

    return checked_table(owner, name, sha256, load_vectors, BundleError, "the bundle was saved with has it")


def read(folder: Path, claims: object, names: Collection[str], shapes: Mapping[str, Shape]) -> SharedWords:
    """Return what a bundle shares with a word table, which may come from a stranger: every claim is checked.

    Args:
        folder: The bundle's.
        claims: What its config says.
        names: The files in its manifest.
        shapes: The shapes of the arrays in its file of weights, by name.

    Raises:
        BundleError: The table is not installed or another version, or the files do not match it or each other.
    """
    from dense_lstm_zoo_runtime.shared_words import check_rows, checked_claims, other_rows

    with named(folder / "config.json"):
        arrays, count = checked_claims(claims, {"array": str, "first": int, "rows": int, "scale": float})
        _check_arrays(arrays)
    if ROWS not in names:
        raise BundleError(f"{folder} is incomplete: {ROWS} is missing in its manifest.")
    tables = [installed(folder, array["table"], array["sha256"]) for array in arrays]
    with named(folder / "vocabulary.txt"):
        words = read_words(folder / "vocabulary.txt")
        others = other_rows(tables[0], words, count)
    end = FIRST_WORD + len(words)
    words += [tables[0].words[row] for row in others.tolist()]
    parts = []
    with named(folder / ROWS):
        for array, table, rows in zip(arrays, tables, _read_rows(folder / ROWS, arrays, others, end), strict=True):
            check_rows(rows, words, table, array["first"])
            parts.append(Part(array["array"], array["first"], array["scale"], rows, array["table"], table))
    for part in parts:
        expected = (int((part.rows == HERE).sum()), part.table.dim)
        if shapes.get(part.array) != expected:
            raise BundleError(
                f"{folder / 'model.weights.h5'} does not match {ROWS}: {part.array:.80} has shape "
                f"{shapes.get(part.array)}, not {expected}."
            )
    return SharedWords(tuple(parts), tuple(words), count)


def _check_arrays(arrays: Sequence[Mapping[str, Any]]) -> None:
    """Raise ``ValueError`` for numbers that no array of word vectors has, and for an array that is named twice."""
    for array in arrays:
        if array["first"] < 0 or array["rows"] < 0 or not 0 < array["scale"] < float("inf"):
            raise ValueError(f"{KEY} has an array that is not one of word vectors: {array!s:.80}")
    if len({array["array"] for array in arrays}) < len(arrays):
        raise ValueError(f"{KEY} names an array twice")


def _read_rows(path: Path, arrays: Sequence[Mapping[str, Any]], other_ids: np.ndarray, end: int) -> list[np.ndarray]:
    """Return the rows of each array: those in the file, and those of the words left to the table, from id ``end``."""
    import numpy as np

    tails = [tail(other_ids, end, array["first"])[: max(0, array["first"] + array["rows"] - end)] for array in arrays]
    counts = [array["rows"] - len(rows) for array, rows in zip(arrays, tails, strict=True)]
    numbers = np.frombuffer(path.read_bytes(), "<i4").astype(np.int32)
    if len(numbers) != sum(counts):
        raise ValueError(f"it has {len(numbers):,} rows, config.json says {sum(counts):,}")
    return [np.concatenate(pair) for pair in zip(np.split(numbers, np.cumsum(counts[:-1])), tails, strict=True)]
