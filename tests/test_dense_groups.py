"""Groups of layers of a densely connected Bi-LSTM against the same layers one by one on the portable kernel."""

import numpy as np
import pytest
import tensorflow as tf

from dense_lstm_zoo import layers
from dense_lstm_zoo.layers.recurrence import dense_group

FEATURES = 7


def values_and_gradients(kernel, shape, batch, time, options, dtype="float32"):
    """Outputs of an encoder, and the gradients of its input and weights, for rows of different lengths."""
    layer = layers.DenseBiLSTM(*shape, kernel=kernel, dtype=dtype, **options)
    layer.build((None, None, FEATURES))
    rng = np.random.default_rng(0)
    layer.set_weights([rng.normal(scale=0.3, size=w.shape) for w in layer.get_weights()])
    inputs = tf.constant(rng.normal(size=(batch, time, FEATURES)), layer.compute_dtype)
    lengths = rng.integers(0, time + 1, batch).astype(np.int32)
    lengths[0] = time
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        outputs = layer(inputs, lengths=lengths, training=True)
        outputs = outputs if isinstance(outputs, list) else [outputs]
        loss = tf.add_n([tf.reduce_sum(x * tf.cast(rng.normal(size=x.shape), x.dtype)) for x in outputs])
    return outputs, tape.gradient(loss, [inputs, *(w.value for w in layer.trainable_weights)])


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((6, 13, 5), {"return_all_layers": True}),
        pytest.param((7, 13, 6), {}, marks=pytest.mark.slow),
        pytest.param((6, 13, 5), {"return_all_layers": True, "couple_directions": False}, marks=pytest.mark.slow),
        pytest.param((2, 70, 4), {"return_all_layers": True}, marks=pytest.mark.slow),  # too wide to share a product
    ],
)
def test_groups_give_the_values_and_gradients_of_single_layers(shape, options, monkeypatch):
    monkeypatch.setattr(dense_group, "_WIDTH", 400)  # 7 narrow layers: groups of 4 and 3; 6: 3 and 3
    expected, actual = (values_and_gradients(kernel, shape, 3, 3, options) for kernel in ("portable", "compiled"))
    for ours, theirs in zip(actual[0], expected[0], strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    for ours, theirs in zip(actual[1], expected[1], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4 * max(np.abs(theirs).max(), 1e-6))


@pytest.mark.slow
def test_groups_keep_a_state_of_float64_and_a_float32_state_under_half_precision():
    shape = (5, 13, 3)
    expected, actual = (values_and_gradients(kernel, shape, 2, 4, {}, "float64") for kernel in ("portable", "compiled"))
    for ours, theirs in zip([*actual[0], *actual[1]], [*expected[0], *expected[1]], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    outputs, gradients = values_and_gradients("compiled", shape, 2, 4, {}, "mixed_bfloat16")
    assert outputs[0].dtype == tf.bfloat16
    np.testing.assert_allclose(tf.cast(outputs[0], tf.float64), expected[0][0], atol=0.03)
    for ours, theirs in zip(gradients[1:], expected[1][1:], strict=True):
        np.testing.assert_allclose(tf.cast(ours, tf.float64), theirs, atol=0.05 * max(np.abs(theirs).max(), 1e-6))


def test_the_groups_of_an_encoder_are_as_equal_as_possible():
    assert dense_group.group_sizes(15, 13) == [5, 5, 5]
    assert dense_group.group_sizes(16, 13) == [4, 4, 4, 4]
    assert dense_group.group_sizes(7, 13) == [4, 3]
    assert dense_group.group_sizes(3, 200) == [1, 1, 1]
