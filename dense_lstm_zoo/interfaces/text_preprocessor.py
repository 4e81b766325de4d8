"""Raw texts and their labels to the batches of a classifier, as graph code for ``tf.data``."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from dense_lstm_zoo.classification.vocabulary import Vocabulary
from dense_lstm_zoo.data.batching import padded_length
from dense_lstm_zoo.data.text import StringLayer
from dense_lstm_zoo.data.token_ids import lookup_table
from dense_lstm_zoo.interfaces.graph_errors import check
from dense_lstm_zoo_runtime import claims

_LONGEST = 1 << 24  # tokens of a text, more than memory can hold the states of
_SHOWN = 20  # labels in an error


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class TextPreprocessor(StringLayer):
    """Raw texts to padded ids, and labels to integers, as ``TextClassifier`` reads them.

    Args:
        words: As in ``Vocabulary``.
        label_names: The labels, in the order of their integers.
        **settings: More arguments of ``Vocabulary``, and of ``keras.layers.Layer``.

    Call arguments:
        x: Texts (batch,).
        y: Their labels (batch,), names or integers. None for texts without labels.
        sample_weight: How much each text counts (batch,).

    Returns:
        Ids, (ids, labels) or (ids, labels, weights). Ids are int32 (batch, time), padded with 0 to one of few lengths,
        or a dictionary of ids of words and characters. Labels are int32 (batch,).

    Example:
        >>> preprocessor = TextPreprocessor(["good", "film"], ["no", "yes"])
        >>> ids, labels = preprocessor(["A good film", ""], ["yes", "no"])
        >>> ids.numpy().tolist(), labels.numpy().tolist()
        ([[1, 2, 3, 0], [1, 0, 0, 0]], [1, 0])
    """

    def __init__(
        self,
        words: Sequence[str],
        label_names: Sequence[str],
        *,
        num_frozen_words: int = 0,
        oov: str = "unk",
        chars: str = "",
        max_tokens: int | None = None,
        tokenizer: int = 1,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        if strange := [word for word in words if not isinstance(word, str)]:
            raise ValueError(f"words must be strings; one is {claims.short(strange[0])}")
        words = claims.distinct(list(words))
        text: dict[str, Any] = {
            "num_frozen_words": num_frozen_words,
            "oov": oov,
            "chars": chars,
            "tokenizer": tokenizer,
        }
        claims.text_settings(text if max_tokens is None else {**text, "max_tokens": max_tokens})
        claims.labels(list(label_names))
        self.vocabulary = Vocabulary(tuple(words), num_frozen_words, oov, chars, max_tokens, tokenizer)
        self.label_names = tuple(label_names)
        self.text_to_ids = self.vocabulary.text_to_ids()
        self._label_table = lookup_table(self.label_names)  # counts from 2, with 1 for others

    @classmethod
    def of(cls, vocabulary: Vocabulary, label_names: Sequence[str]) -> TextPreprocessor:
        """Return the preprocessor of a vocabulary and labels."""
        settings = dataclasses.asdict(vocabulary)
        return cls(label_names=label_names, **settings)

    def __call__(self, x: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Skip Keras's call, which takes no labels."""
        padded = tf.nest.map_structure(to_few_lengths, self.text_to_ids.padded(tf.convert_to_tensor(x, tf.string)))
        if y is None:
            return padded
        return keras.utils.pack_x_y_sample_weight(padded, self.label_ids(y), sample_weight)

    def label_ids(self, labels: Any) -> tf.Tensor:
        """Return labels, names or integers, as int32 of their shape.

        Raises:
            TypeError: Labels that are neither.
            tf.errors.InvalidArgumentError: A label that is not among ``label_names``.
        """
        labels, most = tf.convert_to_tensor(labels), len(self.label_names)
        is_named = labels.dtype == tf.string
        if not is_named and not labels.dtype.is_integer and labels.dtype != tf.bool:
            raise TypeError(f"Labels must be names or integers; received {labels.dtype.name}.")
        ids = tf.cast(self._label_table.lookup(labels) - 2 if is_named else labels, tf.int32)
        wrong = tf.boolean_mask(labels, (ids < 0) | (ids >= most))[:1]
        first = tf.strings.reduce_join(wrong if is_named else tf.strings.as_string(wrong))
        names = ", ".join(self.label_names[:_SHOWN]) + (", ..." if most > _SHOWN else "")
        accepted = names if is_named else f"integers from 0 to {most - 1}, or names: {names}"
        with tf.control_dependencies(
            [check(tf.size(wrong) == 0, tf.strings.join(["Unknown label ", first, f". Accepted: {accepted}."]))]
        ):
            return tf.identity(ids)

    @property
    def text_settings(self) -> dict[str, Any]:
        """The ``text`` of a bundle's config: how a model reads text, without the words."""
        vocabulary = self.vocabulary
        settings = {"num_frozen_words": vocabulary.num_frozen_words, "oov": vocabulary.oov, "chars": vocabulary.chars}
        if vocabulary.max_tokens is not None:
            settings["max_tokens"] = vocabulary.max_tokens
        return settings if vocabulary.tokenizer == 1 else {**settings, "tokenizer": vocabulary.tokenizer}

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        own = {"words": list(self.vocabulary.words), "label_names": list(self.label_names)}
        return {**super().get_config(), **own, **self.text_settings}


def to_few_lengths(ids: tf.Tensor) -> tf.Tensor:
    """Return padded ids (batch, time, ...) with more padding, to the next of the lengths of ``padded_length``."""
    lengths = [padded_length(1)]
    while lengths[-1] < _LONGEST:
        lengths.append(padded_length(lengths[-1] + 1))
    time = tf.shape(ids)[1]
    length = tf.gather(tf.constant(lengths), tf.searchsorted(tf.constant(lengths), time[None])[0])
    return tf.pad(ids, [[0, 0], [0, length - time], *([[0, 0]] * (len(ids.shape) - 2))])
