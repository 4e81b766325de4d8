import json
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from dense_lstm_zoo import layers
from tests import layer_harness as harness
from tests import reference

ROOT = Path(__file__).parents[1]
cases = pytest.mark.parametrize("case", harness.CASES, ids=lambda case: case.name)


def test_every_public_layer_is_a_case_or_is_tested_in_a_file_of_its_own():
    public = {name for name in layers.__all__ if isinstance(getattr(layers, name), type)}
    tried = {parent.__name__ for case in harness.CASES for parent in type(case.make()).__mro__}
    assert public - tried == set(harness.ELSEWHERE)
    for name, file in harness.ELSEWHERE.items():
        assert f"{name}(" in (ROOT / "tests" / file).read_text(), name


@cases
def test_values_equal_the_equations_in_numpy(case):
    layer = harness.built(case)
    expected = harness.flat(case.oracle(harness.inputs(), harness.LENGTHS, layer.get_weights()))
    found = harness.flat(layer(harness.inputs(), lengths=harness.LENGTHS))
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


@cases
def test_padding_never_changes_a_result(case):
    layer = harness.built(case)
    x = harness.inputs()
    longer = np.concatenate([x, np.full((harness.BATCH, 4, harness.FEATURES), 9.0, np.float32)], axis=1)
    garbage = np.where(np.arange(harness.TIME)[None, :, None] < harness.LENGTHS[:, None, None], x, 1e6)
    for ours, padded in zip(*(harness.flat(layer(i, lengths=harness.LENGTHS)) for i in (x, longer)), strict=True):
        is_sequence = ours.ndim == 3
        np.testing.assert_allclose(padded[:, : harness.TIME] if is_sequence else padded, ours, atol=1e-5)
        assert not is_sequence or not padded[:, harness.TIME :].any()
    for ours, other in zip(*(harness.flat(layer(i, lengths=harness.LENGTHS)) for i in (x, garbage)), strict=True):
        np.testing.assert_allclose(other, ours, atol=1e-5)


@cases
def test_a_batch_gives_what_its_sentences_give_one_by_one(case):
    layer = harness.built(case)
    x = harness.inputs()
    together = harness.flat(layer(x, lengths=harness.LENGTHS))
    for b, n in enumerate(harness.LENGTHS):
        alone = harness.flat(layer(x[b : b + 1, : max(n, 1)], lengths=harness.LENGTHS[b : b + 1]))
        for ours, single in zip(together, alone, strict=True):
            row = ours[b, : max(n, 1)] if ours.ndim == 3 else ours[b]
            np.testing.assert_allclose(single[0], row, atol=1e-5)


@cases
def test_a_mask_does_what_lengths_do(case):
    layer = harness.built(case)
    mask = np.arange(harness.TIME) < harness.LENGTHS[:, None]
    by_lengths = harness.flat(layer(harness.inputs(), lengths=harness.LENGTHS))
    for ours, other in zip(by_lengths, harness.flat(layer(harness.inputs(), mask=mask)), strict=True):
        np.testing.assert_array_equal(ours, other)
    for every in (None, np.full(harness.BATCH, harness.TIME)):
        results = harness.flat(layer(harness.inputs(), lengths=every))
        expected = harness.flat(layer(harness.inputs(), mask=np.ones_like(mask)))
        for ours, other in zip(results, expected, strict=True):
            np.testing.assert_allclose(ours, other, atol=1e-6)


@cases
def test_every_weight_gets_the_gradient_that_finite_differences_give(case):
    layer = harness.built(case, dtype="float64")
    x = harness.inputs().astype(np.float64)
    targets = [np.random.default_rng(3).normal(size=o.shape) for o in harness.flat(layer(x, lengths=harness.LENGTHS))]
    variables = [x_var := tf.Variable(x), *(w.value for w in layer.trainable_weights)]

    def loss():
        outputs = tf.nest.flatten(layer(x_var, lengths=harness.LENGTHS))
        return tf.add_n([tf.reduce_sum(o * t) for o, t in zip(outputs, targets, strict=True)])

    def gradients():
        with tf.GradientTape() as tape:
            value = loss()
        return tape.gradient(value, variables)

    compiled_loss = tf.function(loss)
    for variable, gradient in zip(variables, tf.function(gradients)(), strict=True):
        gradient, start = gradient.numpy(), variable.numpy()
        assert np.abs(gradient).max() > 1e-6
        rng = np.random.default_rng(5)
        for _ in range(2):
            direction = rng.normal(size=start.shape)
            step = 1e-5
            values = []
            for sign in (1, -1):
                variable.assign(start + sign * step * direction)
                values.append(float(compiled_loss()))
            variable.assign(start)
            difference = (values[0] - values[1]) / (2 * step)
            np.testing.assert_allclose(np.sum(gradient * direction), difference, rtol=1e-4, atol=1e-6)


@cases
def test_the_config_rebuilds_the_layer(case):
    layer = case.make(name="mine")
    config = json.loads(json.dumps(layer.get_config()))
    again = type(layer).from_config(config)
    assert again.get_config() == layer.get_config()
    again(harness.inputs(), lengths=harness.LENGTHS)
    layer(harness.inputs(), lengths=harness.LENGTHS)
    assert [w.shape for w in again.weights] == [w.shape for w in layer.weights]


@cases
def test_symbolic_shapes_are_the_real_ones_with_batch_and_time_dynamic(case, other_widths):
    model = harness.model(case)
    symbolic = tf.nest.flatten(model.output)
    specs = [tf.TensorSpec((None, None, harness.FEATURES)), tf.TensorSpec((None,), tf.int32)]
    graph = tf.function(lambda *inputs: tf.nest.flatten(model(list(inputs)))).get_concrete_function(*specs)
    # What a layer says of its shape, and what a graph knows of it once other widths were traced.
    assert [x.shape for x in symbolic] == [tuple(x.shape) for x in graph.structured_outputs]
    for batch, time in ((2, 3), (3, 7), (1, 1)):
        real = harness.flat(graph(tf.constant(harness.inputs(batch=batch, time=time)), tf.fill([batch], time)))
        for tensor, value in zip(symbolic, real, strict=True):
            assert tensor.shape[0] is None
            assert tuple(n if s is None else s for s, n in zip(tensor.shape, value.shape, strict=True)) == value.shape


@cases
@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16"])
def test_half_precision_stays_near_float32(case, dtype):
    # The compiled kernel is tried with one of the two: XLA would compile every layer for the other as well.
    loop = {"kernel": "portable"} if dtype == "mixed_float16" and "kernel" in case.make().get_config() else {}
    full, half = harness.built(case, **loop), harness.built(case, dtype=dtype, **loop)
    half.set_weights(full.get_weights())
    outputs = tf.nest.flatten(half(harness.inputs(), lengths=harness.LENGTHS))
    assert all(o.dtype == dtype.removeprefix("mixed_") for o in outputs)
    tolerance = 0.06 if dtype == "mixed_bfloat16" else 0.01
    for ours, theirs in zip(
        harness.flat(outputs), harness.flat(full(harness.inputs(), lengths=harness.LENGTHS)), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=tolerance)


@pytest.mark.slow
def test_saved_layers_give_the_same_values_in_a_fresh_process(tmp_path):
    expected = {}
    for case in harness.CASES:
        model = harness.model(case)
        model.save(tmp_path / f"{case.name}.keras")
        found = harness.flat(model([harness.inputs(), harness.LENGTHS]))
        expected |= {f"{case.name}/{i}": value for i, value in enumerate(found)}
    np.savez(tmp_path / "expected.npz", **expected)
    script = """
import sys, pathlib, numpy as np, keras
import dense_lstm_zoo.layers
from tests import layer_harness as harness
folder = pathlib.Path(sys.argv[1])
expected = np.load(folder / "expected.npz")
for case in harness.CASES:
    model = keras.saving.load_model(folder / f"{case.name}.keras")
    for i, value in enumerate(harness.flat(model([harness.inputs(), harness.LENGTHS]))):
        np.testing.assert_allclose(value, expected[f"{case.name}/{i}"], atol=1e-6)
print("same:", len(expected.files))
"""
    run = subprocess.run([sys.executable, "-c", script, tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert run.stdout.strip() == f"same: {len(expected)}", run.stderr


def test_bilstm_weights_move_both_ways_between_keras_and_this_package():
    x, mask = harness.inputs(), np.arange(harness.TIME) < np.array([[6], [3], [1], [2]])
    for return_sequences in (True, False):
        theirs = keras.layers.Bidirectional(keras.layers.LSTM(7, return_sequences=return_sequences))
        ours = layers.BiLSTM(7, return_sequences=return_sequences)
        expected = theirs(x, mask=mask)
        ours(x)
        ours.set_weights(theirs.get_weights())
        np.testing.assert_allclose(ours(x, mask=mask), expected, atol=1e-5)
        ours.set_weights([w + 0.1 for w in ours.get_weights()])
        theirs.set_weights(ours.get_weights())
        np.testing.assert_allclose(theirs(x, mask=mask), ours(x, mask=mask), atol=1e-5)
    one = layers.LSTM(7)
    one(x)
    keras_one = keras.layers.LSTM(7, return_sequences=True)
    keras_one(x)
    keras_one.set_weights(one.get_weights())
    np.testing.assert_allclose(one(x), keras_one(x), atol=1e-5)


def test_dense_bilstm_equals_the_golden_vectors(golden):
    given = np.load(golden / "dense_bilstm.npz")
    layer = layers.DenseBiLSTM(2, 3, 4, return_all_layers=True)
    layer(given["x"], lengths=given["lengths"])
    names = [f"{d}_{w}" for d in ("forward", "backward") for w in ("kernel", "recurrent", "bias")]
    layer.set_weights([given[f"layer{i}_{name}"] for i in range(3) for name in names])
    states = layer(given["x"], lengths=given["lengths"])
    for i in range(3):
        np.testing.assert_allclose(states[i], given[f"h{i}"], atol=1e-5)
    pooled = layers.MaskedPooling("mean")(states[-1], lengths=given["lengths"])
    np.testing.assert_allclose(pooled, given["pooled"], atol=1e-5)


def test_initial_state_is_carried_in_and_final_state_out():
    layer = harness.built(harness.BY_NAME["bilstm_states"])
    rng = np.random.default_rng(1)
    start = [rng.normal(size=(harness.BATCH, 6)).astype(np.float32) for _ in range(2)]
    found = harness.flat(layer(harness.inputs(), lengths=harness.LENGTHS, initial_state=start))
    expected = reference.lstm(harness.inputs(), harness.LENGTHS, layer.get_weights(), start)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    np.testing.assert_allclose(found[2][3], start[1][3], atol=1e-6)


def test_last_pooling_of_two_directions_is_what_a_bilstm_returns_without_sequences():
    layer = harness.built(harness.BY_NAME["bilstm"])
    last = layers.BiLSTM(3, return_sequences=False)
    last(harness.inputs())
    last.set_weights(layer.get_weights())
    states = layer(harness.inputs(), lengths=harness.LENGTHS)
    pooled = layers.MaskedPooling("last", num_directions=2)(states, lengths=harness.LENGTHS)
    np.testing.assert_allclose(pooled, last(harness.inputs(), lengths=harness.LENGTHS), atol=1e-6)


def test_each_direction_and_layer_starts_with_weights_of_its_own():
    layer = layers.DenseBiLSTM(3, 4, 4)
    layer(harness.inputs())
    recurrent = [w.numpy() for w in layer.weights if w.name.endswith("recurrent_kernel")]
    assert len(recurrent) == 8
    assert not any(np.allclose(a, b) for i, a in enumerate(recurrent) for b in recurrent[:i])
    biases = [w.numpy() for w in layer.weights if w.name.endswith("bias")]
    assert all(b.tolist() == [0] * 4 + [1] * 4 + [0] * 8 for b in biases)


def test_remat_runs_each_layer_again_in_the_backward_pass():
    loops = {}
    for remat in (False, True):
        layer = layers.DenseBiLSTM(2, 3, 4, remat=remat, kernel="portable")
        layer(harness.inputs())

        @tf.function
        def gradients(x, layer=layer):
            with tf.GradientTape() as tape:
                tape.watch(x)
                value = tf.reduce_sum(layer(x, lengths=harness.LENGTHS))
            return tape.gradient(value, [x, *(w.value for w in layer.trainable_weights)])

        graph = gradients.get_concrete_function(tf.constant(harness.inputs())).graph
        loops[remat] = sum(op.type in ("While", "StatelessWhile") for op in graph.get_operations())
    directions = 3 * 2
    assert loops[False] == directions + directions  # forward and backward
    assert loops[True] >= 3 * directions


def test_masks_of_an_embedding_reach_the_layers_by_themselves():
    ids = np.array([[3, 4, 0, 0], [5, 0, 0, 0]])
    embedding = keras.layers.Embedding(9, harness.FEATURES, mask_zero=True)
    encoder, pooling = harness.built(harness.BY_NAME["dense_bilstm"]), layers.MaskedPooling("mean")
    by_mask = pooling(encoder(embedding(ids)))
    lengths = np.array([2, 1])
    by_lengths = pooling(encoder(embedding(ids).numpy(), lengths=lengths).numpy(), lengths=lengths)
    np.testing.assert_allclose(by_mask, by_lengths, atol=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: layers.BiLSTM(0), "units must be an integer of at least 1; received 0"),
        (lambda: layers.LSTM(2.5), "units must be an integer"),
        (lambda: layers.DenseBiLSTM(-1, 3, 4), "num_dense_layers must be an integer of at least 0; received -1"),
        (lambda: layers.DenseBiLSTM(1, 3, 0), "top_units must be an integer of at least 1"),
        (lambda: layers.MaskedPooling("avg"), "Unknown value of mode.*Accepted: attention, last, max, mean"),
        (lambda: layers.MaskedPooling(num_directions=3), "num_directions must be 1 or 2"),
        (lambda: layers.MaskedPooling(num_directions=2)(harness.inputs()), "divisible by num_directions=2"),
        (lambda: layers.BiLSTM(2)(np.ones((2, 3))), r"\(batch, time, features\)"),
        (lambda: layers.DenseBiLSTM(1, 1, 1)(np.ones((2, 3))), r"\(batch, time, features\)"),
        (lambda: layers.WordEmbedding(1, 3), "vocab_size must be an integer of at least 2"),
        (lambda: layers.WordEmbedding(5, 3, num_frozen_words=4), "at most vocab_size - 2 = 3; received 4"),
        (lambda: layers.WordEmbedding(5, 3).set_matrix(np.ones((4, 3))), r"\(5, 3\); received \(4, 3\)"),
    ],
)
def test_bad_arguments_are_refused_with_what_is_accepted(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_two_directions_refuse_an_odd_number_of_features_and_halves_swap_ends():
    x = np.arange(24, dtype=np.float32).reshape(1, 6, 4)
    pooled = layers.MaskedPooling("last", num_directions=2)(x, lengths=np.array([3]))
    assert pooled.numpy().tolist() == [[8, 9, 2, 3]]


def test_long_half_precision_sentences_are_averaged_without_losing_digits():
    x = np.full((1, 3000, 1), 1.01, np.float32)
    pooled = layers.MaskedPooling("mean", dtype="mixed_bfloat16")(x, lengths=np.array([3000]))
    assert float(pooled[0, 0]) == pytest.approx(1.01, abs=0.01)
