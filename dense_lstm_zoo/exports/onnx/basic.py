"""ONNX forms of Keras's own layers, of ids and of word vectors."""

from __future__ import annotations

import keras
import numpy as np
from keras import ops

from dense_lstm_zoo.exports.onnx.graph import Graph, Value
from dense_lstm_zoo.exports.onnx.walk import converts
from dense_lstm_zoo.layers import (
    DynamicInteractionPooling,
    DynamicSelfAttention,
    SequenceLengths,
    Standardization,
    WordEmbedding,
)


def numbers(variable: keras.Variable | np.ndarray) -> np.ndarray:
    """Return a weight's values in float32."""
    return np.asarray(ops.convert_to_numpy(variable), np.float32)


def real_steps(graph: Graph, lengths: str, like: str) -> str:
    """Return which steps are real: bool (batch, time, 1), for sequences as long as ``like`` (batch, time, ...)."""
    key = "real", lengths
    if key not in graph.cache:
        time = graph.op("Squeeze", graph.dim(like, 1), graph.ints(0))
        steps = graph.op("Range", graph.constant(0, "int64"), time, graph.constant(1, "int64"))
        steps = graph.op("Unsqueeze", graph.cast(steps, "int32"), graph.ints(0, 2))
        graph.cache[key] = graph.op("Less", steps, graph.op("Unsqueeze", lengths, graph.ints(1, 2)), name="real")
    return graph.cache[key]


def masked(graph: Graph, values: str, lengths: str, otherwise: float = 0.0) -> str:
    """Return (batch, time, features) with another number past each row's length."""
    return graph.op("Where", real_steps(graph, lengths, values), values, graph.constant(otherwise))


def masked_softmax(graph: Graph, logits: str, real: str) -> str:
    """Return ``layers.pooling.masked_softmax`` over time: zeros where ``real`` is false, also in an empty row."""
    lowest = graph.constant(-1e30)
    largest = graph.op("ReduceMax", graph.op("Where", real, logits, lowest), graph.ints(1), keepdims=1)
    powers = graph.op("Exp", graph.op("Where", real, graph.op("Sub", logits, largest), lowest))
    total = graph.op("ReduceSum", powers, graph.ints(1), keepdims=1)
    return graph.op("Div", powers, graph.op("Max", total, graph.constant(1e-30)))


def project(graph: Graph, layer: DynamicSelfAttention | DynamicInteractionPooling, states: str, lengths: str) -> str:
    """Return ``layers.pooling.project`` with the layer's kernel and bias: LeakyReLU(h W + b), h zeros at padding."""
    kernel = graph.weight(numbers(layer.kernel), f"{layer.name}_kernel")
    product = graph.op("MatMul", masked(graph, states, lengths), kernel)
    return graph.op(
        "LeakyRelu",
        graph.op("Add", product, graph.weight(numbers(layer.bias), f"{layer.name}_bias")),
        alpha=layer.negative_slope,
    )


@converts("SequenceLengths")
def sequence_lengths(graph: Graph, layer: SequenceLengths, ids: Value) -> str:
    """Count the ids that are not 0."""
    is_token = graph.op("Not", graph.op("Equal", ids, graph.constant(0, "int32")))
    return graph.op("ReduceSum", graph.cast(is_token, "int32"), graph.ints(1), keepdims=0, name="lengths")


@converts("WordEmbedding")
def word_embedding(graph: Graph, layer: WordEmbedding, ids: Value) -> str:
    """Look up the rows of the trained and the frozen table, which are one table here."""
    return graph.rows(layer.get_matrix(), ids, layer.name)


@converts("keras.Embedding")
def embedding(graph: Graph, layer: keras.layers.Embedding, ids: Value) -> str:
    """Look up rows."""
    return graph.rows(numbers(layer.embeddings), ids, layer.name)


@converts("keras.Dropout")
def dropout(graph: Graph, layer: keras.layers.Dropout, values: Value) -> Value:
    """Do nothing: there is no dropout in prediction."""
    return values


@converts("keras.Dense")
def dense(graph: Graph, layer: keras.layers.Dense, values: Value) -> str:
    """x W + b, with no activation or one of ONNX's own."""
    product = graph.op("MatMul", values, graph.weight(numbers(layer.kernel), f"{layer.name}_kernel"))
    if layer.bias is not None:
        product = graph.op("Add", product, graph.weight(numbers(layer.bias), f"{layer.name}_bias"))
    return activation(graph, layer, product)


@converts("keras.Activation")
def activation(graph: Graph, layer: keras.layers.Activation | keras.layers.Dense, values: str) -> str:
    """Apply an activation function."""
    name = layer.activation.__name__
    operators = {"relu": "Relu", "tanh": "Tanh", "sigmoid": "Sigmoid"}
    if name == "linear":
        return values
    if name not in operators:
        raise ValueError(
            f"The activation {name!r} of {layer.name!r} has no ONNX form here. Known: {', '.join(operators)}."
        )
    return graph.op(operators[name], values)


@converts("keras.Concatenate")
def concatenate(graph: Graph, layer: keras.layers.Concatenate, values: list[Value]) -> str:
    """Join features."""
    joined = str(graph.op("Concat", *values, axis=layer.axis))
    if layer.axis in (-1, 2) and all(value in graph.bounds for value in values):
        graph.bounds[joined] = np.concatenate([graph.bounds[value] for value in values])
    return joined


@converts("Standardization")
def standardization(graph: Graph, layer: Standardization, values: str) -> str:
    """Subtract the mean and multiply by the scale."""
    centred = graph.op("Sub", values, graph.weight(numbers(layer.mean), f"{layer.name}_mean"))
    return graph.op("Mul", centred, graph.weight(numbers(layer.scale), f"{layer.name}_scale"))


@converts("keras.Add")
def add(graph: Graph, layer: keras.layers.Add | None, *values: Value | list[Value]) -> str:
    """Sum tensors: ``layers.Add()([a, b])`` and ``a + b``."""
    total: str
    total, *terms = [part for value in values for part in (value if isinstance(value, list) else [value])]
    for term in terms:
        total = graph.op("Add", total, term)
    return total


@converts("keras.GetItem")
def get_item(graph: Graph, layer: None, values: Value, key: object) -> str:
    """``x[..., start:stop]``."""
    key = key if isinstance(key, list) else [key]
    if key[:-1] != [Ellipsis] or not isinstance(key[-1], slice) or key[-1].step not in (None, 1):
        raise ValueError(f"Only x[..., start:stop] has an ONNX form here; received {key!r}.")
    return graph.slice(values, -1, key[-1].start or 0, key[-1].stop)
