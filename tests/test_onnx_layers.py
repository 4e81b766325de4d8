"""Layers and classifiers as ONNX graphs: the values of a NumPy loop, or of the Keras model, in ONNX Runtime."""

import functools
from collections.abc import Iterator

import keras
import numpy as np
import onnx
import onnxruntime
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo import layers
from dense_lstm_zoo.classification.to_onnx import graphs
from dense_lstm_zoo.onnx_export import OPSET, WEIGHTS, Graph, trace
from dense_lstm_zoo.onnx_export.rows import at_least_one_row, first_rows
from tests import bundle_harness, layer_harness, reference_pooling
from tests import model_harness as harness

CLASSIFIERS = [case for case in harness.CHOICES if case.task == "classification"]
PLAIN = [case for case in CLASSIFIERS if not case.chosen]
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


def graph_of(model: keras.Model, weights: str = "float32") -> onnx.ModelProto:
    """A functional model as a graph that has passed the checker."""
    graph = Graph(weights)
    inputs = {}
    for tensor in model.inputs:
        sizes = ["batch", "time", *tensor.shape[2:]][: len(tensor.shape)]
        inputs[tensor.name] = graph.input(tensor.name, tensor.dtype, sizes)
    inputs, rows = at_least_one_row(graph, inputs)
    for number, found in enumerate(trace(graph, model, inputs)):
        sizes = ["batch" if place == 0 else size or f"size_{place}" for place, size in enumerate(found.shape)]
        graph.output(first_rows(graph, found, rows), f"output_{number}", "float32", sizes)
    made = graph.model("model")
    onnx.checker.check_model(made, full_check=True)
    return made


def session(made: onnx.ModelProto) -> onnxruntime.InferenceSession:
    """The graph in ONNX Runtime, in one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])


@functools.cache
def shared(case: harness.Case) -> onnx.ModelProto:
    """The case's model as a graph."""
    return graph_of(harness.shared(case))


def fed(model: keras.Model, token_ids: np.ndarray) -> dict[str, np.ndarray]:
    """What a classifier takes, by name."""
    inputs = harness.inputs(model, token_ids)
    return inputs if isinstance(inputs, dict) else {"token_ids": inputs}


def in_keras(model: keras.Model, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """What the Keras model says."""
    with harness.running(model, "native"):
        return np.asarray(model(inputs if len(inputs) > 1 else inputs["token_ids"]))


def every_node(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """The nodes of a graph and of the bodies of its loops."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            yield from every_node(attribute.g)


@pytest.mark.parametrize("case", CLASSIFIERS, ids=str)
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


@pytest.mark.parametrize("case", [*PLAIN, harness.Case("blstm_2dcnn", (("pool_size", None),))], ids=str)
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
    given = {key: ids.numpy() for key, ids in inputs.items()}
    if shared_words:
        ids = given.pop("token_ids")
        given["lengths"] = (ids > 0).sum(axis=1).astype(np.int32)
        for layer in ("embedding", "static_embedding")[: 2 if name == "cnn_mc" else 1]:
            given[layer] = bundle.model.get_layer(layer).get_matrix()[ids]
    probabilities, logits, found = run.run(["probabilities", "logits", "vectors"], given)
    np.testing.assert_allclose(logits, expected, atol=2e-6)
    powers = np.exp(expected / 0.5)
    np.testing.assert_allclose(probabilities, powers / powers.sum(axis=1, keepdims=True), atol=2e-6)
    np.testing.assert_allclose(found, vectors, atol=2e-6)
    empty = run.run(["probabilities", "logits", "vectors"], {key: values[:0] for key, values in given.items()})
    assert [one.shape for one in empty] == [(0, *one.shape[1:]) for one in (probabilities, logits, found)]


@pytest.mark.parametrize("case", CLASSIFIERS, ids=str)
def test_a_graph_has_core_operators_alone(case):
    made = shared(case)
    assert [(opset.domain, opset.version) for opset in made.opset_import] == [("", OPSET)]
    assert {node.domain for node in every_node(made.graph)} == {""}
    assert not made.functions


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
    made = graph_of(model, weights)
    smaller = {"float16": onnx.TensorProto.FLOAT16, "int8": onnx.TensorProto.INT8}[weights]
    assert smaller in {tensor.data_type for tensor in made.graph.initializer}
    return session(made).run(None, inputs)[0], in_keras(model, inputs)


@pytest.mark.parametrize("case", PLAIN, ids=str)
def test_smaller_weights_change_a_classifiers_logits_by_their_rounding_alone(case):
    model = wide(case)
    # A weight is off by at most 2^-11 of itself, or by 1/254 of the largest beside it: a few times the others.
    for weights, share in (("float16", 2e-3), ("int8", 5e-2)):
        found, expected = rounded_logits(model, weights)
        assert 0 < np.abs(found - expected).max() < share * np.abs(expected).max(), weights


@pytest.mark.parametrize("case", PLAIN, ids=str)
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
            found, expected = rounded_logits(model, weights)
            np.testing.assert_allclose(found, expected, atol=1e-5)
    finally:
        model.set_weights(before)


def _map(kernel_size: int) -> layer_harness.Case:
    return layer_harness.Case(
        f"map_convolution_of_{kernel_size}",
        lambda: layers.MapConvolutionPooling(3, kernel_size),
        reference_pooling.map_convolution_pooling,
    )


LAYERS = [
    *(
        case
        for case in layer_harness.CASES
        if case.name.startswith(("pooling_", "convolution_", "map_", "dynamic_self_attention", "dense_bilstm"))
        or case.name in ("lstm", "bilstm")
    ),
    _map(2),
    _map(4),
]


@pytest.mark.parametrize("case", LAYERS, ids=lambda case: case.name)
def test_the_graph_of_a_layer_has_the_values_of_its_oracle(case):
    layer = layer_harness.built(case)
    x, lengths = keras.Input((None, layer_harness.FEATURES), name="x"), keras.Input((), dtype="int32", name="lengths")
    run = session(graph_of(keras.Model([x, lengths], layer(x, lengths=lengths))))
    for given, values in (
        (layer_harness.LENGTHS, layer_harness.inputs()),
        (np.array([11, 2], np.int32), layer_harness.inputs(1, batch=2, time=13)),
    ):
        expected = layer_harness.flat(case.oracle(values, given, layer.get_weights()))
        found = run.run(None, {"x": values, "lengths": given})
        for a, b in zip(found, expected, strict=True):  # states past a row's length are not read
            np.testing.assert_allclose(harness.real_part(a, given), harness.real_part(b, given), atol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        *({"mode": mode, "iterations": n} for mode in layers.dynamic_interaction.MODES for n in (1, 2, 3)),
        {"mode": "vector", "weights": "constant"},
        {"mode": "projected_vector", "weights": "constant"},
        {"mode": "projected_vector", "units": 4},
        {"mode": "position", "units": 1},
    ],
    ids=str,
)
def test_the_graph_of_an_interaction_takes_lower_layers_of_different_widths(options):
    widths = (3, 2, 4, 6)
    inputs = [keras.Input((None, width), name=f"states_{j}") for j, width in enumerate(widths)]
    lengths = keras.Input((), dtype="int32", name="lengths")
    layer = layers.DynamicInteractionPooling(**options)
    model = keras.Model([*inputs, lengths], layer(inputs, lengths=lengths))
    rng = np.random.default_rng(5)
    layer.set_weights([rng.normal(scale=0.5, size=w.shape) for w in layer.get_weights()])
    *lower, top = (rng.normal(size=(4, 6, width)).astype(np.float32) for width in widths)
    expected, *_ = reference_pooling.dynamic_interaction(
        lower,
        top,
        layer_harness.LENGTHS,
        layer.get_weights(),
        layer.mode,
        layer.iterations,
        layer.weighting == "constant",
    )
    given = {f"states_{j}": values for j, values in enumerate([*lower, top])}
    found = session(graph_of(model)).run(None, {**given, "lengths": layer_harness.LENGTHS})[0]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def characters(sizes: tuple[int, ...], depth: int) -> tuple[keras.layers.Layer, onnx.ModelProto]:
    """A convolution over characters and its graph."""
    layer = layers.CharacterCNN(9, 3, 4, kernel_sizes=sizes, num_layers=depth)
    rng = np.random.default_rng(0)
    layer.set_weights([rng.normal(size=w.shape) for w in layer.get_weights()])
    ids = keras.Input((None, 24), dtype="int32", name="char_ids")
    return layer, graph_of(keras.Model(ids, layer(ids)))


def spelled(*lengths: int, seed: int = 0) -> np.ndarray:
    """Words of these lengths, (1, words, 24)."""
    drawn = np.random.default_rng(seed).integers(1, 9, (1, len(lengths), 24))
    return np.where(np.arange(24) < np.asarray(lengths)[:, None], drawn, 0).astype(np.int32)


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("sizes", [(5,), (2, 3), (3, 4, 5)], ids=str)
def test_the_graph_of_character_convolutions_pads_words_shorter_than_a_window_as_the_layer_does(sizes, depth):
    layer, made = characters(sizes, depth)
    run = session(made)
    for lengths in (range(25), (1,), (0,), (3, 3, 1, 0)):
        ids = spelled(*lengths)
        np.testing.assert_allclose(run.run(None, {"char_ids": ids})[0], layer(ids), atol=1e-5)
    rows = spelled(*range(12)).reshape(3, 4, 24)
    np.testing.assert_allclose(run.run(None, {"char_ids": rows})[0], layer(rows), atol=1e-5)
    for shape in ((0, 5, 24), (2, 0, 24)):
        assert run.run(None, {"char_ids": np.zeros(shape, np.int32)})[0].shape == (*shape[:2], 4)


def test_the_graph_of_character_convolutions_reads_each_distinct_word_once_up_to_the_longest():
    layer, made = characters((3,), 1)
    (convolution,) = [node for node in made.graph.node if node.op_type == "Conv"]
    made.graph.output.append(onnx.helper.make_tensor_value_info(convolution.input[0], onnx.TensorProto.FLOAT, None))
    words = spelled(7, 2, 4)[0]
    ids = words[np.arange(10_000) % 3][None]
    found, read = session(made).run(None, {"char_ids": ids})
    assert read.shape == (4, 3, 7)  # with a word of padding
    np.testing.assert_allclose(found[:, :3], layer(ids[:, :3]), atol=1e-5)
    np.testing.assert_array_equal(found, found[:, np.arange(10_000) % 3])


@pytest.mark.parametrize("options", [{"char_kernel_sizes": (2, 3, 4)}, {"char_layers": 2}], ids=str)
def test_the_graph_of_a_classifier_takes_several_widths_and_layers_of_character_convolutions(options):
    model = harness.tiny("bilstm", char_filters=5, **options)
    inputs = fed(model, harness.given_lengths(harness.LENGTHS))
    inputs["char_ids"][:, :, 3:] = 0
    inputs["char_ids"][0, :, 1:] = 0
    np.testing.assert_allclose(session(graph_of(model)).run(None, inputs)[0], in_keras(model, inputs), atol=2e-6)


def test_a_layer_without_a_form_is_refused_by_name_with_those_that_have_one():
    x = keras.Input((None, 4), name="x")
    with pytest.raises(ValueError, match=r"'odd' \(LayerNormalization\) has no ONNX form.*keras\.Dense.*saved_model"):
        graph_of(keras.Model(x, keras.layers.LayerNormalization(name="odd")(x)))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda x, n: layers.LSTM(3, return_sequences=False)(x, lengths=n), "returns its sequence"),
        (lambda x, n: layers.BiLSTM(3, return_state=True)(x, lengths=n)[0], "returns its sequence"),
        (lambda x, n: keras.layers.Dense(3, activation="gelu")(x), "'gelu'.*Known: relu"),
        (lambda x, n: x[:, 1:], r"Only x\[\.\.\., start:stop\]"),
        (lambda x, n: x[..., ::2], r"Only x\[\.\.\., start:stop\]"),
    ],
)
def test_what_a_form_does_not_cover_is_refused(make, said):
    x, lengths = keras.Input((None, 4), name="x"), keras.Input((), dtype="int32", name="lengths")
    with pytest.raises(ValueError, match=said):
        graph_of(keras.Model([x, lengths], make(x, lengths)))


def test_only_known_types_of_weights_are_taken():
    assert WEIGHTS == ("float32", "float16", "int8")
    with pytest.raises(ValueError, match="float8"):
        Graph("float8")
    model = zoo.build("bilstm", **{**harness.tiny_arguments("bilstm"), "vocab_size": 200})
    model.get_layer("embedding").set_matrix(np.full((200, 7), 1e5, np.float32))
    with pytest.raises(ValueError, match="float16 cannot hold"):
        graph_of(model, "float16")
