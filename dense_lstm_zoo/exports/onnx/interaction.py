"""ONNX forms of the poolings that find their weights by iterating (Yoon et al. 2018; Xie et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dense_lstm_zoo.exports.onnx.basic import masked, masked_softmax, numbers, project, real_steps
from dense_lstm_zoo.exports.onnx.graph import Graph, Value
from dense_lstm_zoo.exports.onnx.pooling import counts, summed
from dense_lstm_zoo.exports.onnx.walk import converts
from dense_lstm_zoo.layers import DynamicInteractionPooling, DynamicSelfAttention


def uniform(graph: Graph, lengths: str, real: str) -> str:
    """Return the shares of the first round, (batch, time, 1): the softmax of zeros."""
    share = graph.op("Reciprocal", graph.op("Unsqueeze", counts(graph, lengths), graph.ints(2)))
    return graph.op("Where", real, share, graph.constant(0))


def weighed(graph: Graph, shares: str, values: str) -> str:
    """Return the sum over time of (batch, time, layers, features), weighed by (batch, time, layers)."""
    return summed(graph, graph.op("Mul", graph.op("Unsqueeze", shares, graph.ints(3)), values))


def agreement(graph: Graph, values: str, vectors: str) -> str:
    """Return the inner products of (batch, time, layers, features) and (batch, layers, features)."""
    products = graph.op("Mul", values, graph.op("Unsqueeze", vectors, graph.ints(1)))
    return graph.op("ReduceSum", products, graph.ints(3), keepdims=0)


def add(graph: Graph, total: str | None, more: str) -> str:
    """Return a sum. None stands for zeros."""
    return more if total is None else graph.op("Add", total, more)


@converts("DynamicSelfAttention")
def dynamic_self_attention(graph: Graph, layer: DynamicSelfAttention, states: Value, lengths: Value) -> str:
    """z = tanh(sum_t a_t x_t), with a found by iterating, for all heads together."""
    real = real_steps(graph, lengths, states)
    x = project(graph, layer, states, lengths)
    x = graph.reshape(x, 0, 0, layer.num_heads, layer.units)
    a, q = uniform(graph, lengths, real), None
    for iteration in range(layer.iterations):
        z = graph.op("Tanh", weighed(graph, a, x))
        if iteration < layer.iterations - 1:
            q = add(graph, q, agreement(graph, x, z))
            a = masked_softmax(graph, q, real)
    return graph.reshape(z, 0, layer.num_heads * layer.units)


@converts("DynamicInteractionPooling")
def dynamic_interaction_pooling(
    graph: Graph, layer: DynamicInteractionPooling, states: list[Value], lengths: Value
) -> str:
    """Pool the top layer's states once for each layer below, by Algorithm 1 of Xie et al. 2019."""
    *lower, top = states
    steps = counts(graph, lengths)
    x = project(graph, layer, top, lengths)
    if layer.weighting == "constant":
        total = summed(graph, masked(graph, x, lengths))
        return graph.op("Div", graph.op("Mul", total, graph.constant(0.5)), steps)
    route = _route_positions if layer.mode == "position" else _route_vectors
    pooled = graph.op("Div", route(graph, layer, lower, x, lengths), graph.op("Unsqueeze", steps, graph.ints(2)))
    return _side_by_side(graph, pooled, layer.widths)


def _route_positions(graph: Graph, layer: DynamicInteractionPooling, lower: list[Value], x: str, lengths: Value) -> str:
    """Return sum_t v_t x_t, (batch, layers, features), with one weight v per word and layer."""
    real = real_steps(graph, lengths, x)
    x = _by_layer(graph, x, layer.widths)
    means = [graph.op("ReduceMean", u, graph.ints(2), keepdims=1) for u in lower]
    # Masked here, where there is one number per word and layer: c_t mean(u_t) is 0 at padding, and v is not.
    mean = masked(graph, graph.op("Concat", *means, axis=2), lengths)
    total = graph.op("ReduceSum", x, graph.ints(3), keepdims=0)
    c, b = uniform(graph, lengths, real), None
    for iteration in range(layer.iterations):
        v = graph.op("Sigmoid", graph.op("Mul", c, mean))
        if iteration < layer.iterations - 1:
            b = add(graph, b, graph.op("Mul", v, total))
            c = masked_softmax(graph, b, real)
    return weighed(graph, masked(graph, v, lengths), x)


def _route_vectors(graph: Graph, layer: DynamicInteractionPooling, lower: list[Value], x: str, lengths: Value) -> str:
    """Return v * sum_t x_t, (batch, layers, features), with one vector v per layer."""
    real = real_steps(graph, lengths, x)
    steps = graph.op("Unsqueeze", counts(graph, lengths), graph.ints(2))
    u = _stack(graph, [masked(graph, each, lengths) for each in lower], layer.lower_widths)
    x = _by_layer(graph, masked(graph, x, lengths), layer.widths)
    projections = _projections(graph, layer) if layer.projections else None
    c, b = uniform(graph, lengths, real), None
    for iteration in range(layer.iterations):
        s = graph.op("Div", weighed(graph, c, u), steps)
        if projections is not None:
            rows = graph.op("MatMul", graph.op("Unsqueeze", s, graph.ints(2)), projections)
            s = graph.op("Squeeze", rows, graph.ints(2))
        v = graph.op("Sigmoid", s)
        if iteration < layer.iterations - 1:
            b = add(graph, b, agreement(graph, x, v))
            c = masked_softmax(graph, b, real)
    return graph.op("Mul", v, summed(graph, x))


def _projections(graph: Graph, layer: DynamicInteractionPooling) -> str:
    """Return the matrices P_j one above the other, (layers, widest lower layer, units)."""
    widest = max(layer.lower_widths)
    matrices = [numbers(each) for each in layer.projections]
    padded = [np.pad(each, [(0, widest - len(each)), (0, 0)]) for each in matrices]
    return graph.weight(np.stack(padded), f"{layer.name}_projections", summed=1)


def _by_layer(graph: Graph, x: str, widths: Sequence[int]) -> str:
    """Return (batch, time, sum of widths) as (batch, time, layers, widest): narrow layers are padded with zeros."""
    if len(set(widths)) == 1:
        return graph.reshape(x, 0, 0, len(widths), widths[0])
    ends = np.cumsum(widths).tolist()
    parts = [graph.slice(x, 2, end - width, end) for width, end in zip(widths, ends, strict=True)]
    return _stack(graph, parts, widths)


def _stack(graph: Graph, parts: Sequence[str], widths: Sequence[int]) -> str:
    """Return a list of (batch, time, width) as (batch, time, layers, widest)."""
    widest = max(widths)
    padded = [
        part if width == widest else graph.op("Pad", part, graph.ints(0, 0, 0, 0, 0, widest - width))
        for part, width in zip(parts, widths, strict=True)
    ]
    return graph.reshape(graph.op("Concat", *padded, axis=2), 0, 0, len(widths), widest)


def _side_by_side(graph: Graph, pooled: str, widths: Sequence[int]) -> str:
    """Return (batch, layers, widest) as (batch, sum of widths)."""
    widest = max(widths)
    flat = graph.reshape(pooled, 0, widest * len(widths))
    if len(set(widths)) == 1:
        return flat
    parts = [graph.slice(flat, 1, j * widest, j * widest + width) for j, width in enumerate(widths)]
    return graph.op("Concat", *parts, axis=1)
