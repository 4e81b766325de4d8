"""Properties of the BiLSTMs and of pooling alone: weights, states, masks, and the arguments they refuse."""

import keras
import numpy as np
import pytest

from dense_lstm_zoo import layers
from tests import layer_harness as harness
from tests import reference
from tests.backends import numpy, tf


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
    our_layer = layers.LSTM(7)
    our_layer(x)
    keras_one = keras.layers.LSTM(7, return_sequences=True)
    keras_one(x)
    keras_one.set_weights(our_layer.get_weights())
    np.testing.assert_allclose(our_layer(x), keras_one(x), atol=1e-5)


def test_dense_bilstm_equals_the_golden_vectors(golden):
    arrays = np.load(golden / "dense_bilstm.npz")
    layer = layers.DenseBiLSTM(2, 3, 4, return_all_layers=True)
    layer(arrays["x"], lengths=arrays["lengths"])
    names = [f"{d}_{w}" for d in ("forward", "backward") for w in ("kernel", "recurrent", "bias")]
    layer.set_weights([arrays[f"layer{i}_{name}"] for i in range(3) for name in names])
    states = layer(arrays["x"], lengths=arrays["lengths"])
    for i in range(3):
        np.testing.assert_allclose(states[i], arrays[f"h{i}"], atol=1e-5)
    pooled = layers.MaskedPooling("mean")(states[-1], lengths=arrays["lengths"])
    np.testing.assert_allclose(pooled, arrays["pooled"], atol=1e-5)


def test_initial_state_is_carried_in_and_final_state_out():
    layer = harness.new_layer(harness.BY_NAME["bilstm_states"])
    rng = np.random.default_rng(1)
    start = [rng.normal(size=(harness.BATCH, 6)).astype(np.float32) for _ in range(2)]
    outputs = harness.flat(layer(harness.inputs(), lengths=harness.LENGTHS, initial_state=start))
    expected = reference.lstm(harness.inputs(), harness.LENGTHS, layer.get_weights(), start)
    for ours, theirs in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    np.testing.assert_allclose(outputs[2][3], start[1][3], atol=1e-6)


def test_last_pooling_of_two_directions_is_what_a_bilstm_returns_without_sequences():
    layer = harness.new_layer(harness.BY_NAME["bilstm"])
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


@pytest.mark.slow
@pytest.mark.tensorflow
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
    encoder, pooling = harness.new_layer(harness.BY_NAME["dense_bilstm"]), layers.MaskedPooling("mean")
    by_mask = pooling(encoder(embedding(ids)))
    lengths = np.array([2, 1])
    by_lengths = pooling(numpy(encoder(numpy(embedding(ids)), lengths=lengths)), lengths=lengths)
    np.testing.assert_allclose(by_mask, by_lengths, atol=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: layers.BiLSTM(0), "units must be an integer of at least 1; received 0"),
        (lambda: layers.LSTM(2.5), "units must be an integer"),
        (lambda: layers.DenseBiLSTM(-1, 3, 4), "num_dense_layers must be an integer of at least 0; received -1"),
        (lambda: layers.DenseBiLSTM(1, 3, 0), "top_units must be an integer of at least 1"),
        (
            lambda: layers.MaskedPooling("avg"),
            "Unknown value of mode.*Accepted: attention, last, last_mean_max, max, mean",
        ),
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
    assert numpy(pooled).tolist() == [[8, 9, 2, 3]]


def test_last_mean_and_max_of_two_directions_stand_side_by_side_and_an_empty_row_gives_zeros():
    x = np.array([[[1, 8, 5, 2], [3, 4, 0, 9], [7, 7, 7, 7]], [[9, 9, 9, 9]] * 3], np.float32)
    pooling = layers.MaskedPooling("last_mean_max", num_directions=2)
    pooled = numpy(pooling(x, lengths=np.array([2, 0])))
    assert pooled.tolist() == [[3, 4, 5, 2, 2, 6, 2.5, 5.5, 3, 8, 5, 9], [0] * 12]
    assert pooling.compute_output_shape((None, None, 4)) == (None, 12)


def test_long_half_precision_sentences_are_averaged_without_losing_digits():
    x = np.full((1, 3000, 1), 1.01, np.float32)
    pooled = layers.MaskedPooling("mean", dtype="mixed_bfloat16")(x, lengths=np.array([3000]))
    assert float(pooled[0, 0]) == pytest.approx(1.01, abs=0.01)
