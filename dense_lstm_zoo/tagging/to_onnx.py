"""A tagger as an ONNX graph, from padded ids to tags and their probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.data.token_sizes import AFFIX, MAX_CHARS
from dense_lstm_zoo.exports.onnx import crf, folder, trace
from dense_lstm_zoo.exports.onnx.basic import numbers
from dense_lstm_zoo.exports.onnx.graph import Graph
from dense_lstm_zoo.exports.onnx.rows import at_least_one_row, first_rows
from dense_lstm_zoo.exports.onnx.words import word_inputs
from dense_lstm_zoo_runtime.chain import CRF_WEIGHTS

if TYPE_CHECKING:
    from dense_lstm_zoo.storage.snapshots import Target
    from dense_lstm_zoo.tagging.bundle import TaggingBundle

# Of the inputs besides the words: their sizes after batch and time.
_SIZES: dict[str, tuple[int, ...]] = {"case_ids": (), "affix_ids": (2 * AFFIX,), "char_ids": (MAX_CHARS,)}


def export(bundle: TaggingBundle, target: Target, **options: Any) -> Path:
    """Write a tagger as an ONNX export, and return its path. ``exports.onnx.folder.write`` has the options."""
    return folder.write(bundle, target, graphs, **options)


def graphs(bundle: TaggingBundle, *, weights: str = "float32", shared: bool = False) -> dict[str, Graph]:
    """Return the graph of a tagger, by the name of its file.

    Inputs, int32, right-padded with 0. One that the model does not read is left out:
        - ``token_ids`` and ``case_ids`` (batch, time), ``affix_ids`` (batch, time, 10), ``char_ids`` (batch, time, 24).
        - With ``shared``, ``embedding``, float32 (batch, time, dim), and ``lengths`` (batch,) replace ``token_ids``.

    Outputs, (batch, time), of which those past a row's length are not to be read:
        - ``tags``: The likeliest tags, int32. With a CRF, those of the likeliest sequence.
        - ``probabilities``: The probability of each of them, float32.
        - ``logits``, (batch, time, tags): The scores of all tags.
        - ``transitions`` (tags, tags), ``start`` and ``end`` (tags,), float32: The weights of the CRF, if there is one.
          The probability of a span is computed with them.

    Args:
        bundle: A tagger.
        weights: How large weights are stored. See ``Graph``.
        shared: Whether the word vectors are inputs.
    """
    graph, network = Graph(weights), bundle.network
    inputs = word_inputs(graph, network, shared)
    for name in network.input:
        if name in _SIZES:
            inputs[name] = graph.input(name, "int32", ("batch", "time", *_SIZES[name]))
    inputs, rows = at_least_one_row(graph, inputs)
    logits, lengths = trace(graph, network, inputs, [network.outputs[0], network.get_layer("lengths").output])
    field = getattr(bundle.model, "crf", None)
    tags, shares = crf.likeliest(graph, logits) if field is None else crf.decoded(graph, field, logits, lengths)
    graph.output(first_rows(graph, tags, rows), "tags", "int32", ("batch", "time"))
    graph.output(first_rows(graph, shares, rows), "probabilities", "float32", ("batch", "time"))
    graph.output(first_rows(graph, logits, rows), "logits", "float32", ("batch", "time", len(bundle.labels)))
    if field is not None:
        for name in CRF_WEIGHTS:
            values = numbers(getattr(field, name))
            graph.output(graph.constant(values), name, "float32", values.shape)
    graph.prune()
    return {"model.onnx": graph}
