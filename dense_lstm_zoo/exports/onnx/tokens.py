"""ONNX forms of the features of a token: the words around it, and the characters at its ends."""

from __future__ import annotations

from dense_lstm_zoo.exports.onnx.basic import masked, numbers, real_steps
from dense_lstm_zoo.exports.onnx.graph import Graph, Value
from dense_lstm_zoo.exports.onnx.walk import converts
from dense_lstm_zoo.layers import AffixEmbedding, GatedContextWindow


@converts("GatedContextWindow")
def gated_context_window(graph: Graph, layer: GatedContextWindow, inputs: Value, lengths: Value) -> str:
    """The vectors around each word side by side, with the boundary's past both ends, each times its gate."""
    window: str = inputs
    if layer.size > 1:
        vector = numbers(layer.boundary)
        boundary = graph.weight(vector, f"{layer.name}_boundary")
        features, half = len(vector), layer.size // 2
        shape = graph.op("Concat", graph.dim(inputs, 0), graph.ints(half, features), axis=0)
        ends = graph.op("Expand", boundary, shape)
        inside = graph.op("Where", real_steps(graph, lengths, inputs), inputs, boundary)
        around = graph.op("Concat", ends, inside, ends, axis=1)
        # As many steps as there are words, which is what all but ``size - 1`` of them are.
        parts = [graph.slice(around, 1, i, (i + 1 - layer.size) or None) for i in range(layer.size)]
        window = graph.op("Concat", *parts, axis=2)
    if layer.gated:
        kernel = graph.weight(numbers(layer.gate_kernel), f"{layer.name}_gate_kernel")
        logits = graph.op("MatMul", window, kernel)
        gates = graph.op(
            "Sigmoid", graph.op("Add", logits, graph.weight(numbers(layer.gate_bias), f"{layer.name}_bias"))
        )
        width = layer.gate_kernel.shape[0]
        by_word = graph.reshape(window, 0, 0, layer.size, width // layer.size)
        window = graph.reshape(graph.op("Mul", by_word, graph.op("Unsqueeze", gates, graph.ints(3))), 0, 0, width)
    return masked(graph, window, lengths)


@converts("AffixEmbedding")
def affix_embedding(graph: Graph, layer: AffixEmbedding, ids: Value) -> str:
    """The vectors of a word's first and last characters side by side."""
    return graph.reshape(graph.rows(numbers(layer.table), ids, layer.name), 0, 0, -1)
