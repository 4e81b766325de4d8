"""Models as ONNX graphs, written node by node with core operators. Each layer's form is beside those of its kind."""

from dense_lstm_zoo.exports.onnx import (
    basic,
    cells,
    characters,
    convolution,
    highway,
    interaction,
    pooling,
    recurrent,
    stack,
    text_encoder,
    tokens,
)
from dense_lstm_zoo.exports.onnx.graph import OPSET, WEIGHTS, Graph, Value, WeightsFile
from dense_lstm_zoo.exports.onnx.walk import converts, trace
from dense_lstm_zoo.exports.onnx.words import word_inputs

__all__ = [
    "OPSET",
    "WEIGHTS",
    "Graph",
    "Value",
    "WeightsFile",
    "basic",
    "cells",
    "characters",
    "converts",
    "convolution",
    "highway",
    "interaction",
    "pooling",
    "recurrent",
    "stack",
    "text_encoder",
    "tokens",
    "trace",
    "word_inputs",
]
