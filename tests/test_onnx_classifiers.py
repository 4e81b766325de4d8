"""Classifiers as ONNX graphs: the logits of the Keras models, in ONNX Runtime."""

import functools

import keras
import numpy as np
import onnx
import pytest

from dense_lstm_zoo.classification.to_onnx import graphs
from dense_lstm_zoo.exports.onnx import OPSET
from tests import bundle_harness
from tests import model_harness as harness
from tests.onnx_harness import every_node, graph_of, session
from tests.slow_cases import slow_but

CLASSIFIERS = [case for case in harness.CHOICES if case.task == "classification"]
PLAIN = [case for case in CLASSIFIERS if not case.options]
# One of each kind of graph, for what holds of the weights and sizes of any.
KINDS = {"bilstm", "dc_bilstm", "stacked_di_bilstm", "dsa_bilstm", "cnn_mc", "blstm_2dcnn", "lm_classifier"}
QUICK = [case for case in PLAIN if case.name in KINDS]
# Layers whose weights are large enough to be rounded, with few words.
WIDE = {
    "vocab_size": 60,
    "embedding_dim": 40,
    "units": 24,
    "dense_units": 16,
    "top_units": 24,
    "attention_units": 40,
    "filters": 24,
}


@functools.cache
def shared(case: harness.Case) -> onnx.ModelProto:
    """The case's model as a graph."""
    return graph_of(harness.shared(case))


def fed(model: keras.Model, token_ids: np.ndarray) -> dict[str, np.ndarray]:
    """A classifier's inputs, by name."""
    inputs = harness.inputs(model, token_ids)
    return inputs if isinstance(inputs, dict) else {"token_ids": inputs}


def in_keras(model: keras.Model, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The outputs of the Keras model."""
    with harness.running(model, "native"):
        return np.asarray(model(inputs if len(inputs) > 1 else inputs["token_ids"]))


@harness.slow_but_one_of_each_choice(CLASSIFIERS)
def test_the_graph_of_every_classifier_has_its_logits_whatever_the_padding_and_company(case):
    model, run = harness.shared(case), session(shared(case))
    inputs = fed(model, harness.given_lengths(harness.LENGTHS))
    expected = in_keras(model, inputs)
    np.testing.assert_allclose(run.run(None, inputs)[0], expected, atol=2e-6)
    longer = {name: np.pad(x, [(0, 0), (0, 5), *[(0, 0)] * (x.ndim - 2)]) for name, x in inputs.items()}
    np.testing.assert_allclose(run.run(None, longer)[0], expected, atol=2e-6)
    for i, length in enumerate(harness.LENGTHS):
        alone = {name: x[i : i + 1, : max(1, length)] for name, x in inputs.items()}
        np.testing.assert_allclose(run.run(None, alone)[0], expected[i : i + 1], atol=2e-6)
    for empty in (harness.given_lengths([], 3), harness.given_lengths([], 1)):
        assert run.run(None, fed(model, empty))[0].shape == (0, harness.CLASSES)


@pytest.mark.parametrize(
    "case", [*slow_but(QUICK, PLAIN), harness.Case("blstm_2dcnn", (("pool_size", None),))], ids=str
)
def test_the_graph_of_a_classifier_reads_a_thousand_words(case):
    model = harness.shared(case)
    inputs = fed(model, harness.given_lengths([1100, 70], 1100))
    np.testing.assert_allclose(session(shared(case)).run(None, inputs)[0], in_keras(model, inputs), atol=1e-5)


@pytest.mark.parametrize("shared_words", [False, True])
@pytest.mark.parametrize("name", ["bilstm", "cnn_mc"])
def test_the_graph_of_a_bundle_gives_logits_probabilities_and_vectors_also_of_an_empty_batch(name, shared_words):
    bundle = bundle_harness.bundle(name, char_filters=4, char_dim=3)
    bundle.metrics["temperature"] = 0.5
    run = session(graphs(bundle, shared=shared_words)["model.onnx"].model("model"))
    inputs = bundle.text_to_ids.padded(["the film was very long", "qwerty", ""])
    expected = bundle.model(inputs).numpy()
    vectors = bundle.embed(["the film was very long", "qwerty", ""])
    feeds = {key: ids.numpy() for key, ids in inputs.items()}
    if shared_words:
        ids = feeds.pop("token_ids")
        feeds["lengths"] = (ids > 0).sum(axis=1).astype(np.int32)
        for layer in ("embedding", "static_embedding")[: 2 if name == "cnn_mc" else 1]:
            feeds[layer] = bundle.model.get_layer(layer).get_matrix()[ids]
    probabilities, logits, actual_vectors = run.run(["probabilities", "logits", "vectors"], feeds)
    np.testing.assert_allclose(logits, expected, atol=2e-6)
    powers = np.exp(expected / 0.5)
    np.testing.assert_allclose(probabilities, powers / powers.sum(axis=1, keepdims=True), atol=2e-6)
    np.testing.assert_allclose(actual_vectors, vectors, atol=2e-6)
    empty = run.run(["probabilities", "logits", "vectors"], {key: values[:0] for key, values in feeds.items()})
    assert [array.shape for array in empty] == [
        (0, *array.shape[1:]) for array in (probabilities, logits, actual_vectors)
    ]


@harness.slow_but_one_of_each_choice(CLASSIFIERS)
def test_a_graph_has_core_operators_alone(case):
    proto = shared(case)
    assert [(opset.domain, opset.version) for opset in proto.opset_import] == [("", OPSET)]
    assert {node.domain for node in every_node(proto.graph)} == {""}
    assert not proto.functions


@functools.cache
def wide(case: harness.Case) -> keras.Model:
    """The case's model with layers that are wide enough for their weights to be rounded."""
    model = case.build(**case.accepted(**WIDE))
    rng = np.random.default_rng(3)
    model.set_weights([rng.normal(scale=0.2, size=w.shape) for w in model.get_weights()])
    return model


def rounded_logits(model: keras.Model, weights: str) -> tuple[np.ndarray, np.ndarray]:
    """The logits of the graph with such weights, and of the Keras model."""
    inputs = fed(model, harness.given_lengths(harness.LENGTHS))
    proto = graph_of(model, weights)
    smaller = {"float16": onnx.TensorProto.FLOAT16, "int8": onnx.TensorProto.INT8}[weights]
    assert smaller in {tensor.data_type for tensor in proto.graph.initializer}
    return session(proto).run(None, inputs)[0], in_keras(model, inputs)


@pytest.mark.parametrize("case", slow_but(QUICK, PLAIN), ids=str)
def test_smaller_weights_change_a_classifiers_logits_by_their_rounding_alone(case):
    model = wide(case)
    # A weight is off by at most 2^-11 of itself, or by 1/254 of the largest beside it: a few times the others.
    for weights, share in (("float16", 2e-3), ("int8", 5e-2)):
        logits, expected = rounded_logits(model, weights)
        assert 0 < np.abs(logits - expected).max() < share * np.abs(expected).max(), weights


@pytest.mark.parametrize("case", slow_but(QUICK, PLAIN), ids=str)
def test_weights_that_the_smaller_type_holds_change_nothing(case):
    model = wide(case)
    before = model.get_weights()
    exact = {
        "float16": [w.astype(np.float16) for w in before],
        "int8": [0.1 * np.sign(w) for w in before],  # each is the largest beside it
    }
    try:
        for weights, values in exact.items():
            model.set_weights(values)
            logits, expected = rounded_logits(model, weights)
            np.testing.assert_allclose(logits, expected, atol=1e-5)
    finally:
        model.set_weights(before)


@pytest.mark.parametrize("options", [{"char_kernel_sizes": (2, 3, 4)}, {"char_layers": 2}], ids=str)
def test_the_graph_of_a_classifier_takes_several_widths_and_layers_of_character_convolutions(options):
    model = harness.tiny("bilstm", char_filters=5, **options)
    inputs = fed(model, harness.given_lengths(harness.LENGTHS))
    inputs["char_ids"][:, :, 3:] = 0
    inputs["char_ids"][0, :, 1:] = 0
    np.testing.assert_allclose(session(graph_of(model)).run(None, inputs)[0], in_keras(model, inputs), atol=2e-6)
