"""Lines and nesting of files in brackets: what the readers of the Penn Treebank and of CCGbank have in common."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dense_lstm_zoo import checks
from dense_lstm_zoo.data.text_file import numbered_lines
from dense_lstm_zoo.tagging.corpus import TaggedSplit

LONGEST_LINE = 1 << 20  # characters. The longest derivation of CCGbank has some 20,000
MOST_TOKENS = 1 << 16  # of a sentence: a file whose brackets never close is not read to its end


@dataclass
class Sentences:
    """The sentences of a file, as its reader finds them. Words and tags recur and are kept once.

    Args:
        path: The file, for errors.
        tokens: The words of each sentence.
        tags: Their tags.
    """

    path: Path
    tokens: list[list[str]] = field(default_factory=list)
    tags: list[list[str]] = field(default_factory=list)

    def add(self, sentence: list[tuple[str, str]]) -> None:
        """Add a sentence of words with their tags, unless it is empty."""
        if sentence:
            self.tokens.append([sys.intern(unescape(word)) for word, _ in sentence])
            self.tags.append([sys.intern(tag) for _, tag in sentence])

    def split(self, kind: str) -> TaggedSplit:
        """Return all sentences, or raise ``ValueError`` if there are none of ``kind``."""
        if not self.tokens:
            raise ValueError(f"{self.path} has no sentences; expected {kind}.")
        return TaggedSplit(self.tokens, self.tags)


def lines(path: Path, encoding: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of a file that are not blank, and blank ones as "", each with its place for an error.

    Raises:
        ValueError: A line of more than ``LONGEST_LINE`` characters, or as for ``numbered_lines``.
    """
    for number, line in numbered_lines(path, encoding, longest=LONGEST_LINE):
        yield f"{path}, line {number}", line.strip()


def too_long(place: str, kind: str) -> ValueError:
    """Return the error of a sentence that does not end."""
    return ValueError(f"{place}: {kind} has more than {MOST_TOKENS:,} tokens; a bracket that closes it may be missing.")


def checked_tag(place: str, tag: str) -> str:
    """Return a tag that can be written to a file, the first of alternatives (JJ|VBN), or raise ``ValueError``."""
    first = tag.partition("|")[0] or tag
    checks.writable(f"{place}: the tag", [first])
    return first


def unescape(word: str) -> str:
    r"""Return a word without the treebank's backslashes, which mark slashes and asterisks that are text.

    Example:
        >>> unescape(r"1\/2"), unescape("-LRB-")
        ('1/2', '-LRB-')
    """
    return word.replace("\\/", "/").replace("\\*", "*") if "\\" in word else word
