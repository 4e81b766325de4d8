"""ONNX forms of the highway LSTM and the recurrent highway network. The steps are those of ``recurrence.highway``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dense_lstm_zoo.exports.onnx.basic import numbers
from dense_lstm_zoo.exports.onnx.cells import both_weights, gates, next_cell, projected, skip_loop, sums
from dense_lstm_zoo.exports.onnx.graph import Graph, Value
from dense_lstm_zoo.exports.onnx.loops import Typed, apart, both_ways, joined, over_time, stacked, zeros
from dense_lstm_zoo.exports.onnx.recurrent import time_major
from dense_lstm_zoo.exports.onnx.walk import converts
from dense_lstm_zoo.layers import BiRecurrentHighway, HighwayBiLSTM


@converts("HighwayBiLSTM")
def highway_bilstm(graph: Graph, layer: HighwayBiLSTM, inputs: Value, lengths: Value) -> str:
    """An LSTM, and layers above it that read the h and the c of the layer below."""
    sequences = both_ways(graph, inputs, lengths)
    h, c = skip_loop(graph, layer.cells[0], sequences, None, f"{layer.name}_1", with_c=True)
    for number, cells in enumerate(layer.cells[1:], start=2):
        h, c = _highway_loop(graph, cells, apart(graph, h), c, f"{layer.name}_{number}")
    return time_major(graph, joined(graph, apart(graph, h), lengths))


def _highway_loop(graph: Graph, cells: Sequence[Any], sequences: Sequence[str], c_below: str, name: str) -> list[str]:
    """Return the states h and c of a layer, each (time, 2, batch, units)."""
    units = cells[0].units
    of_c, of_c_below = (
        graph.constant(np.stack([numbers(cell.peepholes)[i : i + 1] for cell in cells])) for i in range(2)
    )
    z, d = graph.op(
        "Split", projected(graph, cells, sequences, None, name), graph.ints(4 * units, units), outputs=2, axis=3
    )
    d = graph.op("Add", d, graph.op("Mul", c_below, of_c_below))  # known before the loop
    recurrent = both_weights(graph, cells, "recurrent_kernel", name)

    def step(body: Graph, carries: list[str], values: list[str]) -> tuple[list[str], list[str]]:
        (h, c), (z, d, c_below) = carries, values
        s, i, f, o = gates(body, sums(body, z, h, recurrent), units, 3)
        d = body.op("Sigmoid", body.op("Add", d, body.op("Mul", of_c, c)))
        c = body.op("Add", next_cell(body, s, i, f, c), body.op("Mul", d, c_below))
        h = body.op("Mul", o, body.op("Tanh", c))
        return [h, c], [h, c]

    wide, narrow = (2, "batch", 4 * units), (2, "batch", units)
    reads = [Typed(z, wide), Typed(d, narrow), Typed(c_below, narrow)]
    return over_time(graph, step, [zeros(graph, sequences[0], units)] * 2, reads, ["float32"] * 2)


@converts("BiRecurrentHighway")
def bi_recurrent_highway(graph: Graph, layer: BiRecurrentHighway, inputs: Value, lengths: Value) -> str:
    """Highway micro-layers at every step. The first one's product with y has the output gate's as its last block."""
    sequences, cells, units = both_ways(graph, inputs, lengths), layer.cells, layer.units
    biases = [np.concatenate([numbers(cell.bias)[0], numbers(cell.output_bias)]) for cell in cells]
    kernels = [graph.weight(numbers(cell.kernel), f"{layer.name}_kernel") for cell in cells]
    pairs = zip(sequences, kernels, strict=True)
    products = stacked(graph, [graph.op("MatMul", sequence, kernel) for sequence, kernel in pairs])
    z = graph.op("Add", products, graph.weight(np.stack(biases)[:, None], f"{layer.name}_bias", summed=1))
    recurrent = [np.stack([numbers(cell.recurrent_kernel)[i] for cell in cells]) for i in range(layer.depth)]
    output = np.stack([numbers(cell.output_recurrent_kernel) for cell in cells])
    recurrent[0] = np.concatenate([recurrent[0], output], axis=2)
    products_of = [graph.weight(matrix, f"{layer.name}_recurrent_kernel", summed=1) for matrix in recurrent]
    biases_above = [np.stack([numbers(cell.bias)[i : i + 1] for cell in cells]) for i in range(layer.depth)]
    blocks = recurrent[0].shape[2] // units

    def step(body: Graph, carries: list[str], values: list[str]) -> tuple[list[str], list[str]]:
        (s,), (z,) = carries, values
        h, t, *carry, o = gates(body, sums(body, z, s, products_of[0]), units, blocks - 1)
        s = _mixed(body, s, h, t, carry)
        for weight, bias in zip(products_of[1:], biases_above[1:], strict=True):
            z = sums(body, body.constant(bias), s, weight)
            h, t, *carry = gates(body, z, units, blocks - 2)
            s = _mixed(body, s, h, t, carry)
        y = body.op("Mul", o, body.op("Tanh", s))
        return [y], [y]

    (y,) = over_time(graph, step, [zeros(graph, sequences[0], units)], [Typed(z, (2, "batch", blocks * units))])
    return time_major(graph, joined(graph, apart(graph, y), lengths))


def _mixed(body: Graph, s: str, h: str, t: str, carry: Sequence[str]) -> str:
    """Return h t + s c. Without a gate c, it is 1 - t."""
    if not carry:
        return body.op("Add", s, body.op("Mul", t, body.op("Sub", h, s)))
    return body.op("Add", body.op("Mul", h, t), body.op("Mul", s, carry[0]))
