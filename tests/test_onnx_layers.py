"""Layers as ONNX graphs: the values of a loop in NumPy, or of the Keras layer, in ONNX Runtime."""

import keras
import numpy as np
import onnx
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo import layers
from dense_lstm_zoo.exports.onnx import WEIGHTS, Graph
from tests import layer_harness, reference_pooling
from tests import model_harness as harness
from tests.onnx_harness import graph_of, session


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
    layer = layer_harness.new_layer(case)
    x, lengths = keras.Input((None, layer_harness.FEATURES), name="x"), keras.Input((), dtype="int32", name="lengths")
    run = session(graph_of(keras.Model([x, lengths], layer(x, lengths=lengths))))
    for row_lengths, values in (
        (layer_harness.LENGTHS, layer_harness.inputs()),
        (np.array([11, 2], np.int32), layer_harness.inputs(1, batch=2, time=13)),
    ):
        expected = layer_harness.flat(case.oracle(values, row_lengths, layer.get_weights()))
        outputs = run.run(None, {"x": values, "lengths": row_lengths})
        for a, b in zip(outputs, expected, strict=True):  # states past a row's length are not read
            np.testing.assert_allclose(harness.real_part(a, row_lengths), harness.real_part(b, row_lengths), atol=1e-5)


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
    feeds = {f"states_{j}": values for j, values in enumerate([*lower, top])}
    pooled = session(graph_of(model)).run(None, {**feeds, "lengths": layer_harness.LENGTHS})[0]
    np.testing.assert_allclose(pooled, expected, atol=1e-5)


def characters(sizes: tuple[int, ...], depth: int) -> tuple[keras.layers.Layer, onnx.ModelProto]:
    """A convolution over characters and its graph."""
    layer = layers.CharacterCNN(9, 3, 4, kernel_sizes=sizes, num_layers=depth)
    rng = np.random.default_rng(0)
    layer.set_weights([rng.normal(size=w.shape) for w in layer.get_weights()])
    ids = keras.Input((None, 24), dtype="int32", name="char_ids")
    return layer, graph_of(keras.Model(ids, layer(ids)))


def spelled(*lengths: int, seed: int = 0) -> np.ndarray:
    """Words of these lengths, (1, words, 24)."""
    character_ids = np.random.default_rng(seed).integers(1, 9, (1, len(lengths), 24))
    return np.where(np.arange(24) < np.asarray(lengths)[:, None], character_ids, 0).astype(np.int32)


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("sizes", [(5,), (2, 3), (3, 4, 5)], ids=str)
def test_the_graph_of_character_convolutions_pads_words_shorter_than_a_window_as_the_layer_does(sizes, depth):
    layer, proto = characters(sizes, depth)
    run = session(proto)
    for lengths in (range(25), (1,), (0,), (3, 3, 1, 0)):
        ids = spelled(*lengths)
        np.testing.assert_allclose(run.run(None, {"char_ids": ids})[0], layer(ids), atol=1e-5)
    rows = spelled(*range(12)).reshape(3, 4, 24)
    np.testing.assert_allclose(run.run(None, {"char_ids": rows})[0], layer(rows), atol=1e-5)
    for shape in ((0, 5, 24), (2, 0, 24)):
        assert run.run(None, {"char_ids": np.zeros(shape, np.int32)})[0].shape == (*shape[:2], 4)


def test_the_graph_of_character_convolutions_reads_each_distinct_word_once_up_to_the_longest():
    layer, proto = characters((3,), 1)
    (convolution,) = [node for node in proto.graph.node if node.op_type == "Conv"]
    sizes = [None, None, None]
    words_read = onnx.helper.make_tensor_value_info(convolution.input[0], onnx.TensorProto.FLOAT, sizes)
    proto.graph.output.append(words_read)
    words = spelled(7, 2, 4)[0]
    ids = words[np.arange(10_000) % 3][None]
    features, distinct = session(proto).run(None, {"char_ids": ids})
    assert distinct.shape == (4, 3, 7)  # with a word of padding
    np.testing.assert_allclose(features[:, :3], layer(ids[:, :3]), atol=1e-5)
    np.testing.assert_array_equal(features, features[:, np.arange(10_000) % 3])


def test_a_layer_without_a_form_is_refused_by_name_with_those_that_have_one():
    x = keras.Input((None, 4), name="x")
    with pytest.raises(ValueError, match=r"'odd' \(LayerNormalization\) has no ONNX form.*keras\.Dense.*saved_model"):
        graph_of(keras.Model(x, keras.layers.LayerNormalization(name="odd")(x)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x, n: layers.LSTM(3, return_sequences=False)(x, lengths=n), "returns its sequence"),
        (lambda x, n: layers.BiLSTM(3, return_state=True)(x, lengths=n)[0], "returns its sequence"),
        (lambda x, n: keras.layers.Dense(3, activation="gelu")(x), "'gelu'.*Known: relu"),
        (lambda x, n: x[:, 1:], r"Only x\[\.\.\., start:stop\]"),
        (lambda x, n: x[..., ::2], r"Only x\[\.\.\., start:stop\]"),
    ],
)
def test_what_a_form_does_not_cover_is_refused(make, message):
    x, lengths = keras.Input((None, 4), name="x"), keras.Input((), dtype="int32", name="lengths")
    with pytest.raises(ValueError, match=message):
        graph_of(keras.Model([x, lengths], make(x, lengths)))


def test_only_known_types_of_weights_are_taken():
    assert WEIGHTS == ("float32", "float16", "int8")
    with pytest.raises(ValueError, match="float8"):
        Graph("float8")
    model = zoo.build("bilstm", **{**harness.tiny_arguments("bilstm"), "vocab_size": 200})
    model.get_layer("embedding").set_matrix(np.full((200, 7), 1e5, np.float32))
    with pytest.raises(ValueError, match="float16 cannot hold"):
        graph_of(model, "float16")
