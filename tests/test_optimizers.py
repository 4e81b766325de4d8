"""Properties of each of the project's optimisers: it is saved with a model, and leaves strategies to Keras."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from dense_lstm_zoo.models.adam import FusedAdam
from dense_lstm_zoo.models.sgd import FusedSGD


@pytest.mark.parametrize(
    ("optimizer", "options"), [(FusedAdam, {"weight_decay": 0.1}), (FusedSGD, {"global_clipnorm": 2.0})]
)
def test_a_saved_model_comes_back_with_it(tmp_path, optimizer, options):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(optimizer(0.01, **options), "mse")
    model.fit(np.ones((4, 2)), np.ones((4, 1)), verbose=0)
    model.save(tmp_path / "model.keras")
    restored = keras.models.load_model(tmp_path / "model.keras").optimizer
    assert type(restored) is optimizer
    assert int(restored.iterations) == 1
    assert options.items() <= restored.get_config().items()
    for actual, expected in zip(restored.variables, model.optimizer.variables, strict=True):
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(
    ("optimizer", "op", "expected"),
    [(FusedAdam, "ResourceApplyAdam", 0.9), (FusedSGD, "ResourceApplyGradientDescent", 0.8)],
)
def test_a_strategy_gets_keras_own_step(monkeypatch, optimizer, op, expected):
    monkeypatch.setattr(tf.raw_ops, op, None)  # so that our own step would fail
    with tf.distribute.OneDeviceStrategy("/cpu:0").scope():
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, kernel_initializer="ones")])
        model.compile(optimizer(0.1), "mse", jit_compile=False)
    model.fit(np.ones((4, 2)), np.ones((4, 1)), batch_size=4, verbose=0)
    np.testing.assert_allclose(model.get_weights()[0], expected, atol=1e-4)
