"""Saving and loading layers: their arguments as a config, and the state of the layers inside them."""

from __future__ import annotations

from typing import Any

import keras


def arguments_of(layer: keras.layers.Layer, *names: str) -> dict[str, Any]:
    """Return a layer's arguments for its config, from the attributes of the same names.

    Initialisers and regularisers are serialised.
    """
    config = {name: getattr(layer, name) for name in names}
    for name, value in config.items():
        if name.endswith("_initializer"):
            config[name] = keras.initializers.serialize(value)
        elif name.endswith("_regularizer"):
            config[name] = keras.regularizers.serialize(value)
    return config


def hand_down_trainable(layer: keras.layers.Layer) -> None:
    """Freeze the layers inside a layer that was made with ``trainable=False``, as a saved one is when it is loaded.

    A model asks every variable whether it is trained, and Keras tells only those of layers that exist by then.
    """
    if not layer.trainable:
        # An assignment of the value that is there already does nothing on TensorFlow.
        keras.layers.Layer.trainable.fset(layer, False)
