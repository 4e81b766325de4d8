"""ONNX forms of a text encoder's states and of the mixture of its layers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dense_lstm_zoo.exports.onnx.basic import masked, numbers
from dense_lstm_zoo.exports.onnx.graph import Graph, Value
from dense_lstm_zoo.exports.onnx.loops import turned
from dense_lstm_zoo.exports.onnx.recurrent import time_major
from dense_lstm_zoo.exports.onnx.stack import run_layers
from dense_lstm_zoo.exports.onnx.walk import converts
from dense_lstm_zoo.layers import LayerMixture, TextEncoderStates


@converts("TextEncoderStates")
def text_encoder_states(graph: Graph, layer: TextEncoderStates, inputs: Value, lengths: Value) -> list[str]:
    """Both directions read <eos>, then their words, then padding, which no state before it has read."""
    eos = graph.weight(numbers(layer.eos), f"{layer.name}_eos")
    shape = graph.op("Concat", graph.ints(1), graph.dim(inputs, 0), graph.ints(layer.eos.shape[0]), axis=0)
    start, words = graph.op("Expand", eos, shape), time_major(graph, inputs)
    by_direction: list[list[str]] = []
    for is_backward, stack in enumerate(layer.stacks):
        sequence = graph.op("Concat", start, turned(graph, words, lengths) if is_backward else words, axis=0)
        states = [graph.slice(state, 0, 1) for state in run_layers(graph, stack, sequence)[0][1:]]
        by_direction.append([turned(graph, state, lengths) for state in states] if is_backward else states)
    layers = zip(*by_direction, strict=True)
    joined = [graph.op("Concat", *parts, axis=2) if len(parts) > 1 else parts[0] for parts in layers]
    return [masked(graph, time_major(graph, states), lengths) for states in joined]


@converts("LayerMixture")
def layer_mixture(graph: Graph, layer: LayerMixture, values: Sequence[Value]) -> str:
    """The weighted sum of the layers. The weights are known."""
    powers = np.exp(numbers(layer.layer_weights) - numbers(layer.layer_weights).max())
    shares = numbers(layer.gamma) * powers / powers.sum()
    pairs = zip(values, shares, strict=True)
    total, *terms = [graph.op("Mul", states, graph.constant(share)) for states, share in pairs]
    for term in terms:
        total = graph.op("Add", total, term)
    return str(total)
