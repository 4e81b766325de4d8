"""Vocabulary: which words a model knows, in which order, and the graph that turns raw text into their ids."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from dense_lstm_zoo import checks
from dense_lstm_zoo.data.text import StringLayer, Tokenizer
from dense_lstm_zoo.data.token_ids import (
    MAX_CHARS,
    PADDING,
    UNKNOWN,
    lookup_table,
    pad_ids,
    split_characters,
    word_characters,
)
from dense_lstm_zoo.data.vectors import VectorReport, read_vectors

_CHUNK = 4096  # texts turned into ids in one call


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class TextToIds(StringLayer):
    """Raw text to word ids: tokenise, fold case, look up. The input pipeline and exported models share it.

    Id 0 is padding and 1 unknown; ``words[i]`` has id i + 2, and so have characters.

    Args:
        words: The words, folded to lower case.
        oov: What becomes of other words: ``"unk"`` gives them id 1, ``"drop"`` leaves them out (D9).
        chars: The characters of words, folded too, for models that read them; empty for others.

    Call arguments:
        inputs: A tensor of strings (batch,), or a list or array of them.

    Returns:
        A ragged tensor of int32 ids (batch, (tokens)); a text without any known word is one unknown word, so that no
        row is empty.

    Example:
        >>> TextToIds(["good", "film"], oov="drop")(["A GOOD film", ""]).to_list()
        [[2, 3], [1]]
    """

    def __init__(self, words: Sequence[str], oov: str = "unk", chars: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.words, self.chars = list(words), chars
        self.oov = checks.one_of("oov", oov, ("drop", "unk"))
        self.tokenizer = Tokenizer()
        self.table = lookup_table(self.words, -1 if oov == "drop" else UNKNOWN)
        self.char_table = lookup_table(list(chars)) if chars else None

    def call(self, inputs: Any) -> tf.RaggedTensor:
        """Turn texts into ids of words."""
        return self._ids(self._look_up(inputs)[1])

    def read(self, inputs: Any) -> tuple[tf.RaggedTensor, dict[str, tf.RaggedTensor]]:
        """Return the tokens that a model reads, case kept, and their ids.

        A text without any known word is one token, ``""``. The ids are ``token_ids`` (batch, (tokens)) and, with
        ``chars``, ``char_ids`` (batch, (tokens), 24).
        """
        tokens, ids = self._look_up(inputs)
        tokens, found = self._readable(tokens, ids, tf.constant("")), {"token_ids": self._ids(ids)}
        if self.char_table is not None:
            characters = split_characters(self.char_table, fold(tokens).flat_values)
            found["char_ids"] = tokens.with_flat_values(word_characters(characters))
        return tokens, found

    def _ids(self, ids: tf.RaggedTensor) -> tf.RaggedTensor:
        return self._readable(ids, ids, tf.constant(UNKNOWN, tf.int32))

    def _look_up(self, inputs: Any) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """Return tokens and their ids, -1 for those to leave out."""
        tokens = self.tokenizer(inputs)
        return tokens, tokens.with_flat_values(tf.cast(self.table.lookup(fold(tokens).flat_values), tf.int32))

    def _readable(self, values: tf.RaggedTensor, ids: tf.RaggedTensor, filler: tf.Tensor) -> tf.RaggedTensor:
        """Leave out the values whose id is -1, and put one into each row that is empty then."""
        if self.oov == "drop":
            values = tf.ragged.boolean_mask(values, ids.with_flat_values(ids.flat_values >= 0))
        is_empty = tf.cast(values.row_lengths() == 0, tf.int64)
        fillers = tf.fill([tf.reduce_sum(is_empty)], filler)
        return tf.concat([values, tf.RaggedTensor.from_row_lengths(fillers, is_empty, validate=False)], axis=1)

    @property
    def signature(self) -> Any:
        """What models take: padded ids of words (batch, time), with those of characters in a dictionary."""
        token_ids = tf.TensorSpec((None, None), tf.int32, name="token_ids")
        if self.char_table is None:
            return token_ids
        char_ids = tf.TensorSpec((None, None, MAX_CHARS), tf.int32, name="char_ids")
        return {"token_ids": token_ids, "char_ids": char_ids}

    def padded(self, inputs: Any) -> Any:
        """Return what ``signature`` says, right-padded with 0, time at least 1 also for an empty batch."""
        return pad_features(self.read(inputs)[1])

    def encode(self, texts: Iterable[str | bytes]) -> list[Any]:
        """Return the ids of each text: an int32 array (tokens,), or a dictionary of arrays (tokens, ...)."""
        texts = to_bytes(texts)
        rows: list[Any] = []
        for start in range(0, len(texts), _CHUNK):
            chunk = tf.constant(texts[start : start + _CHUNK])
            if self.char_table is None:
                rows.extend(_split(self(chunk)))
            else:
                found = {name: _split(ids) for name, ids in self.read(chunk)[1].items()}
                rows.extend(dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True))
        return rows

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        return {**super().get_config(), "words": self.words, "oov": self.oov, "chars": self.chars}


def _split(ids: tf.RaggedTensor) -> list[np.ndarray]:
    return np.split(ids.values.numpy(), ids.row_splits.numpy()[1:-1])


def pad_features(features: dict[str, tf.RaggedTensor]) -> Any:
    """Return ids padded, as models take them: a single feature without its dictionary."""
    padded = {name: pad_ids(ids) for name, ids in features.items()}
    return padded if len(padded) > 1 else padded["token_ids"]


def to_bytes(texts: Iterable[str | bytes]) -> list[bytes]:
    """Return texts in UTF-8; half a surrogate pair, which a ``str`` can hold and UTF-8 cannot, becomes ``?``."""
    return [text if isinstance(text, bytes) else text.encode("utf-8", "replace") for text in texts]


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


@dataclass(frozen=True)
class Vocabulary:
    """The words of a model: first those of the training texts, then frozen ones that only the vectors know.

    Args:
        words: Words in the order of their ids; ``words[i]`` has id i + 2.
        num_frozen_words: How many of the last words are frozen.
        oov: Policy for other words, as in ``TextToIds``.
        chars: Characters, most frequent first; empty for models that read none.
    """

    words: tuple[str, ...]
    num_frozen_words: int = 0
    oov: str = "unk"
    chars: str = ""

    @property
    def size(self) -> int:
        """Number of ids, padding and unknown included."""
        return len(self.words) + 2

    @property
    def num_chars(self) -> int:
        """Number of character ids, padding and unknown included."""
        return len(self.chars) + 2

    def text_to_ids(self) -> TextToIds:
        """Return the layer that turns texts into ids."""
        return TextToIds(self.words, self.oov, self.chars)

    def write(self, path: Path) -> None:
        """Write one word a line; tokens hold no white space. The rest belongs to the config."""
        path.write_text("".join(f"{word}\n" for word in self.words), encoding="utf-8", newline="\n")

    @classmethod
    def read(cls, path: Path, **config: Any) -> Vocabulary:
        """Read what ``write`` wrote; ``config`` is all but the words."""
        return cls(tuple(path.read_text(encoding="utf-8").split("\n")[:-1]), **config)


@dataclass(frozen=True)
class BuiltVocabulary:
    """A vocabulary with its initial word vectors (vocabulary size, dim), their coverage and the reader's report.

    ``vocabulary`` is for models that read words alone; ``with_chars`` is for those that read their characters too.
    """

    vocabulary: Vocabulary
    chars: str
    matrix: np.ndarray | None = None
    coverage: Coverage | None = None
    report: VectorReport | None = None

    @property
    def with_chars(self) -> Vocabulary:
        """The vocabulary with the characters of the training texts."""
        return dataclasses.replace(self.vocabulary, chars=self.chars)


def tokenize_folded(texts: Iterable[str]) -> list[list[str]]:
    """Return the tokens of each text, folded to lower case, as models look words up.

    Example:
        >>> tokenize_folded(["It DOESN'T."])
        [['it', 'does', "n't", '.']]
    """
    return [[token.decode() for token in row] for tokens in _folded(texts) for row in tokens.to_list()]


def count_words(texts: Iterable[str]) -> Counter[str]:
    """Count the tokens of ``texts``, folded to lower case, with the models' own tokeniser."""
    counts = Counter[bytes]()
    for tokens in _folded(texts):
        counts.update(tokens.flat_values.numpy().tolist())
    return Counter({word.decode(): count for word, count in counts.items() if word})


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


def fold(tokens: tf.RaggedTensor) -> tf.RaggedTensor:
    """Return tokens in lower case, as words are looked up."""
    return tokens.with_flat_values(tf_text.case_fold_utf8(tokens.flat_values))


def _folded(texts: Iterable[str]) -> Iterator[tf.RaggedTensor]:
    tokenizer, encoded = Tokenizer(), to_bytes(texts)
    for start in range(0, len(encoded), _CHUNK):
        yield fold(tokenizer(tf.constant(encoded[start : start + _CHUNK])))


def build_vocabulary(
    texts: Iterable[str], *, vectors: str | Path | None = None, vector_words: int = 50_000, oov: str | None = None
) -> BuiltVocabulary:
    """Make the vocabulary of training texts and, with a vector file, of its most frequent words.

    Without vectors every training word is in. With vectors a training word needs a vector (D9): the trained rows
    come first, most frequent in training first, then the file's first ``vector_words`` words that are not among them.

    Args:
        texts: The training texts, nothing else.
        vectors: A file that ``read_vectors`` takes.
        vector_words: How many of the file's first words to know beside the training words.
        oov: ``"drop"`` (default with vectors) or ``"unk"`` (default without).

    Raises:
        ValueError: An unknown policy, ``"drop"`` without vectors, vectors that cover no training word.
        FileNotFoundError: No such vector file.

    Example:
        >>> build_vocabulary(["a good film", "a bad film"]).vocabulary.words
        ('a', 'film', 'good', 'bad')
    """
    oov = checks.one_of("oov", oov or ("drop" if vectors else "unk"), ("drop", "unk"))
    if vectors is None and oov == "drop":
        raise ValueError("oov='drop' needs word vectors: without them no training word is out of vocabulary.")
    counts = count_words(texts)
    chars = alphabet(counts)
    if vectors is None:
        return BuiltVocabulary(Vocabulary(tuple(w for w, _ in counts.most_common()), oov=oov), chars)
    read = read_vectors(vectors, wanted=counts.keys(), most_frequent=checks.integer("vector_words", vector_words, 0))
    row = read.index()
    trained = [word for word, _ in counts.most_common() if word in row]
    if not trained:
        raise ValueError(f"{vectors} has a vector for none of the {len(counts):,} words of the training texts.")
    frozen = [word for word in read.words if word not in counts and not any(map(str.isspace, word))]
    matrix = np.empty((len(trained) + len(frozen) + 2, read.matrix.shape[1]), np.float32)
    matrix[PADDING] = 0
    matrix[UNKNOWN] = read.matrix.mean(axis=0)
    matrix[2:] = read.matrix[[row[word] for word in (*trained, *frozen)]]
    coverage = Coverage(len(counts), len(trained), counts.total(), sum(counts[word] for word in trained))
    vocabulary = Vocabulary((*trained, *frozen), len(frozen), oov)
    return BuiltVocabulary(vocabulary, chars, matrix, coverage, read.report)
