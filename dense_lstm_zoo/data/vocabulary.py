"""Vocabulary: which words a model knows, in which order, and the graph that turns raw text into their ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from dense_lstm_zoo import checks
from dense_lstm_zoo.data.text import StringLayer, Tokenizer
from dense_lstm_zoo.data.vectors import VectorReport, read_vectors

PADDING, UNKNOWN = 0, 1
_CHUNK = 4096  # texts turned into ids in one call


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class TextToIds(StringLayer):
    """Raw text to word ids: tokenise, fold case, look up. The input pipeline and exported models share it.

    Id 0 is padding and 1 unknown; ``words[i]`` has id i + 2.

    Args:
        words: The words, folded to lower case.
        oov: What becomes of other words: ``"unk"`` gives them id 1, ``"drop"`` leaves them out (D9).

    Call arguments:
        inputs: A tensor of strings (batch,), or a list or array of them.

    Returns:
        A ragged tensor of int32 ids (batch, (tokens)); a text without any known word is one unknown word, so that no
        row is empty.

    Example:
        >>> TextToIds(["good", "film"], oov="drop")(["A GOOD film", ""]).to_list()
        [[2, 3], [1]]
    """

    def __init__(self, words: Sequence[str], oov: str = "unk", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.words = list(words)
        self.oov = checks.one_of("oov", oov, ("drop", "unk"))
        self.tokenizer = Tokenizer()
        # A table cannot be empty: a word that no text can hold keeps it open where there are no words.
        keys = tf.constant(self.words or ["\ufffd \ufffd"])
        ids = tf.range(2, len(keys) + 2, dtype=tf.int64)
        default = -1 if oov == "drop" else UNKNOWN
        self.table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, ids), default)

    def call(self, inputs: Any) -> tf.RaggedTensor:
        """Turn texts into ids."""
        return self._ids(self._look_up(inputs)[1])

    def with_tokens(self, inputs: Any) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """Return the tokens that the ids stand for, case kept, and the ids; a row's only unknown word is ``""``."""
        tokens, ids = self._look_up(inputs)
        return self._readable(tokens, ids, tf.constant("")), self._ids(ids)

    def _ids(self, ids: tf.RaggedTensor) -> tf.RaggedTensor:
        return self._readable(ids, ids, tf.constant(UNKNOWN, tf.int32))

    def _look_up(self, inputs: Any) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """Return tokens and their ids, -1 for those to leave out."""
        tokens = self.tokenizer(inputs)
        found = tf.cast(self.table.lookup(tf_text.case_fold_utf8(tokens.flat_values)), tf.int32)
        return tokens, tokens.with_flat_values(found)

    def _readable(self, values: tf.RaggedTensor, ids: tf.RaggedTensor, filler: tf.Tensor) -> tf.RaggedTensor:
        """Leave out the values whose id is -1, and put one into each row that is empty then."""
        if self.oov == "drop":
            values = tf.ragged.boolean_mask(values, ids.with_flat_values(ids.flat_values >= 0))
        is_empty = tf.cast(values.row_lengths() == 0, tf.int64)
        fillers = tf.fill([tf.reduce_sum(is_empty)], filler)
        return tf.concat([values, tf.RaggedTensor.from_row_lengths(fillers, is_empty, validate=False)], axis=1)

    def padded(self, inputs: Any) -> tf.Tensor:
        """Return the ids right-padded with 0 to (batch, time), time at least 1 also for an empty batch."""
        return pad_ids(self(inputs))

    def encode(self, texts: Iterable[str | bytes]) -> list[np.ndarray]:
        """Return one int32 array of ids a text."""
        texts = to_bytes(texts)
        rows: list[np.ndarray] = []
        for start in range(0, len(texts), _CHUNK):
            ids = self(tf.constant(texts[start : start + _CHUNK]))
            rows.extend(np.split(ids.flat_values.numpy(), ids.row_splits.numpy()[1:-1]))
        return rows

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        return {**super().get_config(), "words": self.words, "oov": self.oov}


def pad_ids(ids: tf.RaggedTensor) -> tf.Tensor:
    """Return ids right-padded with 0 to (batch, time), time at least 1 also for an empty batch."""
    padded = ids.to_tensor(default_value=PADDING)
    return tf.pad(padded, [[0, 0], [0, tf.maximum(0, 1 - tf.shape(padded)[1])]])


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
    """

    words: tuple[str, ...]
    num_frozen_words: int = 0
    oov: str = "unk"

    @property
    def size(self) -> int:
        """Number of ids, padding and unknown included."""
        return len(self.words) + 2

    def text_to_ids(self) -> TextToIds:
        """Return the layer that turns texts into ids."""
        return TextToIds(self.words, self.oov)

    def write(self, path: Path) -> None:
        """Write one word a line; tokens hold no white space."""
        path.write_text("".join(f"{word}\n" for word in self.words), encoding="utf-8", newline="\n")

    @classmethod
    def read(cls, path: Path, num_frozen_words: int, oov: str) -> Vocabulary:
        """Read what ``write`` wrote."""
        words = path.read_text(encoding="utf-8").split("\n")[:-1]
        return cls(tuple(words), num_frozen_words, oov)


@dataclass(frozen=True)
class BuiltVocabulary:
    """A vocabulary with its initial word vectors (vocabulary size, dim), their coverage and the reader's report."""

    vocabulary: Vocabulary
    matrix: np.ndarray | None = None
    coverage: Coverage | None = None
    report: VectorReport | None = None


def tokenize_folded(texts: Iterable[str]) -> list[list[str]]:
    """Return the tokens of each text, folded to lower case, as models look words up.

    Example:
        >>> tokenize_folded(["It DOESN'T."])
        [['it', 'does', "n't", '.']]
    """
    return [[token.decode() for token in row] for chunk in _folded(texts) for row in chunk.to_list()]


def count_words(texts: Iterable[str]) -> Counter[str]:
    """Count the tokens of ``texts``, folded to lower case, with the models' own tokeniser."""
    counts = Counter[bytes]()
    for chunk in _folded(texts):
        counts.update(chunk.flat_values.numpy().tolist())
    return Counter({word.decode(): count for word, count in counts.items() if word})


def _folded(texts: Iterable[str]) -> Iterator[tf.RaggedTensor]:
    tokenizer, encoded = Tokenizer(), to_bytes(texts)
    for start in range(0, len(encoded), _CHUNK):
        tokens = tokenizer(tf.constant(encoded[start : start + _CHUNK]))
        yield tokens.with_flat_values(tf_text.case_fold_utf8(tokens.flat_values))


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
    if vectors is None:
        if oov == "drop":
            raise ValueError("oov='drop' needs word vectors: without them no training word is out of vocabulary.")
        return BuiltVocabulary(Vocabulary(tuple(w for w, _ in count_words(texts).most_common()), oov=oov))
    counts = count_words(texts)
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
    return BuiltVocabulary(vocabulary, matrix, coverage, read.report)
