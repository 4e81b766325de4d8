"""Raw text and its labels to the batches of a Keras task, as graph code for ``tf.data``."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Self, TypeAlias

import keras
import tensorflow as tf

from dense_lstm_zoo.classification.vocabulary import Vocabulary
from dense_lstm_zoo.data.batching import Ids, program_length
from dense_lstm_zoo.data.text import StringLayer, Tokenizer
from dense_lstm_zoo.data.token_ids import lookup_table
from dense_lstm_zoo.interfaces.graph_errors import check
from dense_lstm_zoo.interfaces.inputs import Labels, SampleWeights, Sentences, Texts
from dense_lstm_zoo.tagging.vocabulary import TaggingVocabulary
from dense_lstm_zoo_runtime import claims
from dense_lstm_zoo_runtime.decisions import SEVERAL

# A batch as Keras takes it: ids, or with labels, or with labels and weights.
Batch: TypeAlias = "Ids | tuple[Ids, tf.Tensor] | tuple[Ids, tf.Tensor, SampleWeights]"
_LONGEST = 1 << 24  # tokens of a text, more than memory can hold the states of
_SHOWN = 20  # labels in an error


class Preprocessor(StringLayer):
    """The words, and the labels, of a Keras task.

    Args:
        words: The words of the vocabulary.
        label_names: The labels, in the order of their integers.
        text: How the model reads text, the ``text`` of a bundle's config.
        **settings: Arguments of ``keras.layers.Layer``.

    Raises:
        ValueError: A setting that is not one, a word or a label that occurs twice or is not a string.
    """

    vocabulary: Vocabulary | TaggingVocabulary

    def __init__(self, words: Sequence[str], label_names: Sequence[str], text: dict[str, Any], **settings: Any) -> None:
        super().__init__(**settings)
        check_words(words)
        claims.distinct(list(words))
        claims.text_settings(text)
        self.label_names = tuple(claims.labels(list(label_names)))
        self._label_table = lookup_table(self.label_names)  # counts from 2, with 1 for others

    @classmethod
    def of(cls, vocabulary: Vocabulary | TaggingVocabulary, label_names: Sequence[str], **settings: Any) -> Self:
        """Return the preprocessor of a vocabulary and labels, with more of its own arguments."""
        return cls(label_names=label_names, **dataclasses.asdict(vocabulary), **settings)

    def label_ids(self, labels: Labels) -> tf.Tensor:
        """Return labels, names or integers, as int32 of their shape.

        Raises:
            TypeError: Labels that are neither.
            tf.errors.InvalidArgumentError: A label that is not among ``label_names``.
        """
        values, most = tf.convert_to_tensor(labels), len(self.label_names)
        is_named = values.dtype == tf.string
        if not is_named and not values.dtype.is_integer and values.dtype != tf.bool:
            raise TypeError(f"Labels must be names or integers; received {values.dtype.name}.")
        ids = tf.cast(self._label_table.lookup(values) - 2 if is_named else values, tf.int32)
        wrong = tf.boolean_mask(values, (ids < 0) | (ids >= most))[:1]
        first = tf.strings.reduce_join(wrong if is_named else tf.strings.as_string(wrong))
        names = ", ".join(self.label_names[:_SHOWN]) + (", ..." if most > _SHOWN else "")
        accepted = names if is_named else f"integers from 0 to {most - 1}, or names: {names}"
        with tf.control_dependencies(
            [check(tf.size(wrong) == 0, tf.strings.join(["Unknown label ", first, f". Accepted: {accepted}."]))]
        ):
            return tf.identity(ids)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        own = {"words": list(self.vocabulary.words), "label_names": list(self.label_names)}
        return {**super().get_config(), **own, **self.vocabulary.settings}


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class TextPreprocessor(Preprocessor):
    """Raw texts to padded ids, and labels to integers, as ``TextClassifier`` reads them.

    Args:
        words: As in ``Vocabulary``.
        label_names: The labels, in the order of their integers.
        labels: The labels of a text: ``one``, or ``several``, which may also be none.
        **settings: More arguments of ``Vocabulary``, and of ``keras.layers.Layer``.

    Call arguments:
        x: Texts (batch,), or a column of them (batch, 1).
        y: Their labels (batch,), names or integers. Of several, 0 and 1 (batch, labels), or a ragged tensor of names or
            integers (batch, (labels)). None for texts without labels.
        sample_weight: How much each text counts (batch,).

    Returns:
        Ids, (ids, labels) or (ids, labels, weights). Ids are int32 (batch, time), padded with 0 to one of few lengths,
        or a dictionary of ids of words and characters. Labels are int32 (batch,), or of several float32 (batch,
        labels), 0 and 1.

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
        labels: str = "one",
        num_frozen_words: int = 0,
        oov: str = "unk",
        chars: str = "",
        max_tokens: int | None = None,
        tokenizer: int = 1,
        **settings: Any,
    ) -> None:
        text = {"num_frozen_words": num_frozen_words, "oov": oov, "chars": chars, "tokenizer": tokenizer}
        text |= {} if max_tokens is None else {"max_tokens": max_tokens}
        super().__init__(words, label_names, text, **settings)
        self.vocabulary = Vocabulary(tuple(words), num_frozen_words, oov, chars, max_tokens, tokenizer)
        self.text_to_ids = self.vocabulary.text_to_ids()
        self.labels = labels

    def __call__(self, x: Texts, y: Labels | None = None, sample_weight: SampleWeights | None = None) -> Batch:
        """Skip Keras's call, which takes no labels."""
        texts = tf.convert_to_tensor(x, tf.string)
        if texts.shape.rank == 2 and texts.shape[1] == 1:  # a column
            texts = texts[:, 0]
        padded = tf.nest.map_structure(to_few_lengths, self.text_to_ids.padded(texts))
        if y is None:
            return padded
        labels = self._label_sets(y) if self.labels == SEVERAL else self._one_label_each(y)
        return keras.utils.pack_x_y_sample_weight(padded, labels, sample_weight)

    def _one_label_each(self, y: Labels) -> tf.Tensor:
        """Return the label of each text, int32 (batch,)."""
        if isinstance(y, tf.RaggedTensor):
            shape = tuple(y.shape)
        else:
            labels = self.label_ids(y)
            if labels.shape.rank is None or labels.shape.rank < 2 or labels.shape[1:].num_elements() == 1:
                return labels
            shape = tuple(labels.shape)
        raise ValueError(
            f"A text has one label here, so that labels must be (batch,); received shape {shape}. "
            'labels="several" makes a model of several labels per text.'
        )

    def _label_sets(self, y: Labels) -> tf.Tensor:
        """Return 0 and 1, float32 (batch, labels)."""
        width = len(self.label_names)
        if isinstance(y, tf.RaggedTensor):
            places = tf.stack([tf.cast(y.value_rowids(), tf.int32), self.label_ids(y.flat_values)], axis=1)
            counts = tf.scatter_nd(places, tf.ones(tf.shape(places)[:1]), [tf.cast(y.nrows(), tf.int32), width])
            return tf.minimum(counts, 1.0)
        labels = tf.convert_to_tensor(y)
        if labels.dtype == tf.string or labels.shape.rank != 2 or labels.shape[1] not in (width, None):
            raise ValueError(
                f"A text has several labels here: labels must be 0 and 1 (batch, {width}), or a ragged tensor of names "
                f"or integers; received {labels.dtype.name} of shape {tuple(labels.shape)}."
            )
        labels = tf.cast(labels, tf.float32)
        is_right = tf.reduce_all((labels == 0) | (labels == 1))
        with tf.control_dependencies([check(is_right, "Labels must be 0 and 1, a column for each label.")]):
            return tf.ensure_shape(labels, (None, width))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        return {**super().get_config(), **({} if self.labels == "one" else {"labels": self.labels})}


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class TokenPreprocessor(Preprocessor):
    """Sentences to padded ids, and their tags to integers, as ``TokenClassifier`` reads them.

    Args:
        words: As in ``TaggingVocabulary``.
        label_names: The tags, in the order of their integers.
        chars: As in ``TaggingVocabulary``, like those that follow.
        num_frozen_words: Number of the last words that are frozen.
        case: Kinds of capitalisation.
        whole_words: Whether the model reads all characters of a word.
        tokenizer: The version of the rules that split raw sentences.
        **settings: Arguments of ``keras.layers.Layer``.

    Call arguments:
        x: Sentences: a ragged tensor of tokens (batch, (tokens)), or raw strings (batch,), or a column of them
            (batch, 1), which are split.
        y: A tag for each token, a ragged tensor of names or integers (batch, (tokens)), or None.
        sample_weight: How much each sentence counts (batch,).

    Returns:
        Ids, (ids, tags) or (ids, tags, weights). Ids are a dictionary of int32 (batch, time, ...), padded with 0 to one
        of few lengths. Tags are int32 (batch, time), padded with -1.

    Example:
        >>> preprocessor = TokenPreprocessor(["dogs", "bark"], ["NOUN", "VERB"], "abdgkors")
        >>> ids, tags = preprocessor(["Dogs bark", "Bark"], tf.ragged.constant([[0, 1], [1]]))
        >>> ids["token_ids"].numpy().tolist(), tags.numpy().tolist()
        ([[2, 3, 0, 0], [3, 0, 0, 0]], [[0, 1, -1, -1], [1, -1, -1, -1]])
    """

    def __init__(
        self,
        words: Sequence[str],
        label_names: Sequence[str],
        chars: str,
        *,
        num_frozen_words: int = 0,
        case: str | None = "binary",
        whole_words: bool = False,
        tokenizer: int = 1,
        **settings: Any,
    ) -> None:
        text = {"chars": chars, "num_frozen_words": num_frozen_words, "case": case, "whole_words": whole_words}
        text["tokenizer"] = tokenizer
        super().__init__(words, label_names, text, **settings)
        self.vocabulary = TaggingVocabulary(tuple(words), chars, num_frozen_words, case, whole_words, tokenizer)
        self.tokens_to_ids, self.split = self.vocabulary.tokens_to_ids(), Tokenizer(tokenizer)

    def __call__(
        self, x: Sentences, y: tf.RaggedTensor | None = None, sample_weight: SampleWeights | None = None
    ) -> Batch:
        """Skip Keras's call, which takes no ragged strings."""
        if isinstance(x, tf.RaggedTensor):
            tokens = x
        else:
            texts = tf.convert_to_tensor(x, tf.string)
            if hasattr(x, "shape") and texts.shape.rank == 2 and texts.shape[1] == 1:  # a column, no lists
                texts = texts[:, 0]
            tokens = self.split(texts)
        padded = tf.nest.map_structure(to_few_lengths, self.tokens_to_ids.padded(tokens))
        if y is None:
            return padded
        if not isinstance(y, tf.RaggedTensor):
            raise TypeError(f"Tags must be a ragged tensor (sentences, (tokens)); received {type(y).__name__}.")
        is_right = tf.reduce_all(y.row_lengths() == tokens.row_lengths())
        with tf.control_dependencies([check(is_right, "A sentence has another number of tags than of tokens.")]):
            tags = y.with_flat_values(self.label_ids(y.flat_values)).to_tensor(-1)
        more = tf.shape(padded["token_ids"])[1] - tf.shape(tags)[1]
        tags = tf.pad(tags, [[0, 0], [0, more]], constant_values=-1)
        return keras.utils.pack_x_y_sample_weight(padded, tags, sample_weight)


def check_words(words: Sequence[Any]) -> None:
    """Raise ``ValueError`` for a word of a saved vocabulary that is not a string."""
    if strange := [word for word in words if not isinstance(word, str)]:
        raise ValueError(f"words must be strings; one is {claims.short(strange[0])}")


def to_few_lengths(ids: tf.Tensor) -> tf.Tensor:
    """Return padded ids (batch, time, ...) with more padding, to the next of the lengths of ``program_length``."""
    lengths = [program_length(1)]
    while lengths[-1] < _LONGEST:
        lengths.append(program_length(lengths[-1] + 1))
    time = tf.shape(ids)[1]
    length = tf.gather(tf.constant(lengths), tf.searchsorted(tf.constant(lengths), time[None])[0])
    return tf.pad(ids, [[0, 0], [0, length - time], *([[0, 0]] * (len(ids.shape) - 2))])
