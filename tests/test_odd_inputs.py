"""Layers on inputs that other people's models give them: integers, masks and states of other shapes, no rows."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from dense_lstm_zoo import layers
from dense_lstm_zoo.layers.initializers import Blocks, OrthogonalBlocks, fresh
from dense_lstm_zoo.layers.pooling import POOLINGS

COUNTS = np.array([[[0, 1, 2, 0], [1, 0, 0, 3], [2, 2, 1, 0]], [[1, 1, 0, 0], [0, 0, 1, 0], [0, 5, 0, 1]]])
NATIVE = {"kernel": "native"}  # nothing here depends on the kernel, and this one compiles nothing
LAYERS = {
    "LSTM": lambda: layers.LSTM(3, **NATIVE),
    "BiLSTM": lambda: layers.BiLSTM(3, **NATIVE),
    "DenseBiLSTM": lambda: layers.DenseBiLSTM(1, 2, 3, **NATIVE),
    "DenseLSTM": lambda: layers.DenseLSTM(2, 3, **NATIVE),
    "SkipBiLSTM": lambda: layers.SkipBiLSTM(3, 3, **NATIVE),
    "HighwayBiLSTM": lambda: layers.HighwayBiLSTM(3, 2, **NATIVE),
    "BiRecurrentHighway": lambda: layers.BiRecurrentHighway(3, 2, **NATIVE),
    "DynamicSelfAttention": lambda: layers.DynamicSelfAttention(3),
    "GatedContextWindow": lambda: layers.GatedContextWindow(3),
    "ConvolutionPooling": lambda: layers.ConvolutionPooling(3),
    "MapConvolutionPooling": lambda: layers.MapConvolutionPooling(3, 2),
    **{
        f"pooling {mode}": lambda mode=mode: layers.MaskedPooling(mode) for mode in ("mean", "max", "last", "attention")
    },
}


@pytest.mark.parametrize("name", LAYERS)
def test_integers_are_read_as_numbers_and_masks_and_lengths_must_fit(name):
    layer = LAYERS[name]()
    expected = layer(COUNTS.astype("float32"))
    outputs = layer(COUNTS)
    assert outputs.dtype == expected.dtype == "float32"
    np.testing.assert_array_equal(outputs, expected)
    np.testing.assert_array_equal(layer(COUNTS > 0), layer((COUNTS > 0).astype("float32")))
    lengths = np.array([3, 2])
    np.testing.assert_array_equal(layer(COUNTS, lengths=lengths[:, None]), layer(COUNTS, lengths=lengths))
    for wrong in (lengths[:1], np.ones((2, 3), "int32"), np.array(3)):
        with pytest.raises(ValueError, match=r"lengths must have the shape \(batch,\) of the inputs, \(2,\); received"):
            layer(COUNTS, lengths=wrong)
    for wrong in (np.ones((2, 4), bool), np.ones((1, 3), bool), np.ones((2, 3, 1), bool)):
        with pytest.raises(ValueError, match=r"mask must have the shape \(batch, time\) of the inputs, \(2, 3\)"):
            layer(COUNTS, mask=wrong)


@pytest.mark.parametrize("name", ["ConvolutionPooling", "MapConvolutionPooling", "DynamicSelfAttention", "pooling max"])
def test_an_empty_batch_has_an_empty_result_outside_graphs_too(name):
    assert LAYERS[name]()(np.zeros((0, 3, 4), "float32")).shape[0] == 0


@pytest.mark.parametrize("mode", POOLINGS)
def test_rows_without_steps_are_pooled_to_zeros(mode):
    pooled = layers.MaskedPooling(mode, num_directions=2)(np.zeros((2, 0, 6), "float32"))
    np.testing.assert_array_equal(pooled, np.zeros((2, 18 if mode == "last_mean_max" else 6)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.ConvolutionPooling(2, (1, 2, 3)),
        lambda: layers.ConvolutionPooling(2, (1, 2, 3), padding="valid"),
        lambda: layers.MapConvolutionPooling(2, 2),
        lambda: layers.MapConvolutionPooling(2, 2, pool_size=2, max_length=5),
    ],
    ids=["full", "valid", "whole map", "blocks"],
)
def test_rows_without_steps_are_convolved_to_zeros(make):
    layer, ids = make(), keras.Input((None, 5))
    graph, x = keras.Model(ids, layer(ids)), np.zeros((2, 0, 5), "float32")
    for pooled in (layer(x), graph.predict(x, verbose=0)):
        np.testing.assert_array_equal(pooled, np.zeros((2, graph.output.shape[-1])))


def test_convolutions_read_features_last_whatever_the_format_of_images():
    x, expected = np.random.default_rng(0).normal(size=(2, 6, 5)).astype("float32"), []
    characters = np.arange(56).reshape(2, 4, 7) % 9 + 1
    makers = [
        layers.ConvolutionPooling,
        layers.MapConvolutionPooling,
        lambda filters: layers.CharacterCNN(10, 3, filters),
    ]
    for data_format in ("channels_last", "channels_first"):
        keras.config.set_image_data_format(data_format)
        try:
            keras.utils.set_random_seed(3)
            expected.append([make(2)(characters if i == 2 else x) for i, make in enumerate(makers)])
        finally:
            keras.config.set_image_data_format("channels_last")
    for ours, right in zip(*expected, strict=True):
        np.testing.assert_array_equal(ours, right)


def test_a_mask_with_more_steps_than_a_graph_knows_of_counts_no_more_than_there_are():
    inputs, mask = keras.Input((None, 4)), keras.Input((None,), dtype="bool")
    model = keras.Model([inputs, mask], layers.BiLSTM(3)(inputs, mask=mask))
    x, more = np.ones((40, 3, 4), "float32"), np.ones((40, 5), bool)
    with pytest.raises(ValueError, match="mask must have the shape"):
        model.predict([x, more], 40, 0)
    graph = tf.function(model, [[tf.TensorSpec((None, None, 4)), tf.TensorSpec((None, None), tf.bool)]])
    np.testing.assert_allclose(graph([x, more]), model.layers[-1](x), atol=1e-6)


def test_lengths_of_keras_inputs_with_one_column_are_lengths():
    inputs, lengths = keras.Input((None, 4)), keras.Input((1,), dtype="int32")
    model = keras.Model([inputs, lengths], layers.MaskedPooling()(inputs, lengths=lengths))
    outputs = model.predict([COUNTS, np.array([[3], [2]])], verbose=0)
    np.testing.assert_allclose(outputs, [COUNTS[0].mean(axis=0), COUNTS[1, :2].mean(axis=0)])


@pytest.mark.parametrize("kernel", ["portable", "native", "compiled"])
def test_a_state_has_a_row_for_each_input_or_one_for_all(kernel):
    layer, row = layers.BiLSTM(3, kernel=kernel), np.linspace(-1, 1, 6, dtype="float32")[None]
    x = np.ones((5, 3, 4), "float32")
    expected = layer(x, initial_state=[np.repeat(row, 5, axis=0), np.repeat(-row, 5, axis=0)])
    np.testing.assert_array_equal(layer(x, initial_state=[row, -row]), expected)
    for rows in (2, 7):
        many = np.repeat(row, rows, axis=0)
        with pytest.raises(ValueError, match=f"initial_state must have 5 rows, as the inputs have, .* it has {rows}"):
            layer(x, initial_state=[many, many])
    for wrong in ([row], [row, row[:, :3]], [row] * 4, row):
        with pytest.raises(ValueError, match=r"initial_state needs 2 tensors|Every state must be \(batch, units\)"):
            layer(x, initial_state=wrong)


def test_masks_reach_tags_and_scores():
    ids = np.array([[1, 2, 3, 0], [4, 0, 0, 0]])
    inputs = keras.Input((None,), dtype="int32")
    vectors = keras.layers.Embedding(9, 4, mask_zero=True)(inputs)
    tags = keras.Model(inputs, layers.CRF(4)(vectors)).predict(ids, verbose=0)
    np.testing.assert_array_equal(tags == -1, ids == 0)
    tied = layers.TiedEmbedding(9, 4, mask_zero=True)
    for scores in (tied(tied(ids), reverse=True), layers.WordScores(9)(tied(ids)), layers.Bias()(tied(ids))):
        np.testing.assert_array_equal(scores._keras_mask, ids != 0)


@pytest.mark.parametrize("layer", [layers.DynamicSelfAttention(3), layers.CRF(4), layers.BiLSTM(3)])
def test_layers_can_be_distributed_over_time(layer):
    x = np.random.default_rng(1).normal(size=(2, 3, 5, 4)).astype("float32")
    outputs = keras.layers.TimeDistributed(layer)(keras.Input((3, 5, 4)))
    model = keras.Model(outputs._keras_history.operation.input, outputs)
    np.testing.assert_allclose(model.predict(x, verbose=0)[:, 1], layer(x[:, 1]), atol=1e-6)


def test_initialisers_may_be_functions_or_hold_generators():
    def ones(shape, dtype=None):
        return keras.ops.ones(shape, dtype)

    options = {"kernel_initializer": ones, "recurrent_initializer": ones, "bias_initializer": None}
    layer = layers.LSTM(3, unit_forget_bias=False, **options)
    layer.build((None, None, 4))
    assert [float(np.mean(weight)) for weight in layer.weights] == [1.0, 1.0, 0.0]
    layers.DenseBiLSTM(1, 2, 3, kernel_initializer=ones)(COUNTS)
    generator = keras.random.SeedGenerator(3)
    kernel = np.array(Blocks(keras.initializers.GlorotUniform(seed=generator), [2, 2])((2, 4)))
    assert not np.array_equal(kernel[:, :2], kernel[:, 2:])
    assert fresh(None) is None
    with pytest.raises(ValueError, match=r"OrthogonalBlocks makes weights of shape \(n, gates \* n\); received"):
        OrthogonalBlocks()((4, 6))


def test_what_a_layer_was_not_built_for_is_refused():
    two = layers.DynamicInteractionPooling()
    two([COUNTS, COUNTS, COUNTS])
    with pytest.raises(ValueError, match="built for 3 inputs; received 2"):
        two([COUNTS, COUNTS])
    with pytest.raises(ValueError, match=r"scores must be \(batch, time, 3\); received \(2, 3, 4\)"):
        layers.CRF(3)(COUNTS.astype("float32"))
    assert layers.LayerMixture()((COUNTS.astype("float32"), COUNTS.astype("float32"))).shape == COUNTS.shape


def test_a_float64_session_can_pool_and_tag():
    before = keras.config.floatx()
    keras.config.set_floatx("float64")
    try:
        assert layers.ConvolutionPooling(3, dtype="float64")(np.ones((2, 5, 4))).dtype == "float64"
        likelihood = layers.CRF(4, dtype="float64").log_likelihood(
            np.ones((2, 3, 4)), np.array([[1, -1, 2], [0, 1, 1]])
        )
        assert np.isfinite(likelihood).all()
        routed, states = {"dtype": "float64"}, [np.ones((2, 5, 4))] * 3
        for layer, inputs, option in (
            (layers.DynamicSelfAttention(3, **routed), states[0], {"return_attention": True}),
            (layers.DynamicInteractionPooling(**routed), states, {"return_routing": True}),
        ):
            symbolic = layer(keras.tree.map_structure(lambda x: keras.Input((None, 4)), inputs), **option)
            dtypes = [each.dtype for each in keras.tree.flatten(symbolic)]
            assert dtypes == [each.dtype for each in keras.tree.flatten(layer(inputs, **option))]
            assert set(dtypes) == {"float64"}
    finally:
        keras.config.set_floatx(before)


def test_a_table_may_be_set_from_lists_before_the_first_call():
    tied = layers.TiedEmbedding(2, 2)
    tied.set_matrix([[1, 2], [3, 4]])
    np.testing.assert_array_equal(tied(np.array([[1]])), [[[3, 4]]])
