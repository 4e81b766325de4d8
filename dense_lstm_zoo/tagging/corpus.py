"""Corpora for taggers: sentences of tagged tokens, and the merging of rare tags."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.corpora.corpus import AnyCorpus
from dense_lstm_zoo.data import soft_labels
from dense_lstm_zoo.data.cells import first_names
from dense_lstm_zoo.data.soft_sentences import split_rows

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

RARE = "RARE"


@dataclass(frozen=True, repr=False)
class TaggedSplit:
    """Sentences as lists of tokens, with a tag for each token.

    ``lines`` says where each token is in its file.

    Training sentences may have soft labels instead of tags, or as well: ``probabilities`` holds a matrix (tokens, tags)
    per sentence, whose columns are the tags ``tag_names``. The tags of such sentences, or of some of them, are then
    None. In their place ``tags`` holds the likeliest ones, and ``is_labelled`` says which sentences have tags of their
    own. A sentence with tags may have None in place of a matrix, and is learnt as it is. ``teachers`` names those who
    gave the probabilities.

    Raises:
        TypeError: A token or a tag that is not a string, or a matrix that is none.
        ValueError: Different numbers of tags and tokens, a sentence without tokens, a ``str`` instead of a list, a
            tag that cannot be written to a file, or is not one of ``tag_names``, a matrix of another shape, or
            probabilities that are negative, not finite or do not add up to 1.

    Example:
        >>> split = TaggedSplit([["Dogs", "bark", "."]], [["NOUN", "VERB", "PUNCT"]])
        >>> len(split), split.num_tokens
        (1, 3)
        >>> names = {"tag_names": ["NOUN", "VERB"]}
        >>> soft = TaggedSplit([["Dogs", "bark"]], None, probabilities=[[[0.9, 0.1], [0.4, 0.6]]], **names)
        >>> soft.tags, soft.is_labelled.tolist()
        ([['NOUN', 'VERB']], [False])
    """

    tokens: list[list[str]]
    tags: Any
    lines: Sequence[Sequence[int]] = field(default=(), compare=False)
    probabilities: Any = field(default=(), compare=False, kw_only=True)
    tag_names: Sequence[str] = field(default=(), compare=False, kw_only=True)
    is_labelled: Any = field(default=(), compare=False, kw_only=True)
    teachers: Sequence[str] = field(default=(), compare=False, kw_only=True)

    def __post_init__(self) -> None:
        if self.is_soft:
            self._complete_tags()
        if self.tags is None or len(self.tokens) != len(self.tags):
            raise ValueError(
                f"A split needs tags for each sentence; received {len(self.tokens)} sentences and tags for "
                f"{len(self.tags or ())}."
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

    @property
    def is_soft(self) -> bool:
        """True if the sentences have probabilities."""
        return len(self.probabilities) > 0

    @property
    def labelled(self) -> np.ndarray:
        """The sentences that have tags of their own: bool (sentences,)."""
        import numpy as np

        return np.asarray(self.is_labelled, bool) if len(self.is_labelled) else np.ones(len(self), bool)

    def _complete_tags(self) -> None:
        """Check the probabilities, and put the likeliest tags where none are given."""
        import numpy as np

        names = tuple(self.tag_names)
        if len(names) < 2 or len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
            raise ValueError(
                f"probabilities need tag_names, at least two different tags for their columns; received {names!r:.80}."
            )
        checks.writable("The tag", names)
        own_tags: list[Any] = [None] * len(self.tokens) if self.tags is None else list(self.tags)
        if len(self.probabilities) != len(self.tokens) or len(own_tags) != len(self.tokens):
            raise ValueError(
                f"A split needs a matrix of probabilities for each sentence; received {len(self.tokens)} sentences, "
                f"{len(self.probabilities)} matrices and tags for {len(own_tags)}."
            )
        rows = [
            self._rows(number, tokens, matrix, tags, names)
            for number, (tokens, matrix, tags) in enumerate(
                zip(self.tokens, self.probabilities, own_tags, strict=True), start=1
            )
        ]
        counts = [len(matrix) for matrix in rows]
        ends = np.cumsum(counts)

        def locate(row: int) -> str:
            sentence = int(np.searchsorted(ends, row, side="right"))
            return f"Sentence {sentence + 1}, token {row - int(ends[sentence]) + counts[sentence] + 1}"

        shares = list(split_rows(soft_labels.checked(np.concatenate(rows), locate, "token"), counts))
        is_labelled = self.is_labelled
        if not len(is_labelled):
            is_labelled = np.array([tags is not None for tags in own_tags], bool)
        tags = [
            own if own is not None else [names[i] for i in matrix.argmax(axis=1)]  # type: ignore[union-attr]
            for own, matrix in zip(own_tags, shares, strict=True)
        ]
        values = {"probabilities": shares, "tag_names": names, "is_labelled": is_labelled, "tags": tags}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @staticmethod
    def _rows(
        number: int,
        tokens: Sequence[str],
        matrix: npt.ArrayLike | None,
        tags: Sequence[str] | None,
        names: tuple[str, ...],
    ) -> np.ndarray:
        """Return the probabilities of a sentence as an array, or of its tags alone."""
        import numpy as np

        if tags is not None and not isinstance(tags, str):
            for tag in tags:
                if tag not in names:
                    raise checks.unknown_name(f"tag for the probabilities of sentence {number}:", str(tag), names)
        if matrix is None:
            if tags is None or len(tags) != len(tokens):
                raise ValueError(f"Sentence {number} has neither a tag nor probabilities for each token.")
            return np.eye(len(names))[[names.index(tag) for tag in tags]]
        try:
            rows = np.asarray(matrix, np.float64)
        except (TypeError, ValueError):
            raise TypeError(
                f"Sentence {number}: probabilities must be numbers (tokens, tags); received {matrix!r:.80}."
            ) from None
        if rows.shape != (len(tokens), len(names)) or not len(tokens):
            raise ValueError(
                f"Sentence {number} has {len(tokens)} tokens, and there are {len(names)} tags; received probabilities "
                f"of shape {rows.shape}."
            )
        return rows

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        return f"<TaggedSplit: {len(self):,} sentences, {self.num_tokens:,} tokens>"

    def select(self, indices: Sequence[int]) -> TaggedSplit:
        """Return the sentences with these indices, in their order, with their tags."""
        lines = [self.lines[i] for i in indices] if self.lines else ()
        soft: dict[str, Any] = {"is_labelled": self.labelled[list(indices)]} if len(self.is_labelled) else {}
        if self.is_soft and len(indices):
            soft |= {"probabilities": [self.probabilities[i] for i in indices]}
            soft |= {"tag_names": self.tag_names, "teachers": self.teachers}
        return TaggedSplit([self.tokens[i] for i in indices], [self.tags[i] for i in indices], lines, **soft)

    def with_hard_tags(self) -> TaggedSplit:
        """Return the sentences with their tags alone. ``labelled`` still says which are their own."""
        return TaggedSplit(self.tokens, self.tags, self.lines, is_labelled=self.is_labelled)

    def held_out(self, size: int, generator: np.random.Generator | None = None) -> tuple[TaggedSplit, TaggedSplit]:
        """Return the sentences without some of them, and these with their tags alone.

        Sentences with tags of their own are held out, and others only if there are none.

        Args:
            size: The number of sentences to hold out.
            generator: Chooses them. None takes the last ones.
        """
        import numpy as np

        places = np.flatnonzero(self.labelled) if self.labelled.any() else np.arange(len(self))
        dev_places = places[-size:] if generator is None else places[generator.permutation(len(places))[:size]]
        is_out = np.zeros(len(self), bool)
        is_out[dev_places] = True
        train, dev = (self.select(np.flatnonzero(mask).tolist()) for mask in (~is_out, is_out))
        return train, dev.with_hard_tags()

    @property
    def num_own(self) -> int:
        """The number of sentences with tags of their own, or of all if none has any."""
        return int(self.labelled.sum()) or len(self)

    def renamed(self, names: Mapping[str, str]) -> TaggedSplit:
        """Return the sentences with other names of their tags. Probabilities of tags with one name are added up.

        Args:
            names: The new name of each tag.

        Example:
            >>> split = TaggedSplit([["Wow"]], None, probabilities=[[[0.2, 0.5, 0.3]]], tag_names=["A", "B", "C"])
            >>> merged = split.renamed({"A": "X", "B": "Y", "C": "X"})
            >>> merged.tags, merged.tag_names, merged.probabilities[0].tolist()
            ([['Y']], ('X', 'Y'), [[0.5, 0.5]])
        """
        import numpy as np

        tags = [[names[tag] for tag in own] for own in self.tags]
        if not self.is_soft:
            return replace(self, tags=tags)
        new = tuple(sorted({names[tag] for tag in self.tag_names}))
        matrix = np.array([[float(names[tag] == name) for name in new] for tag in self.tag_names])
        return replace(self, tags=tags, tag_names=new, probabilities=[rows @ matrix for rows in self.probabilities])

    @property
    def num_tokens(self) -> int:
        """The number of tokens of all sentences."""
        return sum(map(len, self.tokens))


@dataclass(frozen=True, repr=False)
class TaggingCorpus(AnyCorpus):
    """Sentences to train a tagger on. ``dev`` and ``test`` are None if the corpus has none.

    ``columns`` are the options that name the columns of tokens and tags in a user's own file. Bundles record them.
    ``dev_is_end_of_train`` says that ``dev`` was cut off the training file, which had no dev file beside it.

    Only ``train`` may have soft labels: scores need the right tags.

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
    dev_is_end_of_train: bool = field(default=False, kw_only=True, compare=False)

    @functools.cached_property
    def tag_names(self) -> tuple[str, ...]:
        """The tags that occur in ``train``, or that its probabilities are of, sorted."""
        return tuple(sorted(set(self.train.tag_names).union(*self.train.tags)))

    def with_dev(self, fraction: float = 0.1, seed: int = 0) -> TaggingCorpus:
        """Hold out part of the training sentences as ``dev``. A corpus that has a ``dev`` stays itself.

        Of sentences with soft labels, those with tags of their own are held out, and others only if there are none.

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

        size = max(1, round(self.train.num_own * fraction))
        if size >= len(self.train):
            raise ValueError(f"fraction={fraction!r} of {len(self.train)} training sentences leaves none to train on.")
        train, dev = self.train.held_out(size, np.random.Generator(np.random.PCG64(seed)))
        return replace(self, train=train, dev=dev)

    def with_train(self, corpus: TaggingCorpus) -> TaggingCorpus:
        """Return the corpus with the training sentences of another one, such as those that a teacher has tagged.

        Args:
            corpus: The other corpus.

        Raises:
            ValueError: A tag that this corpus does not have, with near matches.

        Example:
            >>> mine = TaggingCorpus("mine", TaggedSplit([["a"]], [["DET"]]), None, TaggedSplit([["an"]], [["DET"]]))
            >>> other = TaggingCorpus("other", TaggedSplit([["the"], ["a"]], [["DET"]] * 2), None, None)
            >>> print(mine.with_train(other))
            mine: 2 train (2 tokens), 1 test (1 tokens) sentences; 1 tags: DET
        """
        for name in corpus.tag_names:
            if name not in self.tag_names:
                raise checks.unknown_name(f"tag for {self.name}:", name, self.tag_names)
        train = corpus.train
        if corpus.dev_is_end_of_train and corpus.dev is not None:  # this corpus has a dev part of its own
            train = TaggedSplit([*train.tokens, *corpus.dev.tokens], [*train.tags, *corpus.dev.tags])
        return replace(self, train=train)

    @staticmethod
    def _first(part: TaggedSplit, number: int) -> TaggedSplit:
        return part.select(range(min(number, len(part))))

    def __repr__(self) -> str:
        return f"<TaggingCorpus {self}>"

    def __str__(self) -> str:
        splits = {"train": self.train, "dev": self.dev, "test": self.test}
        sizes = ", ".join(f"{len(s):,} {part} ({s.num_tokens:,} tokens)" for part, s in splits.items() if s is not None)
        return f"{self.name}: {sizes} sentences; {len(self.tag_names)} tags: {first_names(self.tag_names)}"


def merge_rare_tags(corpus: TaggingCorpus, min_tag_count: int) -> TaggingCorpus:
    """Return the corpus with ``RARE`` in place of tags that are rare in training.

    A model may learn ``RARE`` and predict it, which does not say which tag was meant: score with ``is_right``. The
    probabilities of rare tags are added up. Dev and test keep their tags: a token whose tag is rare, or not in train at
    all, always counts as wrong, and so does a span that it is a part of.

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
    frequent = {tag for tag in corpus.tag_names if counts[tag] >= min_tag_count and tag != RARE}
    if min_tag_count == 1 and corpus.train.is_soft:  # a tag may be likely without being the likeliest anywhere
        frequent = set(corpus.tag_names)
    if not frequent:
        (tag, count), *_ = counts.most_common(1)
        raise ValueError(
            f"min_tag_count={min_tag_count} leaves no tags; the most frequent is {tag} with {count:,} tokens in train."
        )

    return replace(
        corpus, train=corpus.train.renamed({tag: tag if tag in frequent else RARE for tag in corpus.tag_names})
    )


def is_right(gold: str, predicted: str) -> bool:
    """Return whether a predicted tag is right. ``RARE`` never is.

    Example:
        >>> is_right("NOUN", "NOUN"), is_right("RARE", "RARE")
        (True, False)
    """
    return gold == predicted != RARE
