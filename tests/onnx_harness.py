"""Functional Keras models as ONNX graphs in ONNX Runtime."""

from collections.abc import Iterator
from pathlib import Path

import keras
import onnx
import onnxruntime

from dense_lstm_zoo.exports.onnx import Graph, trace
from dense_lstm_zoo.exports.onnx.rows import at_least_one_row, first_rows


def graph_of(model: keras.Model, weights: str = "float32") -> onnx.ModelProto:
    """A functional model as a graph."""
    graph = Graph(weights)
    inputs = {}
    for tensor in model.inputs:
        sizes = ["batch", "time", *tensor.shape[2:]][: len(tensor.shape)]
        inputs[tensor.name] = graph.input(tensor.name, tensor.dtype, sizes)
    inputs, rows = at_least_one_row(graph, inputs)
    for number, output in enumerate(trace(graph, model, inputs)):
        sizes = ["batch" if place == 0 else size or f"size_{place}" for place, size in enumerate(output.shape)]
        graph.output(first_rows(graph, output, rows), f"output_{number}", "float32", sizes)
    return graph.model("model")


def session(model: onnx.ModelProto | Path) -> onnxruntime.InferenceSession:
    """A graph or its file in ONNX Runtime, in one thread, once it has passed the checker."""
    onnx.checker.check_model(model, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    source = model if isinstance(model, Path) else model.SerializeToString()
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def every_node(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """The nodes of a graph and of the bodies of its loops."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            yield from every_node(attribute.g)
