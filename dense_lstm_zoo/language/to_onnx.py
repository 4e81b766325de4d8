"""A language model as two ONNX graphs: the next words step by step, and the log probability of given ids."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import keras

from dense_lstm_zoo.exports.onnx import Graph, Value, folder, trace
from dense_lstm_zoo.exports.onnx.rows import at_least_one_row, first_rows

if TYPE_CHECKING:
    from dense_lstm_zoo.language.bundle import LanguageModelBundle
    from dense_lstm_zoo.storage.snapshots import Target

STEP, SCORE = "model.onnx", "score.onnx"


def export(bundle: LanguageModelBundle, target: Target, **options: Any) -> Path:
    """Write a language model as an ONNX export, and return its path. ``exports.onnx.folder.write`` has the options."""
    return folder.write(bundle, target, graphs, **options)


def graphs(bundle: LanguageModelBundle, *, weights: str = "float32", shared: bool = False) -> dict[str, Graph]:
    """Return a language model's graphs by the names of their files. Their large weights are equal.

    Both compute in float32 and take the states of each layer, ``state_1_h``, ``state_1_c``, ... (batch, units), zeros
    at the start of a text, and return them under ``next_`` and the name. Any batch size and time are possible.

        - ``model.onnx``: ``token_ids`` (batch, time) to ``log_probabilities`` (batch, time, words) of the next word.
        - ``score.onnx``: ``token_ids`` (batch, time + 1) to ``log_probabilities`` (batch, time) of the ids from the
          second on, each given those before it and the states.

    Args:
        bundle: A trained language model.
        weights: How large weights are stored. See ``Graph``.
        shared: Refused: only classifiers and taggers leave their word vectors to a shared table.

    Raises:
        ValueError: ``shared`` is true, another ``weights``, or values that float16 cannot hold.
    """
    if shared:
        raise ValueError(
            "shared_words is for classifiers and taggers; a language model's words are its own. Received "
            f"shared_words={shared!r} with {bundle.config['model']}; leave it out."
        )
    return {STEP: _step(bundle.network, weights), SCORE: _score(bundle.network, weights)}


def _step(network: keras.Model, weights: str) -> Graph:
    graph = Graph(weights)
    inputs, rows = _inputs(graph, network, "time")
    logits, states = _run(graph, network, inputs)
    words = network.outputs[0].shape[-1]
    log_p = graph.op("LogSoftmax", logits, axis=-1)
    graph.output(first_rows(graph, log_p, rows), "log_probabilities", "float32", ("batch", "time", words))
    return _with_states(graph, network, states, rows)


def _score(network: keras.Model, weights: str) -> Graph:
    graph = Graph(weights)
    inputs, rows = _inputs(graph, network, "time + 1")
    ids = inputs["token_ids"]
    logits, states = _run(graph, network, {**inputs, "token_ids": Value(graph.slice(ids, 1, 0, -1), (None, None))})
    # A LogSoftmax would be another tensor of the logits' size, which grows with the vocabulary.
    targets = graph.op("Unsqueeze", graph.slice(ids, 1, 1), graph.ints(2))
    own = graph.op("GatherElements", logits, targets, axis=2)
    in_all = graph.op("ReduceLogSumExp", logits, graph.ints(2), keepdims=1)
    log_p = graph.op("Squeeze", graph.op("Sub", own, in_all), graph.ints(2))
    graph.output(first_rows(graph, log_p, rows), "log_probabilities", "float32", ("batch", "time"))
    return _with_states(graph, network, states, rows)


def _inputs(graph: Graph, network: keras.Model, time: str) -> tuple[dict[str, Value], str]:
    """Add the inputs, ids and states, and return them with at least one row, and the number of rows they had."""
    inputs = {"token_ids": graph.input("token_ids", "int32", ("batch", time))}
    for state in network.inputs[1:]:
        inputs[state.name] = graph.input(state.name, "float32", ("batch", state.shape[-1]))
    return at_least_one_row(graph, inputs)


def _run(graph: Graph, network: keras.Model, inputs: dict[str, Value]) -> tuple[str, list[Value]]:
    """Add the network and return its logits and states."""
    logits, *after = trace(graph, network, inputs)
    return _one_product(graph, logits, network.outputs[0].shape[-1]), after


def _one_product(graph: Graph, logits: str, words: int) -> str:
    """Let one ``Gemm`` give the logits, where a ``MatMul`` and an ``Add`` do.

    The logits are then held once instead of twice, and a table that is also looked up is read as it is, not transposed.
    """
    made_by = {name: node for node in graph.nodes for name in node.output}
    add = made_by[logits]
    product = made_by.get(add.input[0])
    readers = sum(add.input[0] in node.input for node in graph.nodes)
    if add.op_type != "Add" or product is None or product.op_type != "MatMul" or readers > 1:
        return logits
    features, matrix = product.input
    old = [add, product]
    turned = matrix in made_by and made_by[matrix].op_type == "Transpose"
    if turned:
        old.append(made_by[matrix])
        matrix = made_by[matrix].input[0]
    graph.nodes = [node for node in graph.nodes if not any(node is other for other in old)]
    rows = graph.op("Gemm", graph.op("Flatten", features, axis=2), matrix, add.input[1], transB=int(turned))
    shape = graph.op("Concat", graph.op("Shape", features, end=2), graph.ints(words), axis=0)
    return graph.op("Reshape", rows, shape)


def _with_states(graph: Graph, network: keras.Model, states: list[Value], rows: str) -> Graph:
    for before, state in zip(network.inputs[1:], states, strict=True):
        graph.output(first_rows(graph, state, rows), f"next_{before.name}", "float32", ("batch", before.shape[-1]))
    return graph
