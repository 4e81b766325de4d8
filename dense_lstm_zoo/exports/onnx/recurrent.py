"""LSTMs as ONNX's own ``LSTM`` operator, which reads each row up to its length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dense_lstm_zoo.exports.onnx.basic import numbers
from dense_lstm_zoo.exports.onnx.graph import Graph, Value
from dense_lstm_zoo.exports.onnx.walk import converts

_ORDER = (0, 3, 1, 2)  # ONNX keeps the gates as i, o, f, c; Keras as i, f, c, o


def gates(array: np.ndarray) -> np.ndarray:
    """Return (..., 4 units) in Keras's order as (4 units, ...) in ONNX's."""
    blocks = np.split(array, 4, axis=-1)
    return np.moveaxis(np.concatenate([blocks[i] for i in _ORDER], axis=-1), -1, 0)


def time_major(graph: Graph, values: str) -> str:
    """Swap batch and time of a sequence."""
    return graph.op("Transpose", values, perm=[1, 0, 2])


def at_least_one(graph: Graph, lengths: str) -> str:
    """Return lengths as the operator takes them: a row of padding is read as one step."""
    key = "at least one", lengths
    if key not in graph.cache:
        graph.cache[key] = graph.op("Max", lengths, graph.constant(1, "int32"))
    return graph.cache[key]


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
    kernels, recurrents, biases = (np.stack([gates(numbers(each[i])) for each in weights]) for i in range(3))
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


def _run(graph: Graph, layer: Any, inputs: str, lengths: str) -> str:
    """Return a layer's states, time-major."""
    states = lstm_node(graph, inputs, lengths, layer._directions, layer.name)[0]
    return side_by_side(graph, states, layer.output_units)


@converts("LSTM", "BiLSTM")
def lstm(graph: Graph, layer: Any, inputs: Value, lengths: Value) -> str:
    """One LSTM over sequences, in one direction or both."""
    if not layer.return_sequences or layer.return_state:
        raise ValueError(
            f"{layer.name!r}: only an LSTM that returns its sequence, without states, has an ONNX form here."
        )
    return time_major(graph, _run(graph, layer, time_major(graph, inputs), at_least_one(graph, lengths)))


@converts("DenseBiLSTM")
def dense_bilstm(graph: Graph, layer: Any, inputs: Value, lengths: Value) -> list[str]:
    """Densely connected layers: each reads the input and the states of all layers below it."""
    lengths = Value(at_least_one(graph, lengths))
    first = time_major(graph, inputs)
    both: list[str] = []  # the states of every layer
    apart: list[list[str]] = [[first], [first]]  # what each direction reads, if it reads only its own
    for lstm_layer in layer.layers:
        if layer.couple_directions:
            sequence = graph.op("Concat", first, *both, axis=2) if both else first
            both.append(_run(graph, lstm_layer, sequence, lengths))
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
