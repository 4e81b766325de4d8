"""A layer from token strings to ids of words, affixes, characters and capitalisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf
import tensorflow_text as tf_text

from dense_lstm_zoo import checks
from dense_lstm_zoo.data.graphs import graph_if_used
from dense_lstm_zoo.data.text import WordLayer
from dense_lstm_zoo.data.token_sizes import AFFIX, CASES, MAX_CHARS

PADDING, UNKNOWN = 0, 1


def lookup_table(keys: Sequence[str], default: int = UNKNOWN) -> tf.lookup.StaticHashTable:
    """Return a table from strings to ids: ``keys[i]`` has id i + 2, others have ``default``."""
    # A table cannot be empty, so an empty one gets a key that no text contains.
    strings = tf.constant(list(keys) or ["\ufffd \ufffd"])
    ids = tf.range(2, len(strings) + 2, dtype=tf.int64)
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(strings, ids), default)


def split_characters(table: tf.lookup.StaticHashTable, tokens: tf.Tensor) -> tf.RaggedTensor:
    """Return the ids of all characters of each token: strings (tokens,) to int32 (tokens, (characters))."""
    chars = tf.strings.unicode_split(tokens, "UTF-8")
    return chars.with_flat_values(tf.cast(table.lookup(chars.flat_values), tf.int32))


def word_characters(char_ids: tf.RaggedTensor) -> tf.Tensor:
    """Return the ids of each token's first characters, right-padded with 0: int32 (tokens, MAX_CHARS)."""
    return char_ids[:, :MAX_CHARS].to_tensor(shape=(None, MAX_CHARS))


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class TokensToIds(WordLayer):
    """Turn tokens with their case into ids. Training and exported models share it.

    Words are looked up in lower case with every digit as 9. Characters and capitalisation are those of the original:
    the first five characters, padded on the right, with the last five, padded on the left, and on request the whole
    word. The capitalisation is whether the first letter is a capital, or which letters are (none, the first, all,
    another).

    Args:
        words: The words, folded. ``words[i]`` has id i + 2. 0 is padding, and 1 is unknown.
        chars: The characters, with ids likewise.
        case: ``"binary"`` or ``"four_way"``.
        whole_words: Whether to return the characters of whole words as well.

    Call arguments:
        inputs: A ragged tensor of strings (batch, (tokens)).

    Returns:
        A dictionary of ragged int32 tensors: ``token_ids`` and ``case_ids`` (batch, (tokens)), ``affix_ids`` (batch,
        (tokens), 10) and, with ``whole_words``, ``char_ids`` (batch, (tokens), 24). Cases start at 1.

    Example:
        >>> ids = TokensToIds(["in", "9999"], list("in2048"))(tf.ragged.constant([["In", "2048"]]))
        >>> ids["token_ids"].to_list(), ids["case_ids"].to_list()
        ([[2, 3]], [[2, 1]])
        >>> ids["affix_ids"].to_list()[0][0]
        [1, 3, 0, 0, 0, 0, 0, 0, 1, 3]
    """

    def __init__(
        self,
        words: Sequence[str],
        chars: Sequence[str],
        *,
        case: str = "binary",
        whole_words: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(words, **kwargs)
        self.chars = list(chars)
        self.case = checks.one_of("case", case, CASES)
        self.whole_words = whole_words
        self.word_table, self.char_table = lookup_table(self.words), lookup_table(self.chars)
        self._untracked.features = graph_if_used(self._features, [tf.TensorSpec((None,), tf.string)])

    def __call__(self, inputs: tf.RaggedTensor) -> dict[str, tf.RaggedTensor]:
        """Skip Keras's input conversion, which has no ragged strings."""
        return self.call(inputs)

    def call(self, inputs: tf.RaggedTensor) -> dict[str, tf.RaggedTensor]:
        """Turn tokens into ids. See the class for the arguments."""
        return {name: inputs.with_flat_values(values) for name, values in self._features(inputs.flat_values).items()}

    def of_tokens(self, tokens: tf.Tensor) -> dict[str, tf.Tensor]:
        """Return the features of tokens (tokens,), each (tokens, ...). See the class for their names."""
        features: dict[str, tf.Tensor] = self._untracked.features(tokens)
        return features

    def _features(self, tokens: tf.Tensor) -> dict[str, tf.Tensor]:
        tokens = tf.strings.unicode_transcode(tokens, "UTF-8", "UTF-8", errors="replace")
        words = tf.strings.regex_replace(tf_text.case_fold_utf8(tokens), r"\d", "9")
        char_ids = split_characters(self.char_table, tokens)
        prefix = char_ids[:, :AFFIX].to_tensor(shape=(None, AFFIX))
        suffix = tf.reverse(char_ids[:, ::-1][:, :AFFIX].to_tensor(shape=(None, AFFIX)), [1])
        features = {
            "token_ids": tf.cast(self.word_table.lookup(words), tf.int32),
            "case_ids": self._cases(tokens),
            "affix_ids": tf.concat([prefix, suffix], axis=1),
        }
        if self.whole_words:
            features["char_ids"] = word_characters(char_ids)
        return features

    def _cases(self, tokens: tf.Tensor) -> tf.Tensor:
        first = tf.strings.regex_full_match(tokens, r"\p{Lu}.*")
        if self.case == "binary":
            return 1 + tf.cast(first, tf.int32)
        any_capital = tf.strings.regex_full_match(tokens, r".*\p{Lu}.*")
        small = tf.strings.regex_full_match(tokens, r".*\p{Ll}.*")
        long = tf.strings.length(tokens, "UTF8_CHAR") > 1
        kind = tf.where(any_capital & ~small & long, 3, tf.where(first, 2, tf.where(any_capital, 4, 1)))
        return tf.cast(kind, tf.int32)

    @property
    def signature(self) -> dict[str, tf.TensorSpec]:
        """The models' input: padded ids by name."""
        sizes: dict[str, tuple[int, ...]] = {"token_ids": (), "case_ids": (), "affix_ids": (2 * AFFIX,)}
        if self.whole_words:
            sizes["char_ids"] = (MAX_CHARS,)
        return {name: tf.TensorSpec((None, None, *size), tf.int32) for name, size in sizes.items()}

    def padded(self, inputs: tf.RaggedTensor) -> dict[str, tf.Tensor]:
        """Return the ids padded with 0 to (batch, time, ...), time at least 1."""
        return {name: pad_ids(ids) for name, ids in self(inputs).items()}

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        names = ("words", "chars", "case", "whole_words")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}


def pad_ids(ids: tf.RaggedTensor) -> tf.Tensor:
    """Return ids right-padded with 0 to (batch, time, ...), time at least 1, even for an empty batch."""
    padded = ids.to_tensor(default_value=PADDING)
    more = tf.maximum(0, 1 - tf.shape(padded)[1])
    return tf.pad(padded, [[0, 0], [0, more], *([[0, 0]] * (len(padded.shape) - 2))])
