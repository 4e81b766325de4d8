"""Layers that are made of others."""

from __future__ import annotations

import keras


def hand_down_trainable(layer: keras.layers.Layer) -> None:
    """Freeze the layers inside a layer that was made with ``trainable=False``, as a saved one is when it is loaded.

    A model asks every variable whether it is trained, and Keras tells only those of layers that exist by then.
    """
    if not layer.trainable:
        # An assignment of the value that is there already does nothing on TensorFlow.
        keras.layers.Layer.trainable.fset(layer, False)
