"""The layers of a Keras task that are not trained, which its config names, as that of a Keras model does."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import keras

from dense_lstm_zoo import checks


def frozen_layers(model: keras.Model) -> list[str]:
    """Return the paths of the layers with ``trainable=False``, among them the model's own if it has it."""
    return [path for path, layer in _layers(model, "model") if not layer.trainable]


def freeze(model: keras.Model, paths: Collection[str]) -> None:
    """Set ``trainable`` of a model and of the layers in it: False of those with these paths.

    Raises:
        ValueError: A path of no layer.
    """
    layers = dict(_layers(model, "model"))
    for path in paths:
        if path not in layers:
            raise checks.unknown_name("layer in 'frozen':", path, layers)
    for path, layer in layers.items():  # outer layers first, as they set those inside
        if layer.trainable == (path in paths):
            layer.trainable = path not in paths


def _layers(layer: keras.layers.Layer, path: str) -> Iterator[tuple[str, keras.layers.Layer]]:
    """Yield a layer and those with weights inside it, outer ones first, with their names joined by slashes."""
    yield path, layer
    for inner in layer._flatten_layers(include_self=False, recursive=False):
        if inner.weights:
            # Keras counts the models of a session in their names.
            yield from _layers(inner, f"{path}/{'core' if isinstance(inner, keras.Model) else inner.name}")
