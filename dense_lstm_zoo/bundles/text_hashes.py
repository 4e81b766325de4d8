"""Hashes of training texts, which travel with a model and show whether a test text was trained on.

A hash is 8 bytes of a keyed blake2b of the text's tokens in lower case without white space, so that spacing and
tokenisation make no difference. The text cannot be read from it.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dense_lstm_zoo.storage import bundle_names

if TYPE_CHECKING:
    import numpy as np

FILE = bundle_names.TRAIN_TEXTS
_KEY = b"dense_lstm_zoo training texts"
_SHORTEST = 4  # tokens; shorter texts, such as "thank you .", occur everywhere
_EXAMPLE = 60  # tokens
_BLOCK = 10_000  # tokens; a line of running text may be larger than memory


def text_hash(tokens: Iterable[str]) -> int:
    """Return the hash of a text from its tokens.

    Example:
        >>> text_hash(["A", "good", "film"]) == text_hash(["a", "goodfilm"]) != text_hash(["a", "film"])
        True
    """
    digest, rest = hashlib.blake2b(digest_size=8, key=_KEY), iter(tokens)
    while block := list(itertools.islice(rest, _BLOCK)):
        digest.update("".join("".join(block).casefold().split()).encode("utf-8", "replace"))
    return int.from_bytes(digest.digest(), "little")


def hash_texts(texts: Iterable[Iterable[str]]) -> np.ndarray:
    """Return the distinct hashes of texts, given as tokens: sorted uint64."""
    import numpy as np

    hashes = np.fromiter((text_hash(tokens) for tokens in texts), np.uint64)
    hashes.sort()
    is_new = np.ones(len(hashes), bool)
    is_new[1:] = hashes[1:] != hashes[:-1]
    return hashes[is_new]  # np.unique would take several times the memory


@dataclass(frozen=True)
class Overlap:
    """The number of texts that were trained on, of those that are long enough to tell, with the first of them."""

    count: int
    texts: int
    example: str = ""

    @property
    def is_too_much(self) -> bool:
        """True if it is more than a handful: ten texts, or 1 % of them."""
        return self.count >= 10 or (self.count > 0 and 100 * self.count >= self.texts)

    def __str__(self) -> str:
        total = f"{self.texts:,} of at least {_SHORTEST} words ({self.count / max(self.texts, 1):.1%})"
        return f"{self.count:,} of {total}, such as {self.example!r:.120}"


def overlap(hashes: np.ndarray, texts: Iterable[Iterable[str]]) -> Overlap:
    """Return how many texts of at least four tokens are among the hashes, which are sorted.

    Example:
        >>> hashes = hash_texts([["it", "is", "very", "good"], ["no"]])
        >>> str(overlap(hashes, [["no"], ["It", "is", "very", "good"], ["it", "is", "not", "good"]]))
        "1 of 2 of at least 4 words (50.0%), such as 'It is very good'"
    """
    import numpy as np

    count = total = 0
    example = ""
    for tokens in texts:
        rest = iter(tokens)
        beginning = list(itertools.islice(rest, _EXAMPLE))
        if len(beginning) >= _SHORTEST:
            total += 1
            value = text_hash(itertools.chain(beginning, rest))
            # They are sorted, and a set of them would take ten times their memory.
            place = hashes.searchsorted(np.uint64(value))
            if place < len(hashes) and hashes[place] == value:
                example = example or " ".join(beginning)
                count += 1
    return Overlap(count, total, example)


def write_hashes(path: Path, hashes: np.ndarray) -> None:
    """Write hashes to a file in NumPy's format."""
    import numpy as np

    np.save(path, hashes.astype("<u8"), allow_pickle=False)


def read_hashes(path: Path) -> np.ndarray:
    """Return the hashes in a file, which may come from a stranger: nothing is unpickled.

    Raises:
        ValueError: The file is not an array of sorted uint64, or claims more of them than it holds.
    """
    import numpy as np

    with path.open("rb") as file:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise ValueError(f"it has NumPy format {version}")
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        size = path.stat().st_size - file.tell()
        if dtype != np.dtype("<u8") or len(shape) != 1 or shape[0] * dtype.itemsize != size:
            raise ValueError(f"it claims {dtype} of shape {shape} in {size:,} bytes; expected sorted uint64")
        hashes = np.frombuffer(file.read(), dtype)
    if not (hashes[:-1] < hashes[1:]).all():
        raise ValueError("its hashes are not in order")
    return hashes
