"""The ONNX form of convolutions over the characters of words (Xie et al. 2019, section 3.1)."""

from __future__ import annotations

from dense_lstm_zoo.exports.onnx.basic import numbers
from dense_lstm_zoo.exports.onnx.convolution import convolve, largest
from dense_lstm_zoo.exports.onnx.graph import Graph, Value
from dense_lstm_zoo.exports.onnx.walk import converts
from dense_lstm_zoo.layers import CharacterCNN


@converts("CharacterCNN")
def character_cnn(graph: Graph, layer: CharacterCNN, ids: Value) -> str:
    """Convolve the characters of every distinct word, up to the length of the longest, and keep the largest values."""
    flat = graph.op("Concat", graph.ints(-1), graph.dim(ids, 2), axis=0)
    words = graph.op("Reshape", graph.cast(ids, "int64"), flat)  # ONNX Runtime has no Unique of int32
    words = graph.op("Pad", words, graph.ints(0, 0, 1, 0))  # even an empty batch has one word
    words, _, places = graph.op("Unique", words, outputs=3, axis=0, sorted=0)
    lengths = _lengths(graph, words)
    longest = graph.op("ReduceMax", lengths, graph.ints(0), keepdims=1)
    longest = graph.cast(graph.op("Max", longest, graph.constant([1], "int32")), "int64")
    words = graph.op("Slice", words, graph.ints(0), longest, graph.ints(1))
    vectors = graph.op("Transpose", _vectors(graph, layer, words), perm=[0, 2, 1])
    features = [_convolved(graph, layer, number, vectors, lengths) for number in range(len(layer.kernel_sizes))]
    rows = graph.op("Gather", graph.op("Concat", *features, axis=1), graph.slice(places, 0, 0, -1), axis=0)
    sizes = graph.op("Concat", graph.dim(ids, 0), graph.dim(ids, 1), graph.ints(layer.filters), axis=0)
    return graph.op("Reshape", rows, sizes, allowzero=1)


def _lengths(graph: Graph, words: str) -> str:
    """Return the number of characters of each word."""
    is_char = graph.op("Not", graph.op("Equal", words, graph.constant(0, "int64")))
    return graph.op("ReduceSum", graph.cast(is_char, "int32"), graph.ints(1), keepdims=0)


def _vectors(graph: Graph, layer: CharacterCNN, words: str) -> str:
    """Return the characters' vectors, (words, characters, char_dim). Those of padding are zeros."""
    table = numbers(layer.table).copy()
    table[0] = 0
    return graph.rows(table, words, f"{layer.name}_table")


def _convolved(graph: Graph, layer: CharacterCNN, number: int, vectors: str, lengths: str) -> str:
    """Return the features of one width, (words, filters)."""
    # A layer reduces a word of n characters to n - size + 1 places; the zeros after it make up for that.
    lost = layer.num_layers * (layer.kernel_sizes[number] - 1)
    values, pads = vectors, [0, lost]
    for n, convolution in enumerate(layer.convolutions[number * layer.num_layers : (number + 1) * layer.num_layers]):
        values = graph.op("Relu", values) if n else values
        values = convolve(graph, convolution, values, f"{layer.name}_{convolution.name}", pads)
        pads = [0, 0]
    places = graph.op("Sub", lengths, graph.constant(lost, "int32"))
    return largest(graph, values, graph.op("Max", places, graph.constant(1, "int32")))
