"""The parts of a trained classifier that give vectors of texts and of their tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.data.graphs import graph

if TYPE_CHECKING:
    import keras
    import tensorflow as tf


def with_pooled(model: keras.Model) -> keras.Model:
    """Return the classifier with two outputs: what its softmax layer reads (batch, width), and the logits."""
    import keras

    return keras.Model(model.input, [model.get_layer("logits").input, model.output])


def pooled_of(model: keras.Model, signature: Any) -> Callable[[Any], tf.Tensor]:
    """Return a graph from ids of any shape to what the softmax layer reads, in float32."""
    return features_of(model, signature, "logits")


def features_of(model: keras.Model, signature: Any, layer: str) -> Callable[[Any], tf.Tensor]:
    """Return a graph from ids of any shape to what a layer reads, in float32."""
    import keras
    import tensorflow as tf

    encoder = keras.Model(model.input, model.get_layer(layer).input)
    return graph(lambda ids: tf.cast(encoder(ids, training=False), tf.float32), [signature])


def states_of(model: keras.Model, signature: Any) -> Callable[[Any], tf.Tensor]:
    """Return a graph from ids of any shape to the states that the pooling reads, the top layer's, in float32."""
    import keras
    import tensorflow as tf

    *states, _ = model.get_layer("pooling").input  # from the lowest layer to the top, then the lengths
    encoder = keras.Model(model.input, states[-1])
    return graph(lambda ids: tf.cast(encoder(ids, training=False), tf.float32), [signature])
