"""LSTMs as ONNX's own ``LSTM`` operator, which reads each row up to its length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dense_lstm_zoo.exports.onnx import eight_bits
from dense_lstm_zoo.exports.onnx.basic import numbers
from dense_lstm_zoo.exports.onnx.graph import Graph, Value
from dense_lstm_zoo.exports.onnx.walk import converts
from dense_lstm_zoo.layers import LSTM, DenseBiLSTM

_ORDER = (0, 3, 1, 2)  # ONNX keeps the gates as i, o, f, c; Keras as i, f, c, o


def gates(array: np.ndarray) -> np.ndarray:
    """Return (..., 4 units) in Keras's order as (4 units, ...) in ONNX's."""
    blocks = np.split(array, 4, axis=-1)
    return np.moveaxis(np.concatenate([blocks[i] for i in _ORDER], axis=-1), -1, 0)


def time_major(graph: Graph, values: str) -> str:
    """Swap batch and time of a sequence."""
    return graph.same_bounds(graph.op("Transpose", values, perm=[1, 0, 2]), values)


def at_least_one(graph: Graph, lengths: str) -> str:
    """Return lengths as the operator takes them: a row of padding is read as one step."""
    key = "at least one", lengths
    if key not in graph.cache:
        graph.cache[key] = graph.op("Max", lengths, graph.constant(1, "int32"))
    return graph.cache[key]


def _stacked(weights: Sequence[Sequence[Any]]) -> list[np.ndarray]:
    """Return kernels, recurrent kernels and biases of directions in ONNX's order: (directions, 4 units, ...)."""
    return [np.stack([gates(numbers(each[i])) for each in weights]) for i in range(3)]


def lstm_node(
    graph: Graph,
    inputs: str,
    lengths: str,
    weights: Sequence[Sequence[Any]],
    name: str,
    *,
    direction: str | None = None,
    start: tuple[str, str] | None = None,
) -> list[str]:
    """Add an ``LSTM`` node; return its states (time, directions, batch, units), last h and last c (directions, ...).

    What it returns past a row's length is not to be read.

    Args:
        graph: The graph.
        inputs: (time, batch, features).
        lengths: (batch,), int32, at least 1. ``""`` means all steps.
        weights: Kernel, recurrent kernel and bias of each direction, in Keras's order.
        name: What the weights are called.
        direction: ``forward``, ``reverse`` or ``bidirectional``. None goes by the number of weights.
        start: The first h and c, (directions, batch, units) each.
    """
    kernels, recurrents, biases = _stacked(weights)
    units = recurrents.shape[-1]
    return graph.op(
        "LSTM",
        inputs,
        graph.weight(kernels, f"{name}_kernel", summed=2),
        graph.weight(recurrents, f"{name}_recurrent_kernel", summed=2),
        graph.weight(np.concatenate([biases, np.zeros_like(biases)], axis=1), f"{name}_bias", summed=1),
        lengths,
        *(start or ()),
        outputs=3,
        name=name,
        hidden_size=units,
        direction=direction or ("forward" if len(weights) == 1 else "bidirectional"),
    )


def side_by_side(graph: Graph, states: str, width: int) -> str:
    """Return (time, directions, batch, units) as (time, batch, directions * units)."""
    return graph.reshape(graph.op("Transpose", states, perm=[0, 2, 1, 3]), 0, 0, width)


def _run(graph: Graph, layer: LSTM, inputs: Sequence[str], lengths: str) -> str:
    """Return the states of a layer that reads sequences side by side. All are time-major."""
    if eight_bits.is_wide(graph, inputs, layer.units):
        return _joined_states(
            graph, layer, eight_bits.wide_lstm(graph, inputs, lengths, _stacked(layer._directions), layer.name)
        )
    sequence = graph.op("Concat", *inputs, axis=2) if len(inputs) > 1 else inputs[0]
    return _joined_states(graph, layer, lstm_node(graph, sequence, lengths, layer._directions, layer.name)[0])


def _joined_states(graph: Graph, layer: LSTM, states: str) -> str:
    """Return a layer's states (time, directions, batch, units) side by side, with their bounds."""
    joined = side_by_side(graph, states, layer.output_units)
    graph.bounds[joined] = np.ones(layer.output_units, np.float32)
    return joined


@converts("LSTM", "BiLSTM")
def lstm(graph: Graph, layer: LSTM, inputs: Value, lengths: Value) -> str:
    """One LSTM over sequences, in one direction or both."""
    if not layer.return_sequences or layer.return_state:
        raise ValueError(
            f"{layer.name!r}: only an LSTM that returns its sequence, without states, has an ONNX form here."
        )
    return time_major(graph, _run(graph, layer, [time_major(graph, inputs)], at_least_one(graph, lengths)))


@converts("DenseBiLSTM")
def dense_bilstm(graph: Graph, layer: DenseBiLSTM, inputs: Value, lengths: Value) -> list[str]:
    """Densely connected layers: each reads the input and the states of all layers below it."""
    lengths = Value(at_least_one(graph, lengths))
    first = time_major(graph, inputs)
    both: list[str] = []  # the states of every layer
    if layer.couple_directions and len(layer.layers) > 1 and eight_bits.spares(graph, first, layer.dense_units):
        both = _narrow_layers(graph, layer, first, lengths)
    apart: list[list[str]] = [[first], [first]]  # what each direction reads, if it reads only its own
    for lstm_layer in layer.layers[len(both) :]:
        if layer.couple_directions:
            both.append(_run(graph, lstm_layer, [first, *both], lengths))
            continue
        directions = []
        for d, (direction, weights) in enumerate(zip(("forward", "reverse"), lstm_layer._directions, strict=True)):
            sequence = graph.op("Concat", *apart[d], axis=2) if len(apart[d]) > 1 else first
            name = f"{lstm_layer.name}_{direction}"
            states = lstm_node(graph, sequence, lengths, [weights], name, direction=direction)[0]
            directions.append(side_by_side(graph, states, lstm_layer.units))
            apart[d].append(directions[-1])
        both.append(graph.op("Concat", *directions, axis=2))
    outputs = both if layer.return_all_layers else both[-1:]
    return [time_major(graph, states) for states in outputs]


def _narrow_layers(graph: Graph, layer: DenseBiLSTM, first: str, lengths: str) -> list[str]:
    """Return the states of all layers but the top one. What they all read is multiplied once, for all of them.

    A layer then reads these products in place of the input, through a kernel that passes them on. Its largest weight
    is that of the rest, which the scale of int8 is made for.
    """
    features = len(graph.bounds[first])
    kernels, rests, factors = [], [], []
    for lstm_layer in layer.layers[:-1]:
        both = [numbers(weights[0]) for weights in lstm_layer._directions]
        kernels.append(np.concatenate([kernel[:features] for kernel in both], axis=1))
        rests.append([kernel[features:] for kernel in both])
        largest = np.abs(np.concatenate(rests[-1], axis=1)).max(axis=0, initial=0)
        factors.append(np.where(largest > 0, largest, 1))
    states: list[str] = []
    parts = zip(layer.layers[:-1], eight_bits.products(graph, first, kernels, factors), rests, factors, strict=True)
    for lstm_layer, products, rest, factor in parts:
        passing = np.split(np.diag(factor), 2, axis=1)
        weights = [
            (np.concatenate([through, kernel]), *others)
            for through, kernel, (_, *others) in zip(passing, rest, lstm_layer._directions, strict=True)
        ]
        sequence = graph.op("Concat", products, *states, axis=2) if states else products
        output = lstm_node(graph, sequence, lengths, weights, lstm_layer.name)[0]
        states.append(_joined_states(graph, lstm_layer, output))
    return states
