"""Gradients of gradients, Jacobians and forward mode: those of Keras's LSTM, or an error that names a kernel."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from dense_lstm_zoo import layers
from dense_lstm_zoo.layers.recurrence import cudnn
from dense_lstm_zoo.layers.recurrence.own_gradient import unwatched, with_own_gradient

INPUTS = np.random.default_rng(0).normal(size=(2, 5, 4)).astype(np.float32)
LENGTHS = np.array([5, 2], np.int32)
LAYERS = {
    "BiLSTM": lambda kernel: layers.BiLSTM(3, kernel=kernel),
    "wide": lambda kernel: layers.BiLSTM(40, kernel=kernel),
    "last state": lambda kernel: layers.LSTM(3, return_sequences=False, kernel=kernel),
    "DenseBiLSTM": lambda kernel: layers.DenseBiLSTM(2, 3, 4, kernel=kernel),
    "uncoupled": lambda kernel: layers.DenseBiLSTM(2, 3, 4, couple_directions=False, kernel=kernel),
    "gated skip": lambda kernel: layers.SkipBiLSTM(3, 4, skip="gated_outputs", kernel=kernel),
    "internal skip": lambda kernel: layers.SkipBiLSTM(3, 4, skip="internals", kernel=kernel),
    "HighwayBiLSTM": lambda kernel: layers.HighwayBiLSTM(2, 4, kernel=kernel),
}


def penalty(states, x, weights):
    """Gradient penalty of a critic (Gulrajani et al. 2017), and its gradients."""
    with tf.GradientTape() as outer:
        outer.watch([x, *weights])
        with tf.GradientTape() as inner:
            inner.watch(x)
            score = tf.reduce_sum(states(x) ** 2)
        norm = tf.sqrt(tf.reduce_sum(inner.gradient(score, x) ** 2))
        loss = (norm - 1) ** 2
    return [loss, *outer.gradient(loss, [x, *weights])]


def penalty_in_a_graph(states, x, weights):
    return tf.function(lambda x: penalty(states, x, weights))(x)


def two_gradients(states, x, weights):
    """First gradients of two values on one tape."""
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        value = states(x)
        sums = [tf.reduce_sum(value**2), tf.reduce_sum(value)]
    return [g for total in sums for g in tape.gradient(total, [x, *weights])]


def jacobian(states, x, _):
    with tf.GradientTape() as tape:
        tape.watch(x)
        value = states(x)
    return [tape.jacobian(value, x)]


def hessian(states, x, _):
    return [tf.function(lambda x: tf.hessians(tf.reduce_sum(states(x) ** 2), x)[0])(x)]


def forward(states, x, _):
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        value = states(x)
    return [accumulator.jvp(value)]


def forward_in_a_graph(states, x, _):
    return tf.function(lambda x: forward(states, x, None))(x)


def third(states, x, _):
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(penalty(states, x, [])[1] ** 2)
    return [tape.gradient(total, x)]


def run(mode, layer, **options):
    """The results of a mode of differentiation for the first output of a layer, with fixed weights."""
    rng = np.random.default_rng(1)
    layer.build(INPUTS.shape)
    layer.set_weights([rng.normal(scale=0.5, size=w.shape) for w in layer.get_weights()])
    weights = [w.value for w in layer.trainable_weights]
    return [x.numpy() for x in mode(lambda x: layer(x, **options), tf.constant(INPUTS), weights)]


def check(results, expected):
    for ours, theirs in zip(results, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5 * max(1, np.abs(theirs).max()))


def keras_lstm(mode):
    return run(mode, keras.layers.LSTM(2, return_sequences=True))


@pytest.mark.parametrize("kernel", ["portable", "auto"])
def test_a_gradient_penalty_and_its_gradients_are_those_of_keras(kernel):
    check(run(penalty, layers.LSTM(2, kernel=kernel), training=True), keras_lstm(penalty))


@pytest.mark.slow
def test_forward_mode_gives_what_keras_gives():
    check(run(forward, layers.LSTM(2), training=True), keras_lstm(forward))


@pytest.mark.parametrize("kernel", ["portable", "native", "compiled", "auto"])
def test_one_tape_gives_two_gradients(kernel):
    for training in (True, False):
        check(run(two_gradients, layers.LSTM(2, kernel=kernel), training=training), keras_lstm(two_gradients))


@pytest.mark.slow
@pytest.mark.parametrize("mode", [jacobian, hessian, third, forward_in_a_graph, penalty_in_a_graph])
@pytest.mark.parametrize("training", [True, False])
def test_other_modes_give_what_keras_gives(mode, training):
    expected = keras_lstm(forward if mode is forward_in_a_graph else mode)
    check(run(mode, layers.LSTM(2), training=training), expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_gives_the_gradient_penalty_and_forward_mode_of_its_portable_kernel(name):
    for mode in (penalty, penalty_in_a_graph, forward, two_gradients):
        expected = run(mode, LAYERS[name]("portable"), lengths=LENGTHS, training=True)
        for kernel, training in (("compiled", True), ("auto", True), ("auto", False)):
            check(run(mode, LAYERS[name](kernel), lengths=LENGTHS, training=training), expected)


@pytest.mark.parametrize("mode", [penalty, penalty_in_a_graph, forward])
def test_what_the_native_kernel_cannot_differentiate_names_the_portable_one(mode):
    with pytest.raises(NotImplementedError, match="that of kernel='native', use kernel='portable' or 'auto'"):
        run(mode, layers.LSTM(2, kernel="native"))


def test_what_cudnn_cannot_differentiate_names_the_portable_kernel():
    weights = [tf.ones((4, 8)), tf.ones((2, 8)), tf.ones(8)]
    cudnn.cudnn_lstm(tf.ones((5, 2, 4)), tf.constant(LENGTHS), weights, None, None, False)
    with tf.Graph().as_default():  # that can be built without a GPU
        x, h, c = tf.ones((5, 2, 4)), tf.ones((1, 2, 3)), tf.ones((1, 2, 3))
        states = tf.raw_ops.CudnnRNNV3(
            input=x, input_h=h, input_c=c, params=tf.ones(200), sequence_lengths=LENGTHS, is_training=True
        )
        (gradient,) = tf.gradients(states.output, x)
        with pytest.raises(NotImplementedError, match="use kernel='portable'"):
            tf.gradients(gradient, x)


def own_sine(x):
    (hidden,) = unwatched(x)
    sine, cosine = unwatched(tf.sin(hidden), tf.cos(hidden))
    return sine, lambda upstream: [upstream * cosine]


def plain_sine(x):
    return tf.sin(x)


def no_sine(_):
    raise AssertionError("not for first gradients")


def test_an_own_gradient_has_every_derivative_of_its_plain_function():
    def derivative(function, x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x)

    def sine(x):
        return with_own_gradient(own_sine, (), x, plain=plain_sine)

    def second(x):
        return derivative(lambda x: derivative(sine, x), x)

    x = tf.constant([0.5, 2.0])
    np.testing.assert_allclose(second(x), -np.sin(x), atol=1e-6)
    np.testing.assert_allclose(tf.function(second)(x), -np.sin(x), atol=1e-6)
    np.testing.assert_allclose(derivative(second, x), -np.cos(x), atol=1e-6)


def test_first_gradients_never_run_the_plain_function():
    x = tf.constant([0.5, 2.0])
    for persistent in (False, True):
        with tf.GradientTape(persistent=persistent) as tape:
            tape.watch(x)
            y = with_own_gradient(own_sine, (), x, plain=no_sine)
        np.testing.assert_allclose(tape.gradient(y, x), np.cos(x), atol=1e-6)
