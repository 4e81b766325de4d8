"""ONNX form of the Bi-LSTM with skip connections inside its cells: the step is ``recurrence.gated_skip.skip_step``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dense_lstm_zoo.exports.onnx.basic import numbers
from dense_lstm_zoo.exports.onnx.graph import Graph, Value
from dense_lstm_zoo.exports.onnx.loops import Typed, apart, both_ways, joined, over_time, stacked, turned, zeros
from dense_lstm_zoo.exports.onnx.recurrent import lstm_node, time_major
from dense_lstm_zoo.exports.onnx.walk import converts
from dense_lstm_zoo.layers import SkipBiLSTM
from dense_lstm_zoo.layers.recurrence.gated_skip import GATED

_ORDER = (2, 0, 1, 3, 4)  # blocks i, f, c, o and a fifth one, with c first: the sigmoids of the others are one


def reordered(array: np.ndarray, units: int) -> np.ndarray:
    """Return (..., blocks of ``units``) with the block of c first."""
    blocks = np.split(array, array.shape[-1] // units, axis=-1)
    return np.concatenate([blocks[i] for i in _ORDER if i < len(blocks)], axis=-1)


def both_weights(graph: Graph, cells: Sequence[Any], part: str, name: str) -> str:
    """Return a recurrent kernel or a bias of both directions, (2, rows, blocks), in the order of a step."""
    arrays = [reordered(np.atleast_2d(numbers(getattr(cell, part))), cell.units) for cell in cells]
    return graph.weight(np.stack(arrays), f"{name}_{part}", summed=1)


def projected(
    graph: Graph, cells: Sequence[Any], sequences: Sequence[str], skips: Sequence[str] | None, name: str
) -> str:
    """Return x W + b for all steps, (time, 2, batch, blocks), in the order of a step."""
    products = []
    for d, cell in enumerate(cells):
        kernel = graph.weight(reordered(numbers(cell.kernel), cell.units), f"{name}_kernel")
        product = graph.op("MatMul", sequences[d], kernel)
        if skips is not None and getattr(cell, "skip_kernel", None) is not None:
            gate = graph.op("MatMul", skips[d], graph.weight(numbers(cell.skip_kernel), f"{name}_skip_kernel"))
            product = graph.op("Concat", product, gate, axis=2)
        products.append(product)
    return graph.op("Add", stacked(graph, products), both_weights(graph, cells, "bias", name))


def gates(body: Graph, z: str, units: int, count: int) -> list[str]:
    """Return tanh of the first block of z, and the sigmoids of ``count`` others."""
    first, blocks = body.op("Split", z, body.ints(units, count * units), outputs=2, axis=2)
    sigmoids = body.op("Sigmoid", blocks)
    parts = [sigmoids] if count == 1 else body.op("Split", sigmoids, outputs=count, axis=2, num_outputs=count)
    return [body.op("Tanh", first), *parts]


def sums(body: Graph, z: str, h: str, recurrent: str) -> str:
    """Return z + h U."""
    return body.op("Add", z, body.op("MatMul", h, recurrent))


def next_cell(body: Graph, s: str, i: str, f: str, c: str) -> str:
    """Return f c + i s."""
    return body.op("Add", body.op("Mul", f, c), body.op("Mul", i, s))


def skip_loop(
    graph: Graph,
    cells: Sequence[Any],
    sequences: Sequence[str],
    skips: Sequence[str] | None,
    name: str,
    *,
    with_c: bool = False,
) -> list[str]:
    """Run one layer's cells in both directions; return the states h and, if wanted, c: (time, 2, batch, units) each.

    Args:
        graph: The graph.
        cells: The cell of each direction.
        sequences: What each reads, (time, batch, features).
        skips: The k of each, (time, batch, units), or None.
        name: What the weights are called.
        with_c: Whether c is wanted.
    """
    skip, units = cells[0].skip, cells[0].units
    count = 4 if skip in GATED else 3
    z = projected(graph, cells, sequences, skips, name)
    blocks = Typed(z, (2, "batch", (count + 1) * units))
    reads = [blocks]
    if skips is not None:
        k = stacked(graph, skips)
        if skip == "gates":  # the same at every gate, and known before the loop
            reads = [blocks._replace(value=graph.op("Add", z, graph.op("Concat", k, k, k, k, axis=3)))]
        else:
            k = graph.op("Sigmoid", k) if skip == "gated_sigmoid" else k
            reads.append(Typed(k, (2, "batch", units)))
    recurrent = both_weights(graph, cells, "recurrent_kernel", name)

    def step(body: Graph, carries: list[str], inputs: list[str]) -> tuple[list[str], list[str]]:
        h, c = carries
        s, i, f, o, *gate = gates(body, sums(body, inputs[0], h, recurrent), units, count)
        more = body.op("Mul", gate[0], inputs[1]) if gate else inputs[-1]  # what a skip adds to c or to h
        c = next_cell(body, s, i, f, c)
        if skip in ("internals", "gated_internals"):
            c = body.op("Add", c, more)
        h = body.op("Mul", o, body.op("Tanh", c))
        if skip in ("outputs", "gated_outputs", "gated_sigmoid"):
            h = body.op("Add", h, more)
        return [h, c], [h, c] if with_c else [h]

    return over_time(graph, step, [zeros(graph, sequences[0], units)] * 2, reads, ["float32"] * (1 + with_c))


def _plain(graph: Graph, cells: Sequence[Any], sequences: Sequence[str], name: str) -> list[str]:
    """Return the states of each direction of an LSTM without a skip, which ONNX has an operator for."""
    outputs = []
    for sequence, cell in zip(sequences, cells, strict=True):
        own = [(cell.kernel, cell.recurrent_kernel, cell.bias)]
        states = lstm_node(graph, sequence, "", own, f"{name}_{cell.name}")[0]
        outputs.append(graph.op("Squeeze", states, graph.ints(1)))
    return outputs


@converts("SkipBiLSTM")
def skip_bilstm(graph: Graph, layer: SkipBiLSTM, inputs: Value, lengths: Value) -> str:
    """Layers with and without skips. Both directions are separate stacks, unless they are interleaved."""
    sequences = both_ways(graph, inputs, lengths)
    outputs: list[list[str]] = [[]]
    for projection, sequence in zip(layer.projections, sequences, strict=False):
        kernel = graph.weight(numbers(projection.kernel), f"{layer.name}_{projection.name}")
        outputs[0].append(graph.op("MatMul", sequence, kernel))
    for number, cells in enumerate(layer.cells, start=1):
        name = f"{layer.name}_{number}"
        if cells[0].skip == "none":
            states = _plain(graph, cells, sequences, name)
        else:
            skips = outputs[number - layer.skip_distance]
            states = apart(graph, skip_loop(graph, cells, sequences, skips, name)[0])
        outputs.append(states)
        sequences = states
        if layer.interleave and number < layer.num_layers:
            both = joined(graph, states, lengths)
            sequences = [both, turned(graph, both, lengths)]
    return time_major(graph, joined(graph, states, lengths))
