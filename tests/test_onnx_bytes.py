"""LSTMs whose products are of bytes: near the values of the Keras layer, and the same in any batch."""

import functools

import keras
import numpy as np
import onnx
import pytest

from dense_lstm_zoo import layers
from dense_lstm_zoo.exports.onnx import eight_bits
from tests.onnx_harness import every_node, graph_of, session

WORDS, DIM = 300, 80
LENGTHS = np.array([9, 1, 12, 5])


@functools.cache
def network(name: str) -> keras.Model:
    """A model from ids to states, of layers that are wide enough."""
    ids = keras.Input((None,), dtype="int32", name="token_ids")
    lengths = layers.SequenceLengths(name="lengths")(ids)
    words = layers.WordEmbedding(WORDS, DIM, name="embedding")(ids)
    if name == "lstm":
        states = layers.LSTM(70, kernel="native")(words, lengths=lengths)
    elif name == "two layers":
        states = layers.BiLSTM(64, kernel="native")(words, lengths=lengths)
        states = layers.BiLSTM(66, kernel="native")(keras.layers.Concatenate()([words, states]), lengths=lengths)
    else:
        states = layers.DenseBiLSTM(3, 2, 64, return_all_layers=True, kernel="native")(words, lengths=lengths)
    model = keras.Model(ids, states)
    rng = np.random.default_rng(4)
    model.set_weights([rng.normal(scale=0.1, size=w.shape) for w in model.get_weights()])
    table = rng.normal(size=(WORDS, DIM)) * rng.uniform(0.01, 2, DIM)  # features of different sizes, and one of zeros
    table[:, 7] = 0
    model.get_layer("embedding").set_matrix(table.astype(np.float32))
    return model


@functools.cache
def graph(name: str, weights: str = "int8") -> onnx.ModelProto:
    """The model as a graph."""
    return graph_of(network(name), weights)


def kinds(proto: onnx.ModelProto) -> list[str]:
    """The operators of ONNX Runtime's own in a graph."""
    return [node.op_type for node in every_node(proto.graph) if node.domain]


def token_ids(lengths: np.ndarray) -> np.ndarray:
    """Random words, padded on the right."""
    ids = np.random.default_rng(1).integers(2, WORDS, (len(lengths), lengths.max()))
    return np.where(np.arange(lengths.max()) < lengths[:, None], ids, 0).astype(np.int32)


@pytest.mark.parametrize(
    ("name", "operators"),
    [
        ("lstm", ["DynamicQuantizeLSTM"]),
        ("two layers", ["DynamicQuantizeLSTM"] * 2),
        ("narrow layers", ["MatMulIntegerToFloat", "DynamicQuantizeLSTM"]),
    ],
)
def test_states_are_near_those_of_the_layer_and_the_same_alone_longer_and_in_other_company(name, operators):
    assert kinds(graph(name)) == operators
    assert kinds(graph(name, "float32")) == kinds(graph(name, "float16")) == []
    run = session(graph(name))
    ids = token_ids(LENGTHS)
    expected = network(name)(ids)
    states = run.run(None, {"token_ids": ids})
    longer = run.run(None, {"token_ids": np.pad(ids, [(0, 0), (0, 6)])})
    for number, layer_states in enumerate(expected if isinstance(expected, list) else [expected]):
        for i, length in enumerate(LENGTHS):
            row = states[number][i, :length]
            rounding = np.abs(row - np.asarray(layer_states)[i, :length])
            assert rounding.mean() < 0.01
            assert rounding.max() < 0.1
            np.testing.assert_allclose(longer[number][i, :length], row, atol=1e-6)
            alone = run.run(None, {"token_ids": ids[i : i + 1, :length]})[number][0]
            np.testing.assert_allclose(alone, row, atol=1e-6)
    assert run.run(None, {"token_ids": ids[:0]})[0].shape[0] == 0


def test_the_states_of_a_long_text_stay_near_those_of_the_layer():
    run, ids = session(graph("lstm")), token_ids(np.array([2000]))
    states = run.run(None, {"token_ids": ids})[0]
    assert np.abs(states - np.asarray(network("lstm")(ids))).mean() < 0.01


def test_narrow_and_unbounded_layers_keep_products_in_float32():
    x, lengths = keras.Input((None, 80), name="x"), keras.Input((), dtype="int32", name="lengths")
    assert not kinds(graph_of(keras.Model([x, lengths], layers.BiLSTM(64)(x, lengths=lengths)), "int8"))
    ids = keras.Input((None,), dtype="int32", name="token_ids")
    counts = layers.SequenceLengths()(ids)
    words = layers.WordEmbedding(WORDS, DIM)(ids)
    assert not kinds(graph_of(keras.Model(ids, layers.BiLSTM(32)(words, lengths=counts)), "int8"))


@pytest.mark.parametrize("inputs", [1, 2, 7, 8])
def test_two_weights_side_by_side_fit_into_sixteen_bits_and_are_off_by_half_a_step(inputs):
    array = np.random.default_rng(inputs).normal(size=(2, inputs, 50)).astype(np.float32)
    array[:, :, 3] = 0
    values, scales = eight_bits._bytes(array)
    sizes = np.abs(np.pad(values.astype(int), [(0, 0), (0, inputs % 2), (0, 0)]))
    assert (255 * (sizes[:, 0::2] + sizes[:, 1::2])).max() < 2**15
    assert (np.abs(values * scales - array) <= scales / 2 + 1e-6).all()
