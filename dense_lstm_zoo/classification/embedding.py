"""The parts of a trained classifier that give vectors of texts and of their tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.data.graphs import graph

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    from dense_lstm_zoo.data.batching import IdsSpec


def with_pooled(model: keras.Model) -> keras.Model:
    """Return the classifier with two outputs: what its softmax layer reads (batch, width), and the logits."""
    import keras

    return keras.Model(model.input, [model.get_layer("logits").input, model.output])


def pooled_of(model: keras.Model, signature: IdsSpec) -> Callable[[Any], tf.Tensor]:
    """Return a graph from ids of any shape to what the softmax layer reads, in float32."""
    return _graph_to(model.get_layer("logits").input, model, signature)


def features_of(model: keras.Model, signature: IdsSpec) -> Callable[[Any], tf.Tensor]:
    """Return a graph from ids of any shape to what a convex head is fitted on: ``pooled_of``, not yet standardised."""
    layer = standardization_of(model) or model.get_layer("logits")
    return _graph_to(layer.input, model, signature)


def standardization_of(model: keras.Model) -> keras.layers.Layer | None:
    """Return the layer that standardises what the softmax layer reads, or None for a model without ``pooled_words``."""
    return next((layer for layer in model.layers if layer.name == "standardization"), None)


def states_of(model: keras.Model, signature: IdsSpec) -> Callable[[Any], tf.Tensor]:
    """Return a graph from ids of any shape to the states that the pooling reads, the top layer's, in float32."""
    *states, _ = model.get_layer("pooling").input  # from the lowest layer to the top, then the lengths
    return _graph_to(states[-1], model, signature)


def _graph_to(values: Any, model: keras.Model, signature: IdsSpec) -> Callable[[Any], tf.Tensor]:
    """Return a graph from ids of any shape to values inside a model, in float32."""
    import keras
    import tensorflow as tf

    encoder = keras.Model(model.input, values)
    return graph(lambda ids: tf.cast(encoder(ids, training=False), tf.float32), [signature])
