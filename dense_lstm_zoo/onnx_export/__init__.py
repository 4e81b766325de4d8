"""Models as ONNX graphs, written node by node with core operators; each layer's form is beside those of its kind."""

from dense_lstm_zoo.onnx_export import basic, characters, convolution, interaction, pooling, recurrent, stack
from dense_lstm_zoo.onnx_export.graph import OPSET, WEIGHTS, Graph, Value, WeightsFile
from dense_lstm_zoo.onnx_export.walk import converts, trace
from dense_lstm_zoo.onnx_export.words import word_inputs

__all__ = [
    "OPSET",
    "WEIGHTS",
    "Graph",
    "Value",
    "WeightsFile",
    "basic",
    "characters",
    "converts",
    "convolution",
    "interaction",
    "pooling",
    "recurrent",
    "stack",
    "trace",
    "word_inputs",
]
