"""Words of training texts: their characters, and their coverage by word vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Coverage:
    """How much of the training texts the word vectors cover."""

    types: int
    types_with_vector: int
    tokens: int
    tokens_with_vector: int

    def __str__(self) -> str:
        return (
            f"vectors cover {self.types_with_vector:,} of {self.types:,} word types "
            f"({self.types_with_vector / max(self.types, 1):.1%}) and {self.tokens_with_vector:,} of {self.tokens:,} "
            f"tokens ({self.tokens_with_vector / max(self.tokens, 1):.1%}) of the training texts"
        )


def alphabet(counts: Mapping[str, int]) -> str:
    """Return the characters of counted words in one string, most frequent first.

    Example:
        >>> alphabet({"no": 2, "film": 1})
        'nofilm'
    """
    chars = Counter[str]()
    for word, count in counts.items():
        for char in word:
            chars[char] += count
    return "".join(char for char, _ in sorted(chars.items(), key=lambda item: (-item[1], item[0])))
