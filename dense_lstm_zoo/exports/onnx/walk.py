"""From a functional Keras model to ONNX: a converter for each layer, called as the model's configuration says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import keras

from dense_lstm_zoo.exports.onnx.graph import Graph, Value

# (graph, layer, what the layer was called with, tensors as Values) -> the outputs' names
Converter = Callable[..., Any]
CONVERTERS: dict[str, Converter] = {}


def converts(*names: str) -> Callable[[Converter], Converter]:
    """Return a decorator that registers the converter of a layer.

    Args:
        *names: Names of layers: those that this project registers with Keras without their package, such as
            ``"BiLSTM"``; Keras's own layers and operations as ``"keras.Dense"``.
    """

    def register(converter: Converter) -> Converter:
        CONVERTERS.update(dict.fromkeys(names, converter))
        return converter

    return register


def trace(
    graph: Graph, model: keras.Model, inputs: Mapping[str, Value], targets: list[Any] | None = None
) -> list[Value]:
    """Add a functional model's layers to a graph and return its outputs.

    Args:
        graph: The graph.
        model: The model.
        inputs: For each name of an input layer, or of a layer that is replaced by an input, its tensor.
        targets: Keras tensors of the model to return instead of its outputs.

    Raises:
        ValueError: A layer that has no converter.
    """
    if targets is not None:
        model = keras.Model(model.inputs, targets)
    config = model.get_config()
    layers = {entry["name"]: entry for entry in config["layers"]}
    tensors: dict[tuple[str, int], list[Value]] = {}

    def outputs_of(name: str, node: int) -> list[Value]:
        if name in inputs:
            return [inputs[name]]
        if (name, node) not in tensors:
            entry = layers[name]
            call = _with_values(entry["inbound_nodes"][node], value_of)
            tensors[name, node] = _convert(graph, model, entry, call)
        return tensors[name, node]

    def value_of(tensor: Mapping[str, Any]) -> Value:
        name, node, number = tensor["keras_history"]
        return Value(outputs_of(name, node)[number], tensor["shape"])

    output_places = config["output_layers"]
    if isinstance(output_places[0], str):
        output_places = [output_places]
    shapes = [tensor.shape for tensor in model.outputs]
    return [
        Value(outputs_of(name, node)[number], shape)
        for (name, node, number), shape in zip(output_places, shapes, strict=True)
    ]


def _convert(graph: Graph, model: keras.Model, entry: Mapping[str, Any], call: Mapping[str, Any]) -> list[Value]:
    registered = entry.get("registered_name") or ""
    kind = entry["class_name"]
    name = kind if registered == f"dense_lstm_zoo>{kind}" else f"keras.{kind}"
    if name not in CONVERTERS:
        raise ValueError(
            f"The layer {entry['name']!r} ({kind}) has no ONNX form here, so its model cannot be exported with "
            f"format='onnx'. Layers that can: {', '.join(sorted(CONVERTERS))}. format='saved_model' takes any."
        )
    layers = {layer.name: layer for layer in model.layers}
    options = {
        key: value for key, value in call["kwargs"].items() if key not in ("training", "mask") and value is not None
    }
    outputs = CONVERTERS[name](graph, layers.get(entry["name"]), *call["args"], **options)
    return list(outputs) if isinstance(outputs, list | tuple) else [outputs]


def _with_values(item: object, value_of: Callable[[Mapping[str, Any]], Value]) -> Any:
    """Return a call's arguments with the tensors in them replaced."""
    if isinstance(item, list | tuple):
        return [_with_values(member, value_of) for member in item]
    if not isinstance(item, dict):
        return item
    if item.get("class_name") == "__keras_tensor__":
        return value_of(item["config"])
    if item.get("class_name") == "__slice__":
        return slice(*(item["config"][part] for part in ("start", "stop", "step")))
    if item.get("class_name") == "__ellipsis__":
        return Ellipsis
    return {key: _with_values(value, value_of) for key, value in item.items()}
