"""ONNX forms of the poolings: states of a sentence's words to one vector."""

from __future__ import annotations

from dense_lstm_zoo.exports.onnx.basic import masked, masked_softmax, numbers, real_steps
from dense_lstm_zoo.exports.onnx.graph import Graph, Value
from dense_lstm_zoo.exports.onnx.walk import converts
from dense_lstm_zoo.layers import MaskedPooling


def counts(graph: Graph, lengths: str) -> str:
    """Return the number of real steps, at least 1, as float32 (batch, 1)."""
    return graph.op("Max", graph.op("Unsqueeze", graph.cast(lengths, "float32"), graph.ints(1)), graph.constant(1))


def summed(graph: Graph, values: str) -> str:
    """Return the sum over time."""
    return graph.op("ReduceSum", values, graph.ints(1), keepdims=0)


@converts("MaskedPooling")
def masked_pooling(graph: Graph, layer: MaskedPooling, states: Value, lengths: Value) -> str:
    """Mean, largest value, last state, all three, or attention over the real steps."""
    return _MODES[layer.mode](graph, layer, states, lengths)


def _mean(graph: Graph, layer: MaskedPooling, states: Value, lengths: Value) -> str:
    return graph.op("Div", summed(graph, masked(graph, states, lengths)), counts(graph, lengths))


def _max(graph: Graph, layer: MaskedPooling, states: Value, lengths: Value) -> str:
    largest = graph.op("ReduceMax", masked(graph, states, lengths, -1e30), graph.ints(1), keepdims=0)
    is_empty = graph.op("Unsqueeze", graph.op("Equal", lengths, graph.constant(0, "int32")), graph.ints(1))
    return graph.op("Where", is_empty, graph.constant(0), largest)


def _last(graph: Graph, layer: MaskedPooling, states: Value, lengths: Value) -> str:
    states = Value(masked(graph, states, lengths), states.shape)
    last = graph.op("Max", graph.op("Sub", lengths, graph.constant(1, "int32")), graph.constant(0, "int32"))
    index = graph.cast(graph.op("Unsqueeze", last, graph.ints(1)), "int64")
    last_states = graph.op("GatherND", states, index, batch_dims=1)
    if layer.num_directions == 1:
        return last_states
    half = int((states.shape or (0,))[-1] or 0) // 2
    first = graph.op("Squeeze", graph.slice(graph.slice(states, 1, 0, 1), 2, half), graph.ints(1))
    return graph.op("Concat", graph.slice(last_states, 1, 0, half), first, axis=1)


def _attention(graph: Graph, layer: MaskedPooling, states: Value, lengths: Value) -> str:
    kernel = graph.weight(numbers(layer.kernel), f"{layer.name}_kernel")
    bias = graph.weight(numbers(layer.bias), f"{layer.name}_bias")
    hidden = graph.op("Tanh", graph.op("Add", graph.op("MatMul", states, kernel), bias))
    scores = graph.op("MatMul", hidden, graph.weight(numbers(layer.query), f"{layer.name}_query"))
    shares = masked_softmax(graph, scores, real_steps(graph, lengths, states))
    return summed(graph, graph.op("Mul", shares, masked(graph, states, lengths)))


def _last_mean_max(graph: Graph, layer: MaskedPooling, states: Value, lengths: Value) -> str:
    parts = [pool(graph, layer, states, lengths) for pool in (_last, _mean, _max)]
    return graph.op("Concat", *parts, axis=1)


_MODES = {
    "mean": _mean,
    "max": _max,
    "last": _last,
    "attention": _attention,
    "last_mean_max": _last_mean_max,
}
