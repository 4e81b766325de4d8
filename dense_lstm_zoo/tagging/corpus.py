"""Corpora for taggers: sentences of tagged tokens, and the merging of rare tags."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.corpora.corpus import AnyCorpus

RARE = "RARE"


@dataclass(frozen=True, repr=False)
class TaggedSplit:
    """Sentences as lists of tokens, with a tag for each token.

    ``lines`` says where each token is in its file.

    Raises:
        TypeError: A token or a tag that is not a string.
        ValueError: Different numbers of tags and tokens, a sentence without tokens, a ``str`` instead of a list, or a
            tag that cannot be written to a file.

    Example:
        >>> split = TaggedSplit([["Dogs", "bark", "."]], [["NOUN", "VERB", "PUNCT"]])
        >>> len(split), split.num_tokens
        (1, 3)
    """

    tokens: list[list[str]]
    tags: list[list[str]]
    lines: Sequence[Sequence[int]] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if len(self.tokens) != len(self.tags):
            raise ValueError(
                f"A split needs tags for each sentence; received {len(self.tokens)} sentences and tags for "
                f"{len(self.tags)}."
            )
        for number, (tokens, tags) in enumerate(zip(self.tokens, self.tags, strict=True), start=1):
            if isinstance(tokens, str) or isinstance(tags, str):
                raise ValueError(f"Sentence {number} must be a list of tokens and a list of tags; received a str.")
            if len(tokens) != len(tags) or not tokens:
                raise ValueError(
                    f"Sentence {number} needs at least one token and a tag for each; received {len(tokens)} tokens "
                    f"and {len(tags)} tags."
                )
            for cell in (*tokens, *tags):
                if not isinstance(cell, str):
                    raise TypeError(f"Sentence {number}: tokens and tags must be strings; received {cell!r:.80}.")
            checks.writable(f"Sentence {number}: the tag", tags)

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        return f"<TaggedSplit: {len(self):,} sentences, {self.num_tokens:,} tokens>"

    def select(self, indices: Sequence[int]) -> TaggedSplit:
        """Return the sentences with these indices, in their order, with their tags."""
        lines = [self.lines[i] for i in indices] if self.lines else ()
        return TaggedSplit([self.tokens[i] for i in indices], [self.tags[i] for i in indices], lines)

    @property
    def num_tokens(self) -> int:
        """The number of tokens of all sentences."""
        return sum(map(len, self.tokens))


@dataclass(frozen=True, repr=False)
class TaggingCorpus(AnyCorpus):
    """Sentences to train a tagger on. ``dev`` and ``test`` are None if the corpus has none.

    ``columns`` are the options that name the columns of tokens and tags in a user's own file. Bundles record them.

    Example:
        >>> train = TaggedSplit([["Dogs", "bark"], ["Go"]], [["NOUN", "VERB"], ["VERB"]])
        >>> print(TaggingCorpus("mine", train, dev=None, test=TaggedSplit([["Stop"]], [["VERB"]])))
        mine: 2 train (3 tokens), 1 test (1 tokens) sentences; 2 tags: NOUN, VERB
    """

    name: str
    train: TaggedSplit
    dev: TaggedSplit | None
    test: TaggedSplit | None
    columns: Any = field(default_factory=dict, kw_only=True, compare=False)

    @functools.cached_property
    def tag_names(self) -> tuple[str, ...]:
        """The tags that occur in ``train``, sorted."""
        return tuple(sorted(set().union(*self.train.tags)))

    def with_dev(self, fraction: float = 0.1, seed: int = 0) -> TaggingCorpus:
        """Hold out part of the training sentences as ``dev``. A corpus that has a ``dev`` stays itself.

        Args:
            fraction: The share of the training sentences to hold out, between 0 and 1. It is at least one sentence.
            seed: The same seed holds out the same sentences.

        Raises:
            ValueError: The fraction is out of range, or nothing would be left to train on.

        Example:
            >>> train = TaggedSplit([["Go"]] * 20, [["VERB"]] * 20)
            >>> print(TaggingCorpus("mine", train, None, None).with_dev())
            mine: 18 train (18 tokens), 2 dev (2 tokens) sentences; 1 tags: VERB
        """
        if checks.fraction("fraction", fraction) == 0:
            raise ValueError(f"fraction must be above 0, or there is no dev set; received {fraction!r}.")
        checks.integer("seed", seed, minimum=0)
        if self.dev is not None:
            return self
        import numpy as np

        count = len(self.train)
        size = max(1, round(count * fraction))
        if size >= count:
            raise ValueError(f"fraction={fraction!r} of {count} training sentences leaves none to train on.")
        order = np.random.Generator(np.random.PCG64(seed)).permutation(count).tolist()
        train, dev = (self.train.select(sorted(part)) for part in (order[size:], order[:size]))
        return replace(self, train=train, dev=dev)

    @staticmethod
    def _first(part: TaggedSplit, number: int) -> TaggedSplit:
        return TaggedSplit(part.tokens[:number], part.tags[:number])

    def __repr__(self) -> str:
        return f"<TaggingCorpus {self}>"

    def __str__(self) -> str:
        splits = {"train": self.train, "dev": self.dev, "test": self.test}
        sizes = ", ".join(f"{len(s):,} {part} ({s.num_tokens:,} tokens)" for part, s in splits.items() if s is not None)
        tags = ", ".join(self.tag_names[:8]) + (", ..." if len(self.tag_names) > 8 else "")
        return f"{self.name}: {sizes} sentences; {len(self.tag_names)} tags: {tags}"


def merge_rare_tags(corpus: TaggingCorpus, min_tag_count: int) -> TaggingCorpus:
    """Return the corpus with ``RARE`` in place of tags that are rare in training.

    A model may learn ``RARE`` and predict it, which does not say which tag was meant: score with ``is_right``. Dev and
    test keep their tags: a token whose tag is rare, or not in train at all, always counts as wrong, and so does a span
    that it is a part of.

    Args:
        corpus: The corpus. It is not changed.
        min_tag_count: Tags with fewer tokens in train are rare. With 1, none is.

    Raises:
        ValueError: ``min_tag_count`` is below 1, or leaves no tags in train.

    Example:
        >>> train = TaggedSplit([["Dogs", "bark", "loudly"], ["Go"]], [["NOUN", "VERB", "ADV"], ["VERB"]])
        >>> test = TaggedSplit([["Wow", "bark"]], [["INTJ", "VERB"]])
        >>> merged = merge_rare_tags(TaggingCorpus("mine", train, None, test), min_tag_count=2)
        >>> merged.train.tags, merged.test.tags
        ([['RARE', 'VERB', 'RARE'], ['VERB']], [['INTJ', 'VERB']])
    """
    checks.integer("min_tag_count", min_tag_count)
    counts = Counter(tag for tags in corpus.train.tags for tag in tags)
    frequent = {tag for tag, count in counts.items() if count >= min_tag_count and tag != RARE}
    if not frequent:
        (tag, count), *_ = counts.most_common(1)
        raise ValueError(
            f"min_tag_count={min_tag_count} leaves no tags; the most frequent is {tag} with {count:,} tokens in train."
        )

    tags = [[tag if tag in frequent else RARE for tag in tags] for tags in corpus.train.tags]
    return replace(corpus, train=replace(corpus.train, tags=tags))


def is_right(gold: str, predicted: str) -> bool:
    """Return whether a predicted tag is right. ``RARE`` never is.

    Example:
        >>> is_right("NOUN", "NOUN"), is_right("RARE", "RARE")
        (True, False)
    """
    return gold == predicted != RARE
