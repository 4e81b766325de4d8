"""Vectors of texts and of their tokens, from a trained classifier."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dense_lstm_zoo import checks
from dense_lstm_zoo.data.graphs import graph
from dense_lstm_zoo.data.text import to_bytes

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    from dense_lstm_zoo.classification.text_ids import TextToIds
    from dense_lstm_zoo.classification.vocabulary import Vocabulary

CHUNK = 4096  # texts held at a time


def with_pooled(model: keras.Model) -> keras.Model:
    """Return the classifier with two outputs: what its softmax layer reads (batch, width), and the logits."""
    import keras

    return keras.Model(model.input, [model.get_layer("logits").input, model.output])


def pooled_of(model: keras.Model, signature: Any) -> Callable[[Any], tf.Tensor]:
    """Return a graph from ids of any shape to what the softmax layer reads, in float32."""
    import keras
    import tensorflow as tf

    read = keras.Model(model.input, model.get_layer("logits").input)
    return graph(lambda ids: tf.cast(read(ids, training=False), tf.float32), [signature])


def states_of(model: keras.Model, signature: Any) -> Callable[[Any], tf.Tensor]:
    """Return a graph from ids of any shape to the states that the pooling reads, the top layer's, in float32."""
    import keras
    import tensorflow as tf

    *states, _ = model.get_layer("pooling").input  # from the lowest layer to the top, then the lengths
    read = keras.Model(model.input, states[-1])
    return graph(lambda ids: tf.cast(read(ids, training=False), tf.float32), [signature])


class Embedded:
    """The methods of a ``ClassificationBundle`` that return vectors, and the ids that all its methods read."""

    model: keras.Model
    vocabulary: Vocabulary

    @functools.cached_property
    def text_to_ids(self) -> TextToIds:
        """The layer that turns raw texts into the model's ids."""
        return self.vocabulary.text_to_ids()

    def embed(self, texts: Iterable[str]) -> np.ndarray:
        """Return a vector per text, float32 (texts, width): what the softmax layer reads.

        It is the pooled state of the encoder, without dropout. Empty texts and unknown words are allowed.

        Args:
            texts: Strings, in a list or as they come.

        Raises:
            TypeError: As for ``predict``.

        Example:
            ``bundle.embed(["A fine film .", "A dull one ."]) @ bundle.embed(["Great !"])[0]``
        """
        found = list(self._embedded(texts))
        return np.concatenate(found) if found else np.empty((0, self.embedding_width), np.float32)

    def embed_stream(self, texts: Iterable[str]) -> Iterator[np.ndarray]:
        """Embed texts as they come, in constant memory: one vector per text, in order."""
        for vectors in self._embedded(texts):
            yield from vectors

    @property
    def embedding_width(self) -> int:
        """The length of the vectors that ``embed`` returns."""
        return int(self.model.get_layer("logits").input.shape[-1])

    def _embedded(self, texts: Iterable[str]) -> Iterator[np.ndarray]:
        from dense_lstm_zoo.classification.batches import predict_rows

        for chunk in checks.text_chunks(texts, CHUNK):
            yield predict_rows(self._pooled_of, self.text_to_ids.encode(chunk))

    @functools.cached_property
    def _pooled_of(self) -> Callable[[Any], tf.Tensor]:
        return pooled_of(self.model, self.text_to_ids.signature)

    def embed_tokens(self, texts: Iterable[str]) -> list[tuple[list[str], np.ndarray]]:
        """Return the tokens that the model reads of each text, and a vector per token, float32 (tokens, width).

        The vectors are the states that the pooling reads: the top layer's, or for ``cnn_mc``, which has no recurrent
        layer, the word vectors. A text without a token that the model reads has one token, ``""``.

        Args:
            texts: Strings.

        Raises:
            TypeError: As for ``predict``.
        """
        from dense_lstm_zoo.data.batching import predict_by_token

        found: list[tuple[list[str], np.ndarray]] = []
        for chunk in checks.text_chunks(texts, CHUNK):
            tokens = [[word.decode() for word in row] for row in self.text_to_ids.read(to_bytes(chunk))[0].to_list()]
            states = predict_by_token(self._states_of, self.text_to_ids.encode(chunk))
            found.extend(zip(tokens, states, strict=True))
        return found

    @functools.cached_property
    def _states_of(self) -> Callable[[Any], tf.Tensor]:
        return states_of(self.model, self.text_to_ids.signature)
