"""The vocabulary of a classifier: its words, their order and their initial vectors."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dense_lstm_zoo import checks
from dense_lstm_zoo.classification.text_ids import TextToIds
from dense_lstm_zoo.data import word_source
from dense_lstm_zoo.data.carried_words import carry_words, more_characters
from dense_lstm_zoo.data.text import folded
from dense_lstm_zoo.data.token_ids import PADDING, UNKNOWN
from dense_lstm_zoo.data.vectors import VectorReport
from dense_lstm_zoo.data.words import Coverage, UncoveredError, alphabet, is_unspaced, read_words, write_words
from dense_lstm_zoo_runtime.rules import NEWEST


@dataclass(frozen=True)
class Vocabulary:
    """The words of a model: first those of the training texts, then frozen ones from the vector file.

    Args:
        words: Words in the order of their ids. ``words[i]`` has id i + 2.
        num_frozen_words: How many of the last words are frozen.
        oov: Policy for other words, as in ``TextToIds``.
        chars: Characters, most frequent first, or empty for models that do not read them.
        max_tokens: How many tokens of a text are read, as in ``TextToIds``.
        tokenizer: The version of the tokeniser's rules, as in ``Tokenizer``.
    """

    words: tuple[str, ...]
    num_frozen_words: int = 0
    oov: str = "unk"
    chars: str = ""
    max_tokens: int | None = None
    tokenizer: int = 1

    @property
    def size(self) -> int:
        """Number of ids, padding and unknown included."""
        return len(self.words) + 2

    @property
    def num_chars(self) -> int:
        """Number of character ids, padding and unknown included."""
        return len(self.chars) + 2

    @property
    def settings(self) -> dict[str, Any]:
        """Everything but the words, without defaults that later versions added: the ``text`` of a bundle's config."""
        settings = {"num_frozen_words": self.num_frozen_words, "oov": self.oov, "chars": self.chars}
        settings |= {} if self.max_tokens is None else {"max_tokens": self.max_tokens}
        return settings | ({} if self.tokenizer == 1 else {"tokenizer": self.tokenizer})

    def text_to_ids(self) -> TextToIds:
        """Return the layer that turns texts into ids."""
        return TextToIds(self.words, self.oov, self.chars, self.max_tokens, self.tokenizer)

    def write(self, path: Path) -> None:
        """Write one word per line (words hold no white space). The rest belongs in the config."""
        write_words(path, self.words)

    @classmethod
    def read(cls, path: Path, **config: Any) -> Vocabulary:
        """Read what ``write`` wrote. ``config`` holds everything but the words."""
        return cls(tuple(read_words(path)), **config)


@dataclass(frozen=True)
class BuiltVocabulary:
    """A vocabulary with its initial word vectors (vocabulary size, dim), their coverage and the reader's report.

    ``vocabulary`` is for models that read only words. ``with_chars`` is for those that also read characters. ``new``
    counts the words that a source, if there is one, does not know. ``is_unspaced`` says that phrases are its words.
    """

    vocabulary: Vocabulary
    chars: str
    matrix: np.ndarray | None = None
    coverage: Coverage | None = None
    report: VectorReport | None = None
    new: int = 0
    is_unspaced: bool = False

    @property
    def with_chars(self) -> Vocabulary:
        """The vocabulary with the characters of the training texts."""
        return dataclasses.replace(self.vocabulary, chars=self.chars)


def count_words(texts: Iterable[str], *, tokenizer: int = NEWEST) -> Counter[str]:
    """Count the tokens of ``texts``, folded to lower case, with a version of the models' own tokeniser."""
    counts = Counter[bytes]()
    for tokens in folded(texts, tokenizer=tokenizer):
        counts.update(tokens.flat_values.numpy().tolist())
    return Counter({word.decode(): count for word, count in counts.items() if word})


def build_vocabulary(
    texts: Iterable[str], *, vectors: str | Path | None = None, vector_words: int = 50_000, oov: str | None = None
) -> BuiltVocabulary:
    """Build a vocabulary from training texts and, if given, the most frequent words of a vector file.

    Without vectors, every training word is known. With vectors, only training words that have one are: they come first,
    most frequent in training first, then the file's first ``vector_words`` words that are not among them.

    Args:
        texts: The training texts, nothing else.
        vectors: A word table's name, or a file that ``read_vectors`` takes.
        vector_words: How many of the file's first words to add to the vocabulary.
        oov: ``"drop"`` (default with vectors) or ``"unk"`` (default without).

    Raises:
        ValueError: An unknown policy, ``"drop"`` without vectors, a file without a vector for any training word.
        FileNotFoundError: No such vector file.

    Example:
        >>> build_vocabulary(["a good film", "a bad film"]).vocabulary.words
        ('a', 'film', 'good', 'bad')
    """
    oov = checks.one_of("oov", oov or ("drop" if vectors else "unk"), ("drop", "unk"))
    if vectors is None and oov == "drop":
        raise ValueError("oov='drop' needs word vectors: without them every training word is in the vocabulary.")
    counts = count_words(texts)
    chars = alphabet(counts)
    if vectors is None:
        return BuiltVocabulary(
            Vocabulary(tuple(w for w, _ in counts.most_common()), oov=oov, tokenizer=NEWEST),
            chars,
            is_unspaced=is_unspaced(counts),
        )
    most_frequent = checks.integer("vector_words", vector_words, 0)
    table = word_source.select_vectors(vectors, words=counts.keys(), most_frequent=most_frequent)
    row = table.index()
    trained = [word for word, _ in counts.most_common() if word in row]
    if not trained:
        raise UncoveredError(vectors, len(counts), "texts")
    frozen = [word for word in table.words if word not in counts and not any(map(str.isspace, word))]
    matrix = np.empty((len(trained) + len(frozen) + 2, table.matrix.shape[1]), np.float32)
    matrix[PADDING] = 0
    matrix[UNKNOWN] = table.matrix.mean(axis=0)
    matrix[2:] = table.matrix[[row[word] for word in (*trained, *frozen)]]
    coverage = Coverage.of(counts, trained)
    vocabulary = Vocabulary((*trained, *frozen), len(frozen), oov, tokenizer=NEWEST)
    return BuiltVocabulary(vocabulary, chars, matrix, coverage, table.report, is_unspaced=is_unspaced(counts))


def carry_vocabulary(
    source: Vocabulary,
    matrix: np.ndarray,
    texts: Iterable[str],
    *,
    learns: bool,
    learns_chars: bool,
    oov: str | None = None,
    vectors: str | Path | None = None,
    vector_words: int = 50_000,
    seed: int = 1,
) -> BuiltVocabulary:
    """Return a source's vocabulary with the new words and characters of other training texts.

    The tokeniser's rules stay those of the source.

    Args:
        source: The source's vocabulary.
        matrix: Its word vectors (size, dim).
        texts: The new training texts, nothing else.
        learns: Whether word vectors are trained, at least in the end.
        learns_chars: Whether characters are, likewise.
        oov: Policy for other words. None keeps the source's.
        vectors: A file of vectors for new words.
        vector_words: How many of its first words to add as well.
        seed: Seed for the vectors of new words without one.

    Raises:
        ValueError: An unknown policy, or vectors of another length.
    """
    oov = checks.one_of("oov", oov or source.oov, ("drop", "unk"))
    counts = Counter(dict(count_words(texts, tokenizer=source.tokenizer).most_common()))
    options: dict[str, Any] = {"vectors": vectors, "vector_words": vector_words, "seed": seed}
    words = carry_words(source.words, matrix, counts, learns=learns, **options)
    chars = more_characters(source.chars, alphabet(counts), learns=learns_chars)
    vocabulary = Vocabulary(words.words, words.num_frozen, oov, tokenizer=source.tokenizer)
    return BuiltVocabulary(
        vocabulary, chars, words.matrix, words.coverage, words.report, words.new, is_unspaced(counts)
    )
