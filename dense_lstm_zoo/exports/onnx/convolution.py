"""ONNX forms of convolutions over words with max pooling (Kim 2014; Zhou et al. 2016)."""

from __future__ import annotations

import keras
import numpy as np

from dense_lstm_zoo.exports.onnx.basic import masked, numbers, real_steps
from dense_lstm_zoo.exports.onnx.graph import Graph, Value
from dense_lstm_zoo.exports.onnx.walk import converts
from dense_lstm_zoo.layers import ConvolutionPooling, MapConvolutionPooling

_PART = 256  # steps of a map that are computed at once


def convolve(
    graph: Graph, layer: keras.layers.Conv1D | keras.layers.Conv2D, values: str, name: str, pads: list[int]
) -> str:
    """Return a Keras convolution of (batch, channels, places...), which ONNX keeps in that order.

    Args:
        graph: The graph.
        layer: A ``Conv1D`` or ``Conv2D`` with a bias.
        values: What is convolved.
        name: What its weights are called.
        pads: Zeros before each axis of places, then zeros after each.
    """
    kernel = numbers(layer.kernel)  # (places..., channels, filters)
    kernel = np.moveaxis(kernel, [-1, -2], [0, 1])
    return graph.op(
        "Conv",
        values,
        graph.weight(kernel, f"{name}_kernel", summed=1),
        graph.weight(numbers(layer.bias), f"{name}_bias"),
        pads=pads,
    )


def largest(graph: Graph, values: str, counts: str) -> str:
    """Return ``layers.convolution.largest`` of ReLU(values): (batch, features, places) to (batch, features).

    The ReLU comes last, where there is least to do: neither the zeros nor the maximum depend on it.
    """
    places = graph.op("Range", graph.constant(0, "int64"), _size(graph, values, 2), graph.constant(1, "int64"))
    is_place = graph.op("Less", graph.cast(places, "int32"), graph.op("Unsqueeze", counts, graph.ints(1, 2)))
    return _rectified_max(graph, graph.op("Where", is_place, values, graph.constant(0)))


def _size(graph: Graph, values: str, axis: int) -> str:
    return graph.op("Squeeze", graph.dim(values, axis), graph.ints(0))


def _rectified_max(graph: Graph, values: str) -> str:
    return graph.op("Relu", graph.op("ReduceMax", values, graph.ints(2), keepdims=0))


@converts("ConvolutionPooling")
def convolution_pooling(graph: Graph, layer: ConvolutionPooling, words: Value, lengths: Value) -> str:
    """Convolve over time, rectify and keep the largest value of each feature."""
    channels = graph.op("Transpose", masked(graph, words, lengths), perm=[0, 2, 1])
    is_empty = graph.op("Equal", lengths, graph.constant(0, "int32"))
    features = []
    for size, convolution in zip(layer.kernel_sizes, layer.convolutions, strict=True):
        full = layer.padding == "full"
        pads = [size - 1 if full else 0, size - 1]
        values = convolve(graph, convolution, channels, f"{layer.name}_width_{size}", pads)
        windows = graph.op("Add", lengths, graph.constant(size - 1 if full else 1 - size, "int32"))
        windows = graph.op("Max", windows, graph.constant(1, "int32"))
        features.append(largest(graph, values, graph.op("Where", is_empty, graph.constant(0, "int32"), windows)))
    return graph.op("Concat", *features, axis=1)


@converts("MapConvolutionPooling")
def map_convolution_pooling(graph: Graph, layer: MapConvolutionPooling, states: Value, lengths: Value) -> str:
    """Convolve over time and features as over an image, rectify, and max-pool in blocks or over the whole map."""
    real = real_steps(graph, lengths, states)
    states = Value(masked(graph, states, lengths), states.shape)
    if layer.pool_size is not None:
        return _blocks(graph, layer, layer.pool_size, states, real)
    return _whole(graph, layer, states, graph.op("Transpose", real, perm=[0, 2, 1]))


def _whole(graph: Graph, layer: MapConvolutionPooling, states: Value, real: str) -> str:
    """Return the largest values of the whole map, part by part: of a long text, it would take gigabytes at once."""
    before = (layer.kernel_size - 1) // 2
    after = layer.kernel_size - 1 - before
    size = graph.constant(_PART, "int64")
    parts = graph.op("Div", graph.op("Add", _size(graph, states, 1), graph.constant(_PART - 1, "int64")), size)
    padded = graph.op("Pad", states, graph.ints(0, before, 0, 0, after, 0))
    shape = graph.op("Concat", graph.dim(states, 0), graph.ints(layer.filters), axis=0)
    body = graph.body()
    number, more = body.input("part", "int64", ()), body.input("more", "bool", ())
    highest = body.input("highest", "float32", ("batch", layer.filters))
    start = body.op("Unsqueeze", body.op("Mul", number, size), graph.ints(0))
    end = body.op("Add", start, size)
    steps = body.op("Slice", padded, start, body.op("Add", end, graph.ints(layer.kernel_size - 1)), graph.ints(1))
    values = body.op("ReduceMax", _map(body, layer, steps, [0, before, 0, after]), graph.ints(3), keepdims=0)
    real = body.op("Slice", real, start, end, graph.ints(2))
    largest_of_part = body.op("ReduceMax", body.op("Where", real, values, graph.constant(0)), graph.ints(2), keepdims=0)
    body.output(more, "go_on", "bool", ())
    body.output(body.op("Max", highest, largest_of_part), "next", "float32", ("batch", layer.filters))
    # The ReLU is that the values start from 0.
    return graph.op("Loop", parts, "", graph.op("Expand", graph.constant(0), shape), body=body)


def _map(graph: Graph, layer: MapConvolutionPooling, states: str, pads: list[int]) -> str:
    """Return (batch, filters, time, features)."""
    image = graph.op("Unsqueeze", states, graph.ints(1))
    return convolve(graph, layer.convolution, image, layer.name, pads)


def _blocks(graph: Graph, layer: MapConvolutionPooling, size: int, states: Value, real: str) -> str:
    """Return the largest values of all blocks, computed only where the batch has steps."""
    in_time, in_features = layer._blocks(int((states.shape or (0,))[-1] or 0))
    real = graph.op("Unsqueeze", graph.slice(real, 1, 0, layer.max_length), graph.ints(1))
    values = _map(graph, layer, graph.slice(states, 1, 0, layer.max_length), [0, 0, layer.kernel_size - 1, 0])
    values = graph.op("Where", real, values, graph.constant(0))
    # The last block in time may reach past the map; features that fill no block are left out.
    largest = graph.op("MaxPool", values, kernel_shape=[size, size], strides=[size, size], pads=[0, 0, size - 1, 0])
    largest = graph.op("Relu", graph.slice(largest, 2, 0, in_time))
    missing = graph.op("Sub", graph.ints(in_time), graph.dim(largest, 2))
    pads = graph.op("Concat", graph.ints(0, 0, 0, 0, 0, 0), missing, graph.ints(0), axis=0)
    largest = graph.op("Transpose", graph.op("Pad", largest, pads), perm=[0, 2, 3, 1])
    return graph.reshape(largest, 0, in_time * in_features * layer.filters)
