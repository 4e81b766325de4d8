"""Words of training texts: their file, their characters, and their coverage by word vectors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Coverage:
    """Coverage of the training texts by word vectors."""

    types: int
    types_with_vector: int
    tokens: int
    tokens_with_vector: int
    words: int  # tokens with a letter: every language shares punctuation and figures
    words_with_vector: int

    @classmethod
    def of(cls, counts: Mapping[str, int], covered: Collection[str]) -> Coverage:
        """Return how much of counted words those that are covered make up.

        Example:
            >>> coverage = Coverage.of({"суп": 2, ",": 2, "OK": 1}, [",", "OK"])
            >>> coverage.tokens_with_vector, coverage.words_with_vector, coverage.is_little
            (3, 1, True)
        """
        letters = {word: count for word, count in counts.items() if any(map(str.isalpha, word))}
        return cls(
            len(counts),
            len(covered),
            sum(counts.values()),
            sum(counts[word] for word in covered),
            sum(letters.values()),
            sum(letters.get(word, 0) for word in covered),
        )

    @property
    def is_little(self) -> bool:
        """True if less than half of the words in the texts have a vector."""
        return 2 * self.words_with_vector < self.words

    def __str__(self) -> str:
        return (
            f"vectors cover {self.types_with_vector:,} of {self.types:,} word types "
            f"({self.types_with_vector / max(self.types, 1):.1%}) and {self.tokens_with_vector:,} of {self.tokens:,} "
            f"tokens ({self.tokens_with_vector / max(self.tokens, 1):.1%}) of the training texts"
        )


# Scripts that put no spaces between words, with the length beyond which a token is more than a word.
_UNSPACED = (
    (re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"), 4),
    (re.compile(r"[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff]"), 8),
)


class UncoveredError(ValueError):
    """Word vectors that have none of the words of the training texts."""

    def __init__(self, vectors: object, words: int, texts: str) -> None:
        super().__init__(
            f"{vectors} has a vector for none of the {words:,} words of the training {texts}. Train the words "
            'themselves with vectors="none" (--vectors none), or name vectors of their language.'
        )


def is_unspaced(counts: Mapping[str, int]) -> bool:
    """Return whether most of a text is in a script without spaces, with whole phrases as its words.

    Example:
        >>> is_unspaced({"这部电影非常好看": 1}), is_unspaced({"这": 2, "电影": 1}), is_unspaced({"film": 3})
        (True, False, False)
    """
    total = sum(count * len(word) for word, count in counts.items())
    for script, longest in _UNSPACED:
        words = {word: count for word, count in counts.items() if script.search(word)}
        characters = sum(count * len(word) for word, count in words.items())
        if 2 * characters > total and characters > longest * sum(words.values()):
            return True
    return False


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


def write_words(path: Path, words: Iterable[str]) -> None:
    """Write words, which hold no line feed, one per line."""
    path.write_text("".join(f"{word}\n" for word in words), encoding="utf-8", newline="\n")


def read_words(path: Path) -> list[str]:
    """Return the words that ``write_words`` wrote."""
    return path.read_bytes().decode().split("\n")[:-1]  # keeps a carriage return within a word
