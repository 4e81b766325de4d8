"""Products of bytes in LSTMs, for weights in int8: a wide LSTM, and the words' part of many narrow ones.

A product of bytes reads a quarter of the memory that one of float32 does, and processors have instructions for it. The
numbers that are multiplied are rounded in steps that are fixed when a graph is made, by the largest value that each
feature can have: states lie between -1 and 1, and word vectors are known. So an answer does not depend on its batch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dense_lstm_zoo.exports.onnx.graph import Graph

DOMAIN = "com.microsoft"  # of ONNX Runtime's own operators
_WIDE = 64  # units of one direction: in narrower layers, rounding the states takes longer than their products
_GAIN = 64  # features that a narrow layer must be spared
_ZERO = 128  # the byte that stands for 0
_LEVELS = 127
_OPEN, _FULL = 20.0, 20.0  # the logit of a gate that is open, and a cell of which tanh is 1


def is_wide(graph: Graph, inputs: Sequence[str], units: int) -> bool:
    """Return whether an LSTM gains from products of bytes and can have them: its inputs' bounds are known."""
    return graph.weights == "int8" and units >= _WIDE and all(value in graph.bounds for value in inputs)


def spares(graph: Graph, inputs: str, units: int) -> bool:
    """Return whether narrow layers gain from ``products`` of what they all read, and can have them."""
    bounds = graph.bounds.get(inputs)
    return graph.weights == "int8" and bounds is not None and len(bounds) >= 8 * units + _GAIN


def wide_lstm(graph: Graph, inputs: Sequence[str], lengths: str, weights: Sequence[np.ndarray], name: str) -> str:
    """Add an LSTM whose products are of bytes; return its states (time, directions, batch, units).

    ONNX Runtime's operator rounds a tensor in steps that follow from the largest number in it. Two features of the
    input and two units are -1 and 1 always, so that the steps are the same for all texts.

    Args:
        graph: The graph.
        inputs: Sequences (time, batch, features) with known bounds, which it reads side by side.
        lengths: (batch,), int32, at least 1.
        weights: Kernels (directions, 4 units, features), recurrent kernels (directions, 4 units, units) and biases
            (directions, 4 units), with the gates in ONNX's order.
        name: What the weights are called.
    """
    kernels, recurrents, biases = weights
    directions, units = len(kernels), recurrents.shape[-1]
    bounds = np.concatenate([_positive(graph.bounds[value]) for value in inputs])
    sizes = graph.op("Concat", graph.op("Shape", inputs[0], start=0, end=2), graph.ints(2), axis=0)
    ends = graph.op("Expand", graph.constant([-1, 1]), sizes)
    sequence = graph.op("Concat", *(_scaled(graph, value) for value in inputs), ends, axis=2)
    # The units that hold -1 and 1: their input gates are shut, the others open.
    gates = np.broadcast_to(np.array([-_OPEN, _OPEN, _OPEN, 0])[:, None], (directions, 4, 2))  # i, o, f, c
    biases = np.concatenate([biases.reshape(directions, 4, units), gates], axis=2).reshape(directions, -1)
    stored = [
        _stored(graph, _widened(kernels * bounds), name),
        _stored(graph, _widened(recurrents), f"{name}_recurrent"),
    ]
    states = graph.op(
        "DynamicQuantizeLSTM",
        sequence,
        *(kernel for kernel, *_ in stored),
        graph.constant(np.concatenate([biases, np.zeros_like(biases)], axis=1)),
        lengths,
        *(_first(graph, sequence, directions, units, value) for value in (1.0, _FULL)),
        "",
        *(part for _, *scales in stored for part in scales),
        outputs=3,
        name=name,
        domain=DOMAIN,
        hidden_size=units + 2,
        direction="forward" if directions == 1 else "bidirectional",
    )[0]
    return graph.slice(states, 3, 0, units)


def products(graph: Graph, inputs: str, kernels: Sequence[np.ndarray], factors: Sequence[np.ndarray]) -> list[str]:
    """Multiply a sequence by the kernels of several layers at once, in bytes.

    Args:
        graph: The graph.
        inputs: (time, batch, features), with known bounds.
        kernels: (features, outputs) of each layer.
        factors: What each layer's products are divided by: (outputs,).

    Returns:
        For each layer (time, batch, outputs), float32.
    """
    step, zero = graph.constant(1 / _LEVELS), graph.constant(_ZERO, "uint8")
    rounded = graph.op("QuantizeLinear", _scaled(graph, inputs), step, zero)
    values, scales = _bytes(np.concatenate(kernels, axis=1) * _positive(graph.bounds[inputs])[:, None])
    product = graph.op(
        "MatMulIntegerToFloat",
        rounded,
        graph.stored("words_kernel", values),
        step,
        graph.constant(scales[0] / np.concatenate(factors)),
        zero,
        domain=DOMAIN,
    )
    sizes = graph.ints(*(kernel.shape[1] for kernel in kernels))
    return list(graph.op("Split", product, sizes, outputs=len(kernels), axis=2)) if len(kernels) > 1 else [product]


def _scaled(graph: Graph, values: str) -> str:
    """Return a sequence divided by its bounds, so that it lies between -1 and 1."""
    bounds = _positive(graph.bounds[values])
    if (bounds == 1).all():
        return values
    key = "scaled", values
    if key not in graph.cache:
        graph.cache[key] = graph.op("Mul", values, graph.constant(1 / bounds))
    return graph.cache[key]


def _positive(bounds: np.ndarray) -> np.ndarray:
    """Return bounds to divide by: a feature that is always 0 has 1."""
    return np.where(bounds > 0, bounds, 1).astype(np.float32)


def _bytes(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a kernel (..., inputs, outputs) as int8, and the scale of each output (..., 1, outputs).

    Processors without VNNI add two products in 16 bits. Two weights beside each other are at most 128 together, and
    128 times 255 does not overflow there: answers are the same on all processors.
    """
    sizes = np.abs(array)
    evens, odds = sizes[..., 0::2, :], sizes[..., 1::2, :]
    pairs = evens.copy()
    pairs[..., : odds.shape[-2], :] += odds
    scales = pairs.max(axis=-2, keepdims=True) / _LEVELS
    scales[scales == 0] = 1
    return np.rint(array / scales).astype(np.int8), scales.astype(np.float32)


def _widened(kernels: np.ndarray) -> np.ndarray:
    """Return (directions, 4 units, inputs) as (directions, inputs + 2, 4 (units + 2)), with zeros."""
    directions, _, width = kernels.shape
    by_gate = np.pad(kernels.reshape(directions, 4, -1, width), [(0, 0), (0, 0), (0, 2), (0, 2)])
    return by_gate.reshape(directions, -1, width + 2).transpose(0, 2, 1)


def _stored(graph: Graph, kernels: np.ndarray, name: str) -> tuple[str, str, str]:
    """Return kernels (directions, inputs, outputs) in int8, their scales and zero points (directions, outputs)."""
    values, scales = _bytes(kernels)
    zeros = graph.constant(np.zeros_like(scales[:, 0]), "int8")
    return graph.stored(f"{name}_kernel", values), graph.constant(scales[:, 0]), zeros


def _first(graph: Graph, inputs: str, directions: int, units: int, value: float) -> str:
    """Return a first state (directions, batch, units + 2): zeros, and ``value`` with either sign in the last two."""
    state = np.zeros((1, 1, units + 2), np.float32)
    state[..., -2:] = -value, value
    sizes = graph.op("Concat", graph.ints(directions), graph.dim(inputs, 1), graph.ints(units + 2), axis=0)
    return str(graph.op("Expand", graph.constant(state), sizes))
