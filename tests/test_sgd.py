"""SGD in one op per weight: the same steps as Keras's, and rows of tables alone where gradients are rows."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from dense_lstm_zoo.models.sgd import FusedSGD

RATE = 0.5


def run(optimizer, steps, tables=True):
    """Weights and states after steps on a table and a matrix. With ``tables=False`` a table's gradient is rows."""
    rng = np.random.default_rng(0)
    table, matrix = (keras.Variable(rng.normal(size=shape).astype(np.float32)) for shape in ((5, 3), (4, 2)))
    optimizer.build([table, matrix])
    for seed in range(steps):
        rng = np.random.default_rng(seed + 1)
        rows, dense = rng.normal(size=(2, 3)).astype(np.float32), rng.normal(size=(4, 2)).astype(np.float32)
        ids = rng.permutation(5)[:2]
        gradient = tf.IndexedSlices(tf.constant(rows), tf.constant(ids), tf.constant([5, 3]))
        optimizer.apply([tf.convert_to_tensor(gradient) if tables else gradient, tf.constant(dense)], [table, matrix])
    return [v.numpy() for v in (table, matrix, *optimizer.variables)]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"global_clipnorm": 0.7},
        {"global_clipnorm": 100.0},
        {"clipnorm": 0.3},
        {"global_clipnorm": 0.7, "momentum": 0.9},
        {"global_clipnorm": 0.7, "weight_decay": 0.1},
        {"global_clipnorm": 0.7, "use_ema": True, "ema_momentum": 0.5},
        {"global_clipnorm": 0.7, "gradient_accumulation_steps": 2},
    ],
    ids=lambda options: "-".join(options),
)
def test_weights_and_states_are_those_of_keras(options):
    ours, kerass = (run(sgd(RATE, **options), 4) for sgd in (FusedSGD, keras.optimizers.SGD))
    assert len(ours) == len(kerass) >= 4
    for actual, expected in zip(ours, kerass, strict=True):
        np.testing.assert_allclose(actual, expected, atol=1e-6)


@pytest.mark.parametrize("clip", [None, 0.7])
def test_rows_move_as_a_table_with_zeros_elsewhere(clip):
    rows, tables = (run(FusedSGD(RATE, global_clipnorm=clip), 3, tables=t) for t in (False, True))
    for actual, expected in zip(rows, tables, strict=True):
        np.testing.assert_allclose(actual, expected, atol=1e-6)


def test_a_weight_without_a_gradient_stays_as_it_is():
    weight, other = keras.Variable([1.0]), keras.Variable([2.0])
    FusedSGD(0.1).apply([None, tf.constant([1.0])], [weight, other])
    assert (float(weight[0]), float(other[0])) == (1.0, pytest.approx(1.9))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_gradient_that_is_not_finite_shows_in_every_weight(value):
    weights = [keras.Variable([1.0]), keras.Variable([2.0])]
    FusedSGD(0.1, global_clipnorm=1.0).apply([tf.constant([value]), tf.constant([1.0])], weights)
    assert all(np.isnan(w.numpy()).all() for w in weights)
