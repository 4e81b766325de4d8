"""A language model as two ONNX graphs: the next words step by step, and the log probability of given ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import keras

from dense_lstm_zoo.onnx_export import Graph, Value, trace

if TYPE_CHECKING:
    from dense_lstm_zoo.language.bundle import LanguageModelBundle

STEP, SCORE = "model.onnx", "score.onnx"


def graphs(bundle: LanguageModelBundle, *, weights: str = "float32", shared: bool = False) -> dict[str, Graph]:
    """Return a language model's graphs by the names of their files. Their large weights are equal.

    Both compute in float32 and take the states of each layer, ``state_1_h``, ``state_1_c``, ... (batch, units), zeros
    at the start of a text, and return them under ``next_`` and the name. Any batch size and time are possible.

        - ``model.onnx``: ``token_ids`` (batch, time) to ``log_probabilities`` (batch, time, words) of the next word.
        - ``score.onnx``: ``token_ids`` (batch, time + 1) to ``log_probabilities`` (batch, time) of the ids from the
          second on, each given those before it and the states.

    Args:
        bundle: A trained language model.
        weights: How large weights are stored; see ``Graph``.
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
    logits, states = _run(graph, network, graph.input("token_ids", "int32", ("batch", "time")))
    words = network.outputs[0].shape[-1]
    found = graph.op("LogSoftmax", logits, axis=-1)
    graph.output(found, "log_probabilities", "float32", ("batch", "time", words))
    return _with_states(graph, network, states)


def _score(network: keras.Model, weights: str) -> Graph:
    graph = Graph(weights)
    ids = graph.input("token_ids", "int32", ("batch", "time + 1"))
    logits, states = _run(graph, network, Value(graph.slice(ids, 1, 0, -1), (None, None)))
    # A LogSoftmax would be another tensor of the logits' size, which grows with the vocabulary.
    targets = graph.op("Unsqueeze", graph.slice(ids, 1, 1), graph.ints(2))
    own = graph.op("GatherElements", logits, targets, axis=2)
    in_all = graph.op("ReduceLogSumExp", logits, graph.ints(2), keepdims=1)
    found = graph.op("Squeeze", graph.op("Sub", own, in_all), graph.ints(2))
    graph.output(found, "log_probabilities", "float32", ("batch", "time"))
    return _with_states(graph, network, states)


def _run(graph: Graph, network: keras.Model, ids: Value) -> tuple[str, list[Value]]:
    """Add the network, which reads the ids and the graph's inputs of states; return its logits and states."""
    states = [graph.input(state.name, "float32", ("batch", state.shape[-1])) for state in network.inputs[1:]]
    logits, *after = trace(graph, network, {"token_ids": ids, **{str(state): state for state in states}})
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
    graph.nodes = [node for node in graph.nodes if not any(node is one for one in old)]
    rows = graph.op("Gemm", graph.op("Flatten", features, axis=2), matrix, add.input[1], transB=int(turned))
    shape = graph.op("Concat", graph.op("Shape", features, end=2), graph.ints(words), axis=0)
    return graph.op("Reshape", rows, shape)


def _with_states(graph: Graph, network: keras.Model, states: list[Value]) -> Graph:
    for before, state in zip(network.inputs[1:], states, strict=True):
        graph.output(state, f"next_{before.name}", "float32", ("batch", before.shape[-1]))
    return graph
