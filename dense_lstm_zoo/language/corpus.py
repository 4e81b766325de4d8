"""Corpora for language models: running text in files or in memory, read line by line as often as needed.

Tokens are separated by white space (for other tokens, tokenise first). A line's end is the token ``<eos>``.
Blank lines are skipped: an ``<eos>`` after no words would only teach a model about the layout of a file.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from dense_lstm_zoo.corpora.corpus import AnyCorpus
from dense_lstm_zoo.data.text_file import TextFile, TextSource, num_tokens

EOS, UNKNOWN = "<eos>", "<unk>"


@dataclass(frozen=True, repr=False)
class LanguageCorpus(AnyCorpus):
    """Running text to train a language model on. ``dev`` and ``test`` are None if the corpus has none.

    Raises:
        ValueError: A part that can be read only once, such as a generator, or that is a single ``str``.

    Example:
        >>> print(LanguageCorpus("mine", train=["to be or not to be"], dev=["to be"], test=None))
        mine: 7 train, 3 dev tokens
    """

    name: str
    train: TextSource
    dev: TextSource | None
    test: TextSource | None

    def __post_init__(self) -> None:
        for part, source in self._parts.items():
            if not isinstance(source, TextFile | Sequence) or isinstance(source, str | bytes):
                raise ValueError(f"{part} must be a TextFile or a list of lines; received {type(source).__name__}.")

    @staticmethod
    def _first(part: TextSource, number: int) -> list[str]:
        """Return the first lines of a text."""
        return list(itertools.islice(part, number))

    @property
    def _parts(self) -> dict[str, TextSource]:
        parts = {"train": self.train, "dev": self.dev, "test": self.test}
        return {name: source for name, source in parts.items() if source is not None}

    def __repr__(self) -> str:
        # A file is named, as its tokens are not counted before somebody asks for them.
        sizes = {
            part: repr(source) if isinstance(source, TextFile) else f"{len(source):,} lines"
            for part, source in self._parts.items()
        }
        return f"<LanguageCorpus {self.name}: {', '.join(f'{part} {size}' for part, size in sizes.items())}>"

    def __str__(self) -> str:
        sizes = ", ".join(f"{num_tokens(source):,} {part}" for part, source in self._parts.items())
        return f"{self.name}: {sizes} tokens"
