"""ONNX forms of a language model's layers: the recurrent stack with its states, tied word vectors, the bias."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np

from dense_lstm_zoo.exports.onnx.basic import numbers
from dense_lstm_zoo.exports.onnx.graph import Attribute, Graph, Value
from dense_lstm_zoo.exports.onnx.recurrent import lstm_node, side_by_side, time_major
from dense_lstm_zoo.exports.onnx.walk import converts
from dense_lstm_zoo.layers import LSTM, Bias, RecurrentStack, TiedEmbedding, WordScores

# (graph, layer, time-major inputs, first states or none) -> states over time, final states
Cell = Callable[[Graph, Any, str, Sequence[str]], tuple[str, list[str]]]


@converts("RecurrentStack")
def recurrent_stack(
    graph: Graph,
    layer: RecurrentStack,
    inputs: Value,
    lengths: Value | None = None,
    initial_state: Sequence[Value] = (),
) -> list[str]:
    """Every layer reads what its wiring says of the input and the layers below. See ``layers.RecurrentStack``."""
    if lengths is not None:
        raise ValueError(
            f"{layer.name!r}: a recurrent stack over padded rows has no ONNX form here; leave lengths out."
        )
    below, states = run_layers(graph, layer, time_major(graph, inputs), initial_state)
    tops = below[1:] if layer.return_all_layers else [_joined(graph, below if layer.wiring == "dense" else below[-1:])]
    return [time_major(graph, top) for top in tops] + (states if layer.return_state else [])


def run_layers(
    graph: Graph, layer: RecurrentStack, inputs: str, initial_state: Sequence[Value] = ()
) -> tuple[list[str], list[str]]:
    """Return the input of a recurrent stack and the states of its layers, time-major, and all final states."""
    per_layer = layer.states_per_layer
    below, states = [inputs], []
    for i, rnn in enumerate(layer.layers):
        start = [graph.op("Unsqueeze", state, graph.ints(0)) for state in initial_state[i * per_layer :][:per_layer]]
        sequence = _joined(graph, layer._inputs_of_next(below, sum_of=lambda parts: graph.op("Add", *parts)))
        output, final = _CELLS[layer.cell](graph, rnn, sequence, start)
        below.append(output)
        states += [graph.op("Squeeze", state, graph.ints(0)) for state in final]
    return below, states


def _joined(graph: Graph, parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else graph.op("Concat", *parts, axis=2)


def _lstm(graph: Graph, layer: LSTM, inputs: str, start: Sequence[str]) -> tuple[str, list[str]]:
    states, h, c = lstm_node(
        graph, inputs, "", layer._directions, layer.name, start=(start[0], start[1]) if start else None
    )
    return side_by_side(graph, states, layer.units), [h, c]


def _gru(graph: Graph, layer: keras.layers.GRU, inputs: str, start: Sequence[str]) -> tuple[str, list[str]]:
    # Keras's reset gate multiplies the product, bias included; both keep the gates as z, r, h.
    return _node(graph, "GRU", layer, inputs, numbers(layer.cell.bias).ravel(), start, linear_before_reset=1)


def _simple_rnn(
    graph: Graph, layer: keras.layers.SimpleRNN, inputs: str, start: Sequence[str]
) -> tuple[str, list[str]]:
    bias = numbers(layer.cell.bias)
    return _node(graph, "RNN", layer, inputs, np.concatenate([bias, np.zeros_like(bias)]), start)


def _node(
    graph: Graph,
    kind: str,
    layer: keras.layers.GRU | keras.layers.SimpleRNN,
    inputs: str,
    biases: np.ndarray,
    start: Sequence[str],
    **attributes: Attribute,
) -> tuple[str, list[str]]:
    """Add a node whose weights are Keras's, transposed."""
    states, h = graph.op(
        kind,
        inputs,
        graph.weight(numbers(layer.cell.kernel).T[None], f"{layer.name}_kernel", summed=2),
        graph.weight(numbers(layer.cell.recurrent_kernel).T[None], f"{layer.name}_recurrent_kernel", summed=2),
        graph.weight(biases[None], f"{layer.name}_bias", summed=1),
        "",
        *start,
        outputs=2,
        name=layer.name,
        hidden_size=layer.units,
        **attributes,
    )
    return side_by_side(graph, states, layer.units), [h]


_CELLS: dict[str, Cell] = {"lstm": _lstm, "gru": _gru, "simple_rnn": _simple_rnn}


@converts("TiedEmbedding")
def tied_embedding(graph: Graph, layer: TiedEmbedding, values: Value, reverse: bool = False) -> str:
    """Look up rows or, in reverse, score every word by its row. Both read the same stored table."""
    table = numbers(layer.embeddings)
    if not reverse:
        return graph.rows(table, values, layer.name)
    return graph.op("MatMul", values, graph.op("Transpose", graph.weight(table, layer.name, summed=1), perm=[1, 0]))


@converts("WordScores")
def word_scores(graph: Graph, layer: WordScores, values: Value) -> str:
    """Score every word by its row."""
    kernel = graph.weight(numbers(layer.kernel), f"{layer.name}_kernel", summed=1)
    return graph.op("MatMul", values, graph.op("Transpose", kernel, perm=[1, 0]))


@converts("Bias")
def bias(graph: Graph, layer: Bias, values: Value) -> str:
    """Add a weight."""
    return graph.op("Add", values, graph.weight(numbers(layer.bias), f"{layer.name}_bias"))
