"""Texts that are too many for memory, in a temporary file."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, overload

from dense_lstm_zoo.storage.scratch import ScratchFile

if TYPE_CHECKING:
    import numpy as np

_AT_ONCE = 1024  # texts that are read together
_ENCODING = "utf-8", "surrogatepass"  # JSON may hold lone surrogates


class StoredTexts(Sequence[str]):
    """Texts in a temporary file, of which only the places are in memory. The file goes with the last of its texts.

    A slice, and what ``select`` returns, shares the file.

    Args:
        texts: The first texts.

    Example:
        >>> texts = StoredTexts(["good", "bad", "dull"])
        >>> len(texts), texts[1], list(texts[1:]), list(texts.select([2, 0]))
        (3, 'bad', ['bad', 'dull'], ['dull', 'good'])
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._file = ScratchFile()
        self._ends = array("q")  # the place in the file where each of its texts ends
        self._numbers: np.ndarray | None = None  # of the texts among those of the file. None means all
        for text in texts:
            self.append(text)

    def append(self, text: str) -> None:
        """Add a text. Texts of which a part was selected take no more."""
        self._file.append(text.encode(*_ENCODING))
        self._ends.append(self._file.size)

    def select(self, indices: Sequence[int] | np.ndarray) -> StoredTexts:
        """Return the texts with these indices, in their order."""
        import numpy as np

        numbers = np.asarray(indices, np.int64)
        part = StoredTexts.__new__(StoredTexts)
        part._file, part._ends = self._file, self._ends
        part._numbers = numbers if self._numbers is None else self._numbers[numbers]
        return part

    def __len__(self) -> int:
        return len(self._ends) if self._numbers is None else len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> StoredTexts: ...
    def __getitem__(self, index: int | slice) -> str | StoredTexts:
        places = range(len(self))[index]
        if isinstance(places, range):
            return self.select(places)
        return self._read([places if self._numbers is None else int(self._numbers[places])])[0]

    def __iter__(self) -> Iterator[str]:
        for first in range(0, len(self), _AT_ONCE):
            places = range(first, min(first + _AT_ONCE, len(self)))
            yield from self._read(places if self._numbers is None else self._numbers[first : places.stop].tolist())

    def _read(self, numbers: Sequence[int]) -> list[str]:
        spans = [(self._ends[number - 1] if number else 0, self._ends[number]) for number in numbers]
        first, last = min(start for start, _ in spans), max(end for _, end in spans)
        if last - first > 4 * sum(end - start for start, end in spans):  # they are far apart
            return [self._file.read(*span).decode(*_ENCODING) for span in spans]
        block = self._file.read(first, last)
        return [block[start - first : end - first].decode(*_ENCODING) for start, end in spans]
