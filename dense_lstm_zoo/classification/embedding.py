"""Vectors of texts and of their tokens, from a trained classifier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf


def with_pooled(model: keras.Model) -> keras.Model:
    """Return the classifier with two outputs: what its softmax layer reads (batch, width), and the logits."""
    return keras.Model(model.input, [model.get_layer("logits").input, model.output])


def pooled_of(model: keras.Model, signature: Any) -> Callable[[Any], tf.Tensor]:
    """Return a graph from ids of any shape to what the softmax layer reads, in float32."""
    read = keras.Model(model.input, model.get_layer("logits").input)
    return tf.function(lambda ids: tf.cast(read(ids, training=False), tf.float32), input_signature=[signature])


def states_of(model: keras.Model, signature: Any) -> Callable[[Any], tf.Tensor]:
    """Return a graph from ids of any shape to the states that the pooling reads, the top layer's, in float32."""
    *states, _ = model.get_layer("pooling").input  # from the lowest layer to the top, then the lengths
    read = keras.Model(model.input, states[-1])
    return tf.function(lambda ids: tf.cast(read(ids, training=False), tf.float32), input_signature=[signature])
