"""Dynamic interaction and self-attention: the golden vectors, the paper's bounds, and what each option does."""

import keras
import numpy as np
import pytest
from keras import ops

from dense_lstm_zoo import layers
from dense_lstm_zoo.layers import recurrence
from dense_lstm_zoo.layers.dynamic_interaction import MODES
from tests import backends, reference_pooling

LENGTHS = np.array([6, 3, 1, 0], np.int32)
# Keras multiplies float64 in float32 on other backends.
DTYPE, EXACT = ("float64", 1e-8) if backends.BACKEND == "tensorflow" else ("float32", 1e-5)
modes = pytest.mark.parametrize("mode", MODES)


def states(widths=(6, 6, 4, 8), seed=0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1, 1, size=(4, 6, width)).astype(np.float32) for width in widths]


def new_layer(*args, widths=(6, 6, 4, 8), **kwargs) -> layers.DynamicInteractionPooling:
    layer = layers.DynamicInteractionPooling(*args, **kwargs)
    layer.build([(None, None, width) for width in widths])
    rng = np.random.default_rng(7)
    layer.set_weights([rng.normal(size=w.shape) for w in layer.get_weights()])
    return layer


@modes
@pytest.mark.parametrize("iterations", [1, 2, 3, "constant"])
def test_golden_vectors(golden, mode, iterations):
    file = np.load(golden / "dynamic_interaction.npz")
    inputs = [file[name] for name in ("U0", "U1", "U2", "Us")]
    constant = iterations == "constant"
    layer = layers.DynamicInteractionPooling(
        1 if constant else iterations, mode, "constant" if constant else "routed", dtype=DTYPE
    )
    layer.build([x.shape for x in inputs])
    weights = [np.concatenate([file[f"{mode}_{part}{j}"] for j in range(3)], axis=-1) for part in "Wb"]
    if mode == "projected_vector" and not constant:
        weights += [file[f"{mode}_P{j}"] for j in range(3)]
    layer.set_weights(weights)
    w, routing = layer([x.astype(DTYPE) for x in inputs], lengths=file["lengths"], return_routing=True)
    name = f"{mode}_constant" if constant else f"{mode}_r{iterations}"
    np.testing.assert_allclose(w, file[f"{name}_w"], atol=EXACT)
    if constant:
        return
    real = np.arange(6)[None] < file["lengths"][:, None]
    for j in range(3):
        np.testing.assert_allclose(routing["c"][..., j], file[f"{name}_c{j}"] * real, atol=EXACT)
        v = file[f"{name}_v{j}"]
        if mode == "position":
            np.testing.assert_allclose(np.where(real, routing["v"][..., j], 0), v * real, atol=EXACT)
        else:
            np.testing.assert_allclose(routing["v"][:, j, : v.shape[-1]], v, atol=EXACT)


@pytest.mark.parametrize("mode", ["position", "vector"])  # with the third, P may be as large as it likes
def test_weights_lie_around_a_half_and_constant_ones_give_half_the_projected_mean(mode):
    inputs = states()
    w, routing = new_layer(mode=mode)(inputs, lengths=LENGTHS, return_routing=True)
    v = np.asarray(routing["v"])
    assert 0.269 < v.min() < 0.5 < v.max() < 0.731
    layer = new_layer(mode=mode, weights="constant")
    kernel, bias = layer.get_weights()
    x = inputs[-1] @ kernel + bias
    x = np.where(x > 0, x, 0.2 * x)
    half = [0.5 * x[i, :n].sum(axis=0) / max(n, 1) for i, n in enumerate(LENGTHS)]
    np.testing.assert_allclose(layer(inputs, lengths=LENGTHS), half, atol=1e-6)
    assert np.abs(np.array(half) - np.asarray(w)).max() > 1e-3


def test_one_iteration_weighs_all_words_alike_and_more_do_not():
    shares = [backends.numpy(new_layer(r)(states(), lengths=LENGTHS, return_routing=True)[1]["c"]) for r in (1, 2)]
    for i, n in enumerate(LENGTHS):
        for c in shares:
            np.testing.assert_allclose(c[i].sum(axis=0), float(n > 0), atol=1e-6)
            np.testing.assert_array_equal(c[i, n:], 0)
        np.testing.assert_allclose(shares[0][i, :n], 1 / max(n, 1), atol=1e-6)
    assert np.ptp(shares[1][0], axis=0).min() > 1e-3


def test_parameters_are_the_papers():
    # 14 layers of 2 x 13 below one of 2 x 100: (L - 1) (d_u d_c + d_c)
    layer = layers.DynamicInteractionPooling()
    layer.build([(None, None, 26)] * 14 + [(None, None, 200)])
    assert layer.count_params() == 281_400
    assert layer.compute_output_spec([keras.KerasTensor((2, 3, 26))] * 14 + [keras.KerasTensor((2, 3, 200))]).shape == (
        2,
        1400,
    )
    kernel = layer.get_weights()[0]
    limit = np.sqrt(6 / 300)  # Glorot's of one 200 x 100 matrix, not of all side by side
    assert 0.99 * limit < np.abs(kernel).max() <= limit
    blocks = np.split(kernel, 14, axis=1)
    assert np.abs(blocks[0] - blocks[1]).max() > 0.1


@modes
def test_stop_gradient_cuts_the_shares_and_nothing_else(mode):
    inputs, results = states(), []
    for stop in (False, True):
        layer = new_layer(mode=mode, stop_gradient=stop)
        loss = backends.Loss(lambda *x, layer=layer: ops.sum(ops.sin(layer(list(x), lengths=LENGTHS))), inputs)
        results.append((backends.numpy(layer(inputs, lengths=LENGTHS)), loss.gradients()))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    for routed, stopped in zip(results[0][1], results[1][1], strict=True):
        assert np.abs(stopped).max() > 0
        assert np.abs(routed - stopped).max() > 1e-6


@pytest.mark.tensorflow
@pytest.mark.parametrize("weights", ["routed", "constant"])
@pytest.mark.parametrize("compiled", [False, True])
def test_words_one_below_the_other_give_what_words_between_padding_do(weights, compiled, monkeypatch):
    import tensorflow as tf

    inputs = states()
    inputs[0][1, 3:] = inputs[-1][1, 3:] = np.nan  # padding may hold anything

    def run():
        layer = new_layer(weights=weights)

        @tf.function(jit_compile=compiled)
        def step(values, lengths):
            with tf.GradientTape() as tape:
                tape.watch(values)
                pooled, routing = layer(values, lengths=lengths, return_routing=True)
                loss = tf.reduce_sum(tf.sin(pooled))
            gradients = tape.gradient(loss, [values[-1], *(weight.value for weight in layer.weights)])
            return [pooled, *routing.values(), *gradients]

        return step([tf.constant(x) for x in inputs], tf.constant(LENGTHS))

    packed = run()
    monkeypatch.setattr(recurrence, "real_words", recurrence.padded_words)
    for one, other in zip(packed, run(), strict=True):
        assert np.isfinite(one).all()
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.tensorflow
def test_padding_is_no_row_of_packed_words():
    words = recurrence.real_words(ops.convert_to_tensor(LENGTHS), 6)
    x = states()[0]
    assert words.pack(x).shape == (LENGTHS.sum(), 6)
    expected = np.where(np.arange(6)[None, :, None] < LENGTHS[:, None, None], x, 0)
    np.testing.assert_array_equal(words.unpack(words.pack(x)), expected)
    np.testing.assert_allclose(words.total(words.pack(x)), expected.sum(axis=1), atol=1e-6)


def test_a_regulariser_is_counted_and_any_encoder_of_several_layers_will_do():
    layer = new_layer(kernel_regularizer=keras.regularizers.L2(0.1))
    np.testing.assert_allclose(layer.losses[0], 0.1 * np.square(layer.get_weights()[0]).sum(), rtol=1e-5)
    x = keras.Input((None, 5))
    below = keras.layers.LSTM(4, return_sequences=True)(x)
    top = keras.layers.LSTM(6, return_sequences=True)(below)
    model = keras.Model(x, layers.DynamicInteractionPooling(units=2)([below, top]))
    assert model.output_shape == (None, 2)
    assert model(np.ones((3, 7, 5), "float32")).shape == (3, 2)


def test_attention_shares_sum_to_one_and_iterating_sharpens_them():
    x = states()[0]
    layer = layers.DynamicSelfAttention(3, num_heads=2, iterations=1)
    _, uniform = layer(x, lengths=LENGTHS, return_attention=True)
    np.testing.assert_allclose(uniform[1, :3], 1 / 3, atol=1e-6)
    sharper = layers.DynamicSelfAttention(3, num_heads=2, iterations=3)
    sharper.build(x.shape)
    sharper.set_weights(layer.get_weights())
    pooled, shares = sharper(x, lengths=LENGTHS, return_attention=True)
    np.testing.assert_allclose(
        np.sum(np.asarray(shares), axis=1), np.minimum(LENGTHS, 1)[:, None] * np.ones(2), atol=1e-6
    )
    assert np.ptp(np.asarray(shares[0]), axis=0).min() > 1e-3
    expected = reference_pooling.dynamic_self_attention(x, LENGTHS, sharper.get_weights(), 2, 3)
    np.testing.assert_allclose(pooled, expected, atol=1e-6)
    assert layer.count_params() == 2 * 3 * (6 + 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: layers.DynamicInteractionPooling(0), "iterations must be an integer of at least 1; received 0"),
        (lambda: layers.DynamicInteractionPooling(mode="positions"), "Did you mean 'position'"),
        (lambda: layers.DynamicInteractionPooling(weights="none"), "Unknown value of weights: 'none'"),
        (lambda: layers.DynamicInteractionPooling(mode="vector", units=3), "takes no units"),
        (lambda: layers.DynamicInteractionPooling()(np.ones((2, 3, 4))), "takes a list of at least two inputs"),
        (lambda: layers.DynamicInteractionPooling()([np.ones((2, 3, 4))]), "takes a list of at least two inputs"),
        (lambda: layers.DynamicInteractionPooling()([np.ones((2, 3, 4)), np.ones((2, 3, 1))]), "give units"),
        (lambda: layers.DynamicSelfAttention(0), "units must be"),
        (lambda: layers.DynamicSelfAttention(3)(np.ones((2, 3))), "DynamicSelfAttention"),
    ],
)
def test_bad_arguments_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("mode", [*MODES, "constant", "self-attention"])
def test_what_stands_at_padding_reaches_neither_values_nor_gradients(mode):
    padding = np.arange(6)[None, :, None] >= LENGTHS[:, None, None]
    if mode == "self-attention":
        layer, clean = layers.DynamicSelfAttention(3, num_heads=2), states()[0]
    else:
        layer, clean = new_layer(**{"weights" if mode == "constant" else "mode": mode}), states()
    results = []
    for filled in (0.0, np.nan):
        inputs = keras.tree.map_structure(lambda x, filled=filled: np.where(padding, np.float32(filled), x), clean)
        pooled = layer(inputs, lengths=LENGTHS)
        loss = backends.Loss(
            lambda inputs=inputs: ops.sum(ops.sin(layer(inputs, lengths=LENGTHS))), [], layer.trainable_variables
        )
        results.append([backends.numpy(pooled), *loss.gradients()])
    for zeros, nans in zip(*results, strict=True):
        assert np.abs(zeros).max() > 0
        np.testing.assert_array_equal(nans, zeros)
