"""Recurrent layers before stock ones: programs shared by layers of all widths must keep each layer's static shapes."""

import itertools
import random

import keras
import numpy as np
import pytest
import tensorflow as tf

from dense_lstm_zoo import layers
from dense_lstm_zoo.layers.kernel_layer import KernelLayer
from dense_lstm_zoo.layers.recurrence import kernels

BATCH, TIME, FEATURES = 3, 4, 6
RECURRENT = {
    "LSTM": lambda width, **kw: layers.LSTM(width, **kw),
    "BiLSTM": lambda width, **kw: layers.BiLSTM(width, **kw),
    "DenseBiLSTM": lambda width, **kw: layers.DenseBiLSTM(2, width, width + 1, **kw),
    "DenseLSTM": lambda width, **kw: layers.DenseLSTM(2, width, **kw),
    "RecurrentStack": lambda width, **kw: layers.RecurrentStack(2, width, wiring="skip", **kw),
    "SkipBiLSTM": lambda width, **kw: layers.SkipBiLSTM(3, width, **kw),
    "HighwayBiLSTM": lambda width, **kw: layers.HighwayBiLSTM(2, width, **kw),
    "BiRecurrentHighway": lambda width, **kw: layers.BiRecurrentHighway(width, **kw),
}


STOCK = {
    "LayerNormalization": keras.layers.LayerNormalization,
    "BatchNormalization": keras.layers.BatchNormalization,
    "GroupNormalization": lambda: keras.layers.GroupNormalization(1),
    "UnitNormalization": keras.layers.UnitNormalization,
    "RMSNormalization": keras.layers.RMSNormalization,
    "Conv1D": lambda: keras.layers.Conv1D(2, 3, padding="same"),
    "SeparableConv1D": lambda: keras.layers.SeparableConv1D(2, 3, padding="same"),
    "MultiHeadAttention": lambda: keras.layers.MultiHeadAttention(1, 2),
    "EinsumDense": lambda: keras.layers.EinsumDense("btf,fg->btg", output_shape=(TIME, 2)),
    "TimeDistributed": lambda: keras.layers.TimeDistributed(keras.layers.Dense(2)),
    "Dense": lambda: keras.layers.Dense(2),
    "GlobalMaxPooling1D": keras.layers.GlobalMaxPooling1D,
    "Flatten": keras.layers.Flatten,  # asks for the time as well
}


WIDTHS = {"DenseBiLSTM": 8, "DenseLSTM": 12, "LSTM": 3, "RecurrentStack": 3}  # of 3 units; the rest have 2 x 3


def after(stock, states):
    attention = isinstance(stock, keras.layers.MultiHeadAttention)
    return keras.layers.Flatten()(stock(states, states) if attention else stock(states))


class NotYetBuilt(keras.Model):
    """A subclassed model, whose layers are built from the shapes that they meet in ``fit``."""

    def __init__(self, recurrent):
        super().__init__()
        self.recurrent, self.stock = recurrent, [make() for make in STOCK.values()]
        self.top = keras.layers.Dense(1)

    def call(self, x):
        states = self.recurrent(x)
        return self.top(keras.ops.concatenate([after(stock, states) for stock in self.stock], axis=-1))


def functional(recurrent):
    x = keras.Input((TIME, FEATURES))
    states = recurrent(x)
    parts = keras.layers.Concatenate()([after(make(), states) for make in STOCK.values()])
    return keras.Model(x, keras.layers.Dense(1)(parts))


def check(make_model, recurrent):
    """Fit, predict and evaluate. The oracle is an eager call, whose tensors always have their shapes."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(BATCH, TIME, FEATURES)).astype("float32"), rng.normal(size=(BATCH, 1)).astype("float32")
    model = make_model(recurrent)
    model.compile(keras.optimizers.SGD(1e-3), "mse", jit_compile=False)
    model.fit(x, y, verbose=0)
    before = recurrent.get_weights()
    model.fit(x, y, verbose=0)
    assert all(np.any(a != b) for a, b in zip(before, recurrent.get_weights(), strict=True))
    expected = model(x, training=False).numpy()
    np.testing.assert_allclose(model.predict(x, verbose=0), expected, atol=1e-4)
    assert model.evaluate(x, y, verbose=0) == pytest.approx(float(np.mean((expected - y) ** 2)), rel=1e-3)


def test_every_layer_that_runs_a_loop_is_tried():
    public = {name: getattr(layers, name) for name in layers.__all__}
    loops = {name for name, value in public.items() if isinstance(value, type) and issubclass(value, KernelLayer)}
    assert set(RECURRENT) == loops - {"TextEncoderStates"}  # it runs the loops of RecurrentStack


@pytest.mark.slow
@pytest.mark.parametrize(("name", "make_model"), [("DenseBiLSTM", functional), ("SkipBiLSTM", NotYetBuilt)])
def test_stock_layers_work_behind_a_layer_of_any_width(name, make_model, other_widths):
    check(make_model, RECURRENT[name](3))


@pytest.mark.slow
@pytest.mark.parametrize("kernel", kernels.runnable())
def test_stock_layers_work_behind_every_layer_and_kernel(kernel):
    order = list(itertools.product(RECURRENT, (functional, NotYetBuilt), (2, 5, 3)))
    random.Random(0).shuffle(order)
    for name, make_model, width in order:
        check(make_model, RECURRENT[name](width, kernel=kernel))


def check_traced(name, kernel, training, batch, time):
    layer = RECURRENT[name](3, kernel=kernel)
    layer.build((batch, time, FEATURES))
    run = tf.function(lambda x: layer(x, training=training))
    output = run.get_concrete_function(tf.TensorSpec((batch, time, FEATURES), tf.float32)).structured_outputs
    assert output.shape.as_list() == [batch, time, WIDTHS.get(name, 6)]


@pytest.mark.parametrize("name", RECURRENT)
def test_a_graph_knows_the_shape_of_the_states(name, other_widths):
    check_traced(name, "auto", True, None, None)
    check_traced(name, "auto", False, BATCH, TIME)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", kernels.runnable())
@pytest.mark.parametrize("name", RECURRENT)
def test_a_graph_knows_the_shape_of_the_states_under_every_kernel(name, kernel, other_widths):
    for training, shape in itertools.product((True, False), ((None, None), (BATCH, TIME))):
        check_traced(name, kernel, training, *shape)
