"""The ids of texts that are too many for memory, in temporary files."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

import numpy as np

from dense_lstm_zoo.storage.scratch import ScratchFile


class StoredIds(Sequence[np.ndarray | dict[str, np.ndarray]]):
    """The ids of each text in temporary files, of which only the places are in memory.

    As in a list of rows, one is an int32 array (tokens,), or with several features a dictionary of arrays
    (tokens, ...).

    Example:
        >>> rows = StoredIds()
        >>> rows.extend({"token_ids": np.array([5, 6, 7])}, [1, 2])
        >>> len(rows), rows[1], rows.lengths
        (2, array([6, 7], dtype=int32), array([1, 2], dtype=int32))
    """

    def __init__(self) -> None:
        self._files: dict[str, ScratchFile] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}  # of the ids of a token
        self._ends = array("q")  # the number of tokens up to the end of each text

    def extend(self, features: Mapping[str, np.ndarray], lengths: Sequence[int] | np.ndarray) -> None:
        """Add texts.

        Args:
            features: The ids of all their tokens, one after the other, by name: (tokens, ...) each.
            lengths: The number of tokens of each text.
        """
        for name, ids in features.items():
            self._shapes[name] = ids.shape[1:]
            self._files.setdefault(name, ScratchFile()).append(ids.astype(np.int32).tobytes())
        before = self._ends[-1] if self._ends else 0
        self._ends.frombytes((before + np.cumsum(lengths, dtype=np.int64)).tobytes())

    @property
    def lengths(self) -> np.ndarray:
        """The number of tokens of each text: int32 (texts,)."""
        return np.diff(np.asarray(self._ends), prepend=0).astype(np.int32)

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, index: int) -> np.ndarray | dict[str, np.ndarray]:  # type: ignore[override]  # no slices
        place = range(len(self))[index]
        start, stop = self._ends[place - 1] if place else 0, self._ends[place]
        row = {name: self._ids(name, start, stop) for name in self._files}
        return row if len(row) > 1 else next(iter(row.values()))

    def _ids(self, name: str, start: int, stop: int) -> np.ndarray:
        shape = self._shapes[name]
        size = 4 * int(np.prod(shape, dtype=int))
        return np.frombuffer(self._files[name].read(start * size, stop * size), np.int32).reshape(-1, *shape)
