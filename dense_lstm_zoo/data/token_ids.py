"""Token strings to what a tagger reads of them, in graph form: words, affixes, characters, capitals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf
import tensorflow_text as tf_text

from dense_lstm_zoo import checks

PADDING, UNKNOWN = 0, 1
CASES = {"binary": 2, "four_way": 4}
AFFIX = 5  # characters at either end of a word


# What models take: padded ids by name.
SIGNATURE = {
    "token_ids": tf.TensorSpec((None, None), tf.int32),
    "case_ids": tf.TensorSpec((None, None), tf.int32),
    "affix_ids": tf.TensorSpec((None, None, 2 * AFFIX), tf.int32),
}


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class TokensToIds(keras.layers.Layer):
    """Tokens, case kept, to ids; the input pipeline and exported models share it.

    Words are looked up in lower case with every digit as 9. Characters and capitals are the original's: the first five
    characters, padded on the right, with the last five, padded on the left (W10); the whole word where asked for;
    whether the first letter is a capital, or which of four kinds the word is of (no capital, the first, all, another).

    Args:
        words: The words, folded; ``words[i]`` has id i + 2, 0 being padding and 1 unknown.
        chars: The characters; the same ids.
        case: ``"binary"`` or ``"four_way"``.
        whole_words: Whether to give all characters of each word as well.

    Call arguments:
        inputs: A ragged tensor of strings (batch, (tokens)).

    Returns:
        A dictionary of ragged int32 tensors: ``token_ids`` and ``case_ids`` (batch, (tokens)), ``affix_ids`` (batch,
        (tokens), 10) and, with ``whole_words``, ``char_ids`` (batch, (tokens), (characters)). Cases start at 1.

    Example:
        >>> found = TokensToIds(["in", "9999"], list("in2048"))(tf.ragged.constant([["In", "2048"]]))
        >>> found["token_ids"].to_list(), found["case_ids"].to_list()
        ([[2, 3]], [[2, 1]])
        >>> found["affix_ids"].to_list()[0][0]
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
        super().__init__(autocast=False, **kwargs)
        self.words, self.chars = list(words), list(chars)
        self.case = checks.one_of("case", case, CASES)
        self.whole_words = whole_words
        self.word_table, self.char_table = _table(self.words), _table(self.chars)
        self.built = True

    def __call__(self, inputs: tf.RaggedTensor) -> dict[str, Any]:
        """Keras has no ragged strings: no conversion stands between."""
        return self.call(inputs)

    def call(self, inputs: tf.RaggedTensor) -> dict[str, Any]:
        """Turn tokens into ids; see the class for the arguments."""
        tokens = tf.strings.unicode_transcode(inputs.flat_values, "UTF-8", "UTF-8", errors="replace")
        words = tf.strings.regex_replace(tf_text.case_fold_utf8(tokens), r"\d", "9")
        chars = tf.strings.unicode_split(tokens, "UTF-8")
        char_ids = chars.with_flat_values(tf.cast(self.char_table.lookup(chars.flat_values), tf.int32))
        prefix = char_ids[:, :AFFIX].to_tensor(shape=(None, AFFIX))
        suffix = tf.reverse(char_ids[:, ::-1][:, :AFFIX].to_tensor(shape=(None, AFFIX)), [1])
        features = {
            "token_ids": tf.cast(self.word_table.lookup(words), tf.int32),
            "case_ids": self._cases(tokens),
            "affix_ids": tf.concat([prefix, suffix], axis=1),
        }
        if self.whole_words:
            features["char_ids"] = char_ids
        return {name: inputs.with_flat_values(values) for name, values in features.items()}

    def _cases(self, tokens: Any) -> Any:
        first = tf.strings.regex_full_match(tokens, r"\p{Lu}.*")
        if self.case == "binary":
            return 1 + tf.cast(first, tf.int32)
        any_capital = tf.strings.regex_full_match(tokens, r".*\p{Lu}.*")
        small = tf.strings.regex_full_match(tokens, r".*\p{Ll}.*")
        long = tf.strings.length(tokens, "UTF8_CHAR") > 1
        kind = tf.where(any_capital & ~small & long, 3, tf.where(first, 2, tf.where(any_capital, 4, 1)))
        return tf.cast(kind, tf.int32)

    def padded(self, inputs: tf.RaggedTensor) -> dict[str, Any]:
        """Return the ids padded with 0 to (batch, time, ...), time and characters at least 1."""
        found = {}
        for name, ids in self(inputs).items():
            dense = ids.to_tensor()
            sizes = tf.shape(dense)[1:]
            missing = tf.maximum(1 - sizes, 0)
            paddings = tf.stack([tf.zeros_like(missing), missing], axis=1)
            found[name] = tf.pad(dense, tf.concat([[[0, 0]], paddings], axis=0))
        found["affix_ids"].set_shape((None, None, 2 * AFFIX))
        return found

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        names = ("words", "chars", "case", "whole_words")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}


def _table(keys: list[str]) -> tf.lookup.StaticHashTable:
    # A table cannot be empty: a key that no text can hold keeps it open.
    strings = tf.constant(keys or ["\ufffd \ufffd"])
    ids = tf.range(2, len(strings) + 2, dtype=tf.int64)
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(strings, ids), UNKNOWN)
