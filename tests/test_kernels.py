"""Every kernel of the time loop against the portable one, against NumPy and against Keras."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from dense_lstm_zoo import layers
from dense_lstm_zoo.layers.recurrence import compiled, lstm_programs, machine
from tests import reference
from tests.slow_cases import slow_pairs_but

FEATURES, TIME = 6, 5


def batch(size: int, time: int = TIME, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Inputs with rows of every kind of length: full, none, one and others."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, time + 1, size).astype(np.int32)
    lengths[:3] = (time, 0, 1)[:size]
    return rng.normal(size=(size, time, FEATURES)).astype(np.float32), lengths


def values_and_gradients(kernel, units, inputs, lengths, start, training, return_state=True):
    """Outputs of a BiLSTM with this kernel, and the gradients of inputs, weights and initial state."""
    rng = np.random.default_rng(units)
    layer = layers.BiLSTM(units, return_state=return_state, kernel="portable")
    layer.kernel = kernel
    layer.build(inputs.shape)
    scale = 1 / np.sqrt(units)
    layer.set_weights([rng.normal(scale=scale, size=w.shape) for w in layer.get_weights()])
    variables = [tf.constant(inputs), *map(tf.constant, start or ())]
    with tf.GradientTape() as tape:
        tape.watch(variables)
        outputs = layer(variables[0], lengths=lengths, initial_state=variables[1:] or None, training=training)
        outputs = outputs if return_state else [outputs]
        targets = [rng.normal(size=o.shape).astype(np.float32) for o in outputs]
        loss = tf.add_n([tf.reduce_sum(o * t) for o, t in zip(outputs, targets, strict=True)])
    watched = [*variables, *(w.value for w in layer.trainable_weights)]
    return [o.numpy() for o in outputs], [g.numpy() for g in tape.gradient(loss, watched)]


# XLA compiles each of these; narrow and wide, few rows and many are tried at each run, the rest by make test-slow.
SHAPES = [*itertools.product((1, 13, 100), (1, 3, 200)), (512, 3)]
QUICK = {((1, 1), False), ((13, 200), True), ((100, 3), True)}


@pytest.mark.parametrize(
    ("units", "size", "with_start"),
    [
        pytest.param(*shape, start, marks=[] if (shape, start) in QUICK else pytest.mark.slow)
        for shape, start in itertools.product(SHAPES, (False, True))
    ],
)
def test_every_kernel_gives_the_values_and_gradients_of_the_portable_one(units, size, with_start, monkeypatch):
    monkeypatch.setattr(machine, "has_gpu", lambda: False)
    inputs, lengths = batch(size)
    rng = np.random.default_rng(9)
    start = [rng.normal(size=(size, 2 * units)).astype(np.float32) for _ in range(2)] if with_start else None
    expected = values_and_gradients("portable", units, inputs, lengths, start, training=True)
    for kernel, training in (("native", True), ("compiled", True), ("auto", False), ("auto", True), ("cudnn", True)):
        check_close(values_and_gradients(kernel, units, inputs, lengths, start, training), expected, kernel)


@pytest.mark.parametrize(("units", "longest"), slow_pairs_but([(7, 3), (40, TIME)], [7, 40], [3, TIME]))
def test_a_layer_without_final_states_gives_the_values_and_gradients_of_the_portable_one(units, longest, monkeypatch):
    monkeypatch.setattr(machine, "has_gpu", lambda: False)
    inputs, lengths = batch(40)
    lengths = np.minimum(lengths, longest)  # with 3, the last steps are padding in every row
    expected = values_and_gradients("portable", units, inputs, lengths, None, training=True, return_state=False)
    for kernel, training in (("native", True), ("auto", False)):
        actual = values_and_gradients(kernel, units, inputs, lengths, None, training, return_state=False)
        check_close(actual, expected, kernel)


def check_close(actual, expected, kernel):
    """Values and gradients agree up to rounding."""
    for ours, theirs in zip(actual[0], expected[0], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5, err_msg=kernel)
    for ours, theirs in zip(actual[1], expected[1], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4 * max(np.abs(theirs).max(), 1e-6), err_msg=kernel)


@pytest.mark.parametrize("kernel", ["portable", "native", "compiled", "auto"])
def test_every_kernel_equals_keras_bidirectional_with_a_mask(kernel):
    inputs, lengths = batch(7)
    lengths = np.maximum(lengths, 1)
    theirs = keras.layers.Bidirectional(keras.layers.LSTM(13, return_sequences=True))
    expected = theirs(inputs, mask=np.arange(TIME) < lengths[:, None])
    ours = layers.BiLSTM(13, kernel=kernel)
    ours(inputs)
    ours.set_weights(theirs.get_weights())
    for training in (False, True):
        np.testing.assert_allclose(ours(inputs, lengths=lengths, training=training), expected, atol=1e-5)


@pytest.mark.parametrize("kernel", ["native", "compiled"])
@pytest.mark.parametrize("size", [3, 5, 33])
def test_one_direction_equals_numpy_for_shapes_that_are_padded_for_a_kernel(kernel, size):
    inputs, lengths = batch(size, time=9)
    layer = layers.LSTM(4, return_state=True, kernel=kernel)
    layer(inputs, lengths=lengths)
    outputs = layer(inputs, lengths=lengths)
    expected = reference.lstm(inputs, lengths, layer.get_weights())
    for ours, theirs in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize("kernel", ["portable", "native", "compiled", "auto"])
@pytest.mark.parametrize("units", [4, pytest.param(40, marks=pytest.mark.slow)])
def test_batches_without_rows_and_rows_without_steps_give_zeros(kernel, units):
    layer = layers.BiLSTM(units, kernel=kernel)
    layer(np.ones((1, 3, FEATURES), np.float32))
    run = tf.function(lambda x, n: layer(x, lengths=n))
    for size in (0, 2, 40):
        states = run(tf.ones((size, 3, FEATURES)), tf.zeros((size,), tf.int32)).numpy()
        assert states.shape == (size, 3, 2 * units)
        assert not states.any()


@pytest.mark.parametrize("kernel", ["native", "compiled"])
@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16"])
def test_half_precision_keeps_a_float32_state_in_every_kernel(kernel, dtype):
    inputs, lengths = batch(4, time=60)
    results = {}
    for name in ("portable", kernel):
        layer = layers.BiLSTM(13, kernel=name, dtype=dtype)
        layer(inputs)
        rng = np.random.default_rng(0)
        layer.set_weights([rng.normal(scale=0.4, size=w.shape) for w in layer.get_weights()])
        results[name] = layer(inputs, lengths=lengths)
        assert results[name].dtype == dtype.removeprefix("mixed_")
    # Rounded once, at the end: 60 steps in half precision would be apart by far more than one rounding.
    np.testing.assert_allclose(
        results[kernel].numpy().astype(np.float64), results["portable"].numpy().astype(np.float64), atol=0.005
    )


@pytest.mark.slow
def test_changing_shapes_trace_and_compile_a_bounded_number_of_times():
    layer = layers.BiLSTM(3, kernel="compiled")
    run = tf.function(lambda x, n: layer(x, lengths=n, training=True), reduce_retracing=True)
    rng = np.random.default_rng(0)

    def call(size, time):
        run(tf.constant(rng.normal(size=(size, time, FEATURES)), tf.float32), tf.fill([size], time))

    call(2, 3)
    call(5, 7)
    before = lstm_programs.forward(tf.float32, False).experimental_get_tracing_count()
    outer = run.experimental_get_tracing_count()
    for _ in range(12):
        call(int(rng.integers(1, 40)), int(rng.integers(1, 40)))
    assert lstm_programs.forward(tf.float32, False).experimental_get_tracing_count() <= before + 2
    assert run.experimental_get_tracing_count() == outer
    shapes = {
        tuple(compiled.pad_to_few_shapes(tf.zeros((t, b, 1)), tf.zeros((b,), tf.int32))[0].shape[:2])
        for t in range(1, 200)
        for b in (1, 4, 5, 17, 33, 100, 200)
    }
    assert {t for t, _ in shapes} == {8, 16, 24, 32, 48, 64, 96, 128, 192, 256}
    assert {b for _, b in shapes} == {1, 4, 8, 20, 40, 104, 200}


def test_an_lstm_layer_pads_its_batch_and_leaves_the_steps_that_programs_miss_for_later():
    for num_steps, batch, missing in ((5, 3, 3), (24, 5, 0), (33, 33, 15), (130, 200, 62)):
        inputs, lengths = tf.zeros((num_steps, batch, 1)), tf.zeros((batch,), tf.int32)
        padded, its_lengths = compiled.pad_to_few_shapes(inputs, lengths, pads_time=False)
        both, _ = compiled.pad_to_few_shapes(inputs, lengths)
        assert padded.shape[:2] == (num_steps, both.shape[1])
        assert len(its_lengths) == both.shape[1]
        assert compiled.missing_steps(inputs).numpy().tolist() == [missing] == [both.shape[0] - num_steps]

    with tf.Graph().as_default():  # of one shape, with a program for it
        assert compiled.missing_steps(tf.zeros((5, 3, 1))) is None


@pytest.mark.slow
def test_a_gradient_of_a_prediction_is_right_too():
    inputs, lengths = batch(40)
    for size in (3, 40):
        x = tf.constant(inputs[:size])
        results = []
        for kernel in ("portable", "auto"):
            keras.utils.set_random_seed(2)
            layer = layers.DenseBiLSTM(2, 3, 4, kernel=kernel)
            layer(x)

            @tf.function
            def saliency(x, layer=layer, size=size):
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    value = tf.reduce_sum(layer(x, lengths=lengths[:size], training=False) ** 2)
                return tape.gradient(value, x)

            results.append(saliency(x).numpy())
        np.testing.assert_allclose(results[0], results[1], atol=1e-5)
