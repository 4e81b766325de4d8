"""A classifier as an ONNX graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.data.token_sizes import MAX_CHARS
from dense_lstm_zoo.exports.onnx import Graph, folder, trace, word_inputs
from dense_lstm_zoo.exports.onnx.rows import at_least_one_row, first_rows

if TYPE_CHECKING:
    from dense_lstm_zoo.classification.bundle import ClassificationBundle
    from dense_lstm_zoo.storage.snapshots import Target


def export(bundle: ClassificationBundle, target: Target, **options: Any) -> Path:
    """Write a classifier as an ONNX export, and return its path. ``exports.onnx.folder.write`` has the options."""
    return folder.write(bundle, target, graphs, **options)


def graphs(bundle: ClassificationBundle, *, weights: str = "float32", shared: bool = False) -> dict[str, Graph]:
    """Return the graph of a classifier, by the name of its file.

    It reads ids, right-padded with 0: ``token_ids`` (batch, time) int32 and, for a model that reads characters,
    ``char_ids`` (batch, time, 24) int32. It returns ``probabilities`` (batch, classes), with the temperature of a
    calibrated bundle and, where texts may have several labels, of each label by itself, ``logits`` (batch, classes) and
    ``vectors`` (batch, width), what ``bundle.embed`` returns.

    Args:
        bundle: A trained classifier.
        weights: How weights are stored: ``float32``, ``float16`` or ``int8``.
        shared: Whether word vectors are inputs, (batch, time, dim) under the name of their layer, beside ``lengths``
            (batch,) int32 instead of ``token_ids``.
    """
    graph, model = Graph(weights), bundle.model
    inputs = word_inputs(graph, model, shared)
    if bundle.vocabulary.chars:
        inputs["char_ids"] = graph.input("char_ids", "int32", ("batch", "time", MAX_CHARS))
    inputs, rows = at_least_one_row(graph, inputs)
    outputs = trace(graph, model, inputs, [model.get_layer("logits").input, model.output])
    vectors, logits = (first_rows(graph, value, rows) for value in outputs)
    scaled: str = logits
    if bundle.temperature is not None:
        scaled = graph.op("Div", logits, graph.constant(bundle.temperature))
    classes, width = len(bundle.labels), bundle.embedding_width
    shares = graph.op("Sigmoid", scaled) if bundle.is_several else graph.op("Softmax", scaled, axis=1)
    graph.output(shares, "probabilities", "float32", ("batch", classes))
    graph.output(logits, "logits", "float32", ("batch", classes))
    graph.output(vectors, "vectors", "float32", ("batch", width))
    return {"model.onnx": graph}
