"""The words and characters that a tagger knows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dense_lstm_zoo import checks
from dense_lstm_zoo.data import word_source
from dense_lstm_zoo.data.carried_words import carry_words, more_characters
from dense_lstm_zoo.data.token_ids import PADDING, UNKNOWN, TokensToIds
from dense_lstm_zoo.data.vectors import VectorReport
from dense_lstm_zoo.data.words import Coverage, UncoveredError, alphabet, is_unspaced, read_words, write_words
from dense_lstm_zoo_runtime import unicode
from dense_lstm_zoo_runtime.rules import NEWEST


@dataclass(frozen=True)
class TaggingVocabulary:
    """Words (folded, digits as 9) and characters of a tagger, in the order of their ids. Both start at id 2.

    Args:
        words: First those of the training sentences, then frozen ones from the vector file.
        chars: The characters, in one string.
        num_frozen_words: How many of the last words are frozen.
        case: Kinds of capitalisation. See ``TokensToIds``.
        whole_words: Whether the model reads all characters of a word, besides its first and last ones.
        tokenizer: The version of the rules that split raw sentences, as in ``Tokenizer``.
    """

    words: tuple[str, ...]
    chars: str
    num_frozen_words: int = 0
    case: str | None = "binary"
    whole_words: bool = False
    tokenizer: int = 1

    @property
    def size(self) -> int:
        """Number of word ids, padding and unknown included."""
        return len(self.words) + 2

    @property
    def num_chars(self) -> int:
        """Number of character ids, padding and unknown included."""
        return len(self.chars) + 2

    @property
    def settings(self) -> dict[str, Any]:
        """Everything but the words, without a default that a later version added: the ``text`` of a bundle's config."""
        settings = {"chars": self.chars, "num_frozen_words": self.num_frozen_words}
        settings |= {"case": self.case, "whole_words": self.whole_words}
        return settings | ({} if self.tokenizer == 1 else {"tokenizer": self.tokenizer})

    def tokens_to_ids(self) -> TokensToIds:
        """Return the layer that turns tokens into ids."""
        return TokensToIds(self.words, list(self.chars), case=self.case or "binary", whole_words=self.whole_words)

    def write(self, path: Path) -> None:
        """Write one word per line. The characters and the rest belong in the config."""
        write_words(path, self.words)

    @classmethod
    def read(cls, path: Path, **config: Any) -> TaggingVocabulary:
        """Read what ``write`` wrote. ``config`` holds everything but the words."""
        return cls(tuple(read_words(path)), **config)


@dataclass(frozen=True)
class BuiltTaggingVocabulary:
    """A vocabulary with its initial word vectors (size, dim), their coverage and the reader's report.

    ``new`` counts the words that a source, if there is one, does not know. ``is_unspaced`` says that phrases are words.
    """

    vocabulary: TaggingVocabulary
    matrix: np.ndarray | None = None
    coverage: Coverage | None = None
    report: VectorReport | None = None
    new: int = 0
    is_unspaced: bool = False


def build_tagging_vocabulary(
    sentences: Iterable[Sequence[str]],
    *,
    vectors: str | Path | None = None,
    vector_words: int = 50_000,
    case: str | None = "binary",
    seed: int = 1,
) -> BuiltTaggingVocabulary:
    """Build a vocabulary from training sentences and, if given, the most frequent words of a vector file.

    A word is known if it occurs twice in training or has a vector. Other training words, and tokens that contain a line
    feed, train the vector of unknown words. Known words without a vector start from a random one. Words of the file
    that no token is looked up as, such as those with digits other than 9, are left out.

    Args:
        sentences: The tokens of the training sentences, nothing else.
        vectors: A word table's name, or a file that ``read_vectors`` takes.
        vector_words: How many of the file's first words to add to the vocabulary.
        case: Kinds of capitalisation.
        seed: Seed for the random vectors.

    Raises:
        ValueError: No sentences, or a file without a vector for any training word.
        FileNotFoundError: No such vector file.

    Example:
        >>> words = build_tagging_vocabulary([["The", "cat", "saw", "the", "cat", "2048"]])
        >>> words.vocabulary.words, words.vocabulary.chars
        (('the', 'cat'), 'atceh0248Tsw')
    """
    counts, characters = _count(sentences)
    ranked = [word for word, _ in counts.most_common()]
    if vectors is None:
        words_twice = tuple(word for word in ranked if counts[word] > 1)
        vocabulary = TaggingVocabulary(words_twice, characters, case=case, tokenizer=NEWEST)
        return BuiltTaggingVocabulary(vocabulary, is_unspaced=is_unspaced(counts))
    most_frequent = checks.integer("vector_words", vector_words, 0)
    table = word_source.select_vectors(vectors, words=counts.keys(), most_frequent=most_frequent)
    row = table.index()
    covered = [word for word in ranked if word in row]
    if not covered:
        raise UncoveredError(vectors, len(counts), "sentences")
    trained = [word for word in ranked if word in row or counts[word] > 1]
    frozen = [
        word for word in table.words if word not in counts and not any(map(str.isspace, word)) and fold(word) == word
    ]
    words = (*trained, *frozen)
    spread = table.matrix.std()
    matrix = np.random.default_rng(seed).normal(0, spread, (len(words) + 2, table.matrix.shape[1])).astype(np.float32)
    matrix[PADDING] = 0
    matrix[UNKNOWN] = table.matrix.mean(axis=0)
    for i, word in enumerate(words, start=2):
        if word in row:
            matrix[i] = table.matrix[row[word]]
    coverage = Coverage.of(counts, covered)
    vocabulary = TaggingVocabulary(words, characters, len(frozen), case, tokenizer=NEWEST)
    return BuiltTaggingVocabulary(vocabulary, matrix, coverage, table.report, is_unspaced=is_unspaced(counts))


def carry_tagging_vocabulary(
    source: TaggingVocabulary,
    matrix: np.ndarray,
    sentences: Iterable[Sequence[str]],
    *,
    learns: bool,
    learns_chars: bool,
    **options: Any,
) -> BuiltTaggingVocabulary:
    """Return a source's vocabulary with the new words and characters of other training sentences.

    The tokeniser's rules stay those of the source.

    Args:
        source: The source's vocabulary.
        matrix: Its word vectors (size, dim).
        sentences: The tokens of the new training sentences, nothing else.
        learns: Whether word vectors are trained, at least in the end.
        learns_chars: Whether characters are, likewise.
        **options: ``vectors``, ``vector_words`` and ``seed``, as in ``carry_words``.

    Raises:
        ValueError: No sentences, or vectors of another length.
    """
    counts, characters = _count(sentences)
    words = carry_words(source.words, matrix, Counter(dict(counts.most_common())), learns=learns, **options)
    chars = more_characters(source.chars, characters, learns=learns_chars)
    vocabulary = TaggingVocabulary(words.words, chars, words.num_frozen, source.case, tokenizer=source.tokenizer)
    return BuiltTaggingVocabulary(
        vocabulary, words.matrix, words.coverage, words.report, words.new, is_unspaced(counts)
    )


def _count(sentences: Iterable[Sequence[str]]) -> tuple[Counter[str], str]:
    """Count folded words, and return the characters of all tokens."""
    # A lone surrogate is read as "?", as in every text.
    tokens = Counter(token.encode("utf-8", "replace").decode() for sentence in sentences for token in sentence)
    if not tokens:
        raise ValueError("A tagger needs training sentences; received none.")
    counts = Counter[str]()
    for token, count in tokens.items():
        if "\n" not in token and (word := fold(token)):
            counts[word] += count
    return counts, alphabet(tokens)


def fold(token: str) -> str:
    """Return a token in the form in which ``TokensToIds`` looks it up: lower case, digits as 9.

    Example:
        >>> fold("In-1984"), fold("…"), fold("２０")
        ('in-9999', '...', '99')
    """
    return re.sub(r"[0-9]", "9", unicode.fold(token))
