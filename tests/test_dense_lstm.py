"""The stack of Godin et al. 2017: parameter counts, carried state, and where dropout acts."""

import keras
import numpy as np
import pytest

from dense_lstm_zoo import layers
from tests.backends import TENSORFLOW_KERNELS


def ones(batch=3, time=8, features=6):
    return np.ones((batch, time, features), np.float32)


@pytest.mark.parametrize(
    ("wiring", "units", "num_layers", "embedding_dim", "in_all"),
    [
        ("stacked", 200, 2, 200, 4_651_600),
        ("stacked", 200, 3, 200, 4_972_400),
        ("stacked", 350, 2, 350, 8_972_800),
        ("dense", 200, 2, 200, 8_811_600),
        ("dense", 200, 3, 200, 11_452_400),
        ("dense", 200, 4, 200, 14_253_200),
        ("dense", 200, 5, 200, 17_214_000),
        ("dense", 650, 2, 200, 23_125_200),
    ],
)
def test_with_embedding_and_softmax_the_counts_are_those_of_the_papers_table(
    wiring, units, num_layers, embedding_dim, in_all
):
    layer = layers.RecurrentStack(num_layers, units, wiring=wiring)
    layer.build((None, None, embedding_dim))
    vocabulary = 10_000
    width = layer.compute_output_shape((None, None, embedding_dim))[-1]
    assert vocabulary * embedding_dim + layer.count_params() + vocabulary * (width + 1) == in_all


# The states do not depend on the kernel, and this one compiles nothing.
QUICK_KERNEL = {"kernel": "native" if keras.config.backend() == "tensorflow" else "portable"}


@pytest.mark.parametrize("wiring", ["dense", "stacked", "skip", "residual"])
@pytest.mark.parametrize("cell", ["lstm", "gru", "simple_rnn"])
def test_a_window_of_ten_equals_two_of_five_with_carried_state(wiring, cell):
    x = np.random.default_rng(0).normal(size=(3, 10, 6)).astype(np.float32)
    layer = layers.RecurrentStack(3, 6, wiring=wiring, cell=cell, return_state=True, **QUICK_KERNEL)
    outputs, *end = layer(x)
    first, *state = layer(x[:, :5])
    second, *last = layer(x[:, 5:], initial_state=state)
    assert len(state) == 3 * layer.states_per_layer
    np.testing.assert_allclose(np.concatenate([first, second], axis=1), outputs, atol=1e-5)
    for ours, theirs in zip(last, end, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize("kernel", ["portable", *TENSORFLOW_KERNELS, "auto"])
def test_every_kernel_gives_the_same_stack(kernel):
    x = np.random.default_rng(0).normal(size=(5, 7, 6)).astype(np.float32)
    portable = layers.DenseLSTM(2, 4, kernel="portable", return_state=True)
    portable(x)
    other = layers.DenseLSTM(2, 4, kernel=kernel, return_state=True)
    other(x)
    other.set_weights(portable.get_weights())
    state = [np.full((5, 4), 0.1 * (i + 1), np.float32) for i in range(4)]
    for training in (False, True):
        actual, expected = (layer(x, initial_state=state, training=training) for layer in (other, portable))
        for ours, theirs in zip(actual, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_all_layers_are_returned_without_dropout_and_stand_in_the_dense_output():
    x = np.random.default_rng(0).normal(size=(2, 5, 6)).astype(np.float32)
    layer = layers.DenseLSTM(3, 4, dropout=0.5, return_all_layers=True, return_state=True)
    outputs = layer(x)
    top = layers.DenseLSTM(3, 4)
    top(x)
    top.set_weights(layer.get_weights())
    np.testing.assert_allclose(np.concatenate([x, *outputs[:3]], axis=-1), top(x), atol=1e-6)
    for i in range(3):
        np.testing.assert_allclose(outputs[i][:, -1], outputs[3 + 2 * i], atol=1e-6)


def input_mask(**options):
    """Return a dropped input of ones, from the dense output's first columns: 0, or 1 / (1 - rate)."""
    layer = layers.DenseLSTM(2, 4, dropout=0.5, seed=1, **options)
    features = np.asarray(layer(ones(64), training=True))[:, :, :6]
    assert set(np.unique(features)) == {0.0, 2.0}
    assert 0.4 < (features == 0).mean() < 0.6
    return features


def test_regular_masks_vary_over_time_and_variational_ones_do_not():
    assert (input_mask()[:, 0] != input_mask()[:, 1]).any()
    fixed = input_mask(variational_dropout=True)
    assert (fixed == fixed[:, :1]).all()
    assert (fixed[0] != fixed[1]).any()


def softmax_reads_what_layer_one_reads(**options):
    """Make layer 1 a sum of what it reads, and compare it with the sum of what the softmax reads of the input."""
    layer = layers.RecurrentStack(1, 1, wiring="dense", cell="simple_rnn", dropout=0.5, seed=1, **options)
    layer.build((None, None, 4))
    weights = 1e-3 * 2.0 ** np.arange(4)  # each subset of the input has a sum of its own
    layer.set_weights([weights[:, None].astype(np.float32), np.zeros((1, 1), np.float32), np.zeros(1, np.float32)])
    outputs = np.asarray(layer(ones(50, 4, 4), training=True))
    sums, states = np.tanh(outputs[:, :, :4] @ weights), outputs[:, :, 4]
    nonzero = states != 0  # the softmax has a mask of the state as well
    return np.allclose(states[nonzero], 2 * sums[nonzero], atol=1e-6)


def test_a_mask_is_shared_by_all_readers_unless_each_shall_have_its_own():
    assert softmax_reads_what_layer_one_reads()
    assert not softmax_reads_what_layer_one_reads(dropout_sharing="per_reader")


def test_recurrent_dropout_holds_one_mask_of_the_state_for_the_window():
    x = np.random.default_rng(0).normal(size=(4, 9, 3)).astype(np.float32)
    layer = layers.DenseLSTM(1, 5, recurrent_dropout=0.5, seed=3)
    layer.build(x.shape)
    kernel, recurrent, bias = layer.get_weights()
    states = np.asarray(layer(x, training=True))[:, :, 3:]
    np.testing.assert_allclose(layer(x)[:, :, 3:], by_hand(x, kernel, recurrent, bias, np.ones((4, 5))), atol=1e-5)
    # Which of the 2^5 masks of each row was drawn is found by trying: exactly one of them gives every step.
    masks = 2.0 * ((np.arange(32)[:, None] >> np.arange(5)) & 1)
    masks_of_rows = []
    for b in range(4):
        candidates = by_hand(np.repeat(x[b : b + 1], 32, axis=0), kernel, recurrent, bias, masks)
        fits = [i for i in range(32) if np.allclose(candidates[i], states[b], atol=1e-5)]
        assert len(fits) == 1
        masks_of_rows += fits
    assert len(set(masks_of_rows)) > 1
    assert layer.explain_kernel().startswith("portable in training: recurrent dropout")


def by_hand(x, kernel, recurrent, bias, mask):
    h = c = np.zeros((len(x), recurrent.shape[0]))
    states = []
    for t in range(x.shape[1]):
        i, f, g, o = np.split(x[:, t] @ kernel + (h * mask) @ recurrent + bias, 4, axis=1)
        i, f, o = (1 / (1 + np.exp(-gate)) for gate in (i, f, o))
        c = f * c + i * np.tanh(g)
        h = o * np.tanh(c)
        states.append(h)
    return np.stack(states, axis=1)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_dropout_does_something_in_training_and_nothing_at_inference(cell):
    for options in ({"dropout": 0.5}, {"recurrent_dropout": 0.5}, {"dropout": 0.5, "variational_dropout": True}):
        layer = layers.RecurrentStack(2, 6, cell=cell, wiring="residual", **options)
        assert not np.allclose(layer(ones(), training=True), layer(ones(), training=True))
        np.testing.assert_array_equal(layer(ones()), layer(ones()))


def test_biases_start_where_they_are_told_to():
    uniform = keras.initializers.RandomUniform(-0.05, 0.05)
    layer = layers.DenseLSTM(2, 50, bias_initializer=uniform, unit_forget_bias=False)
    layer.build((None, None, 6))
    for bias in layer.get_weights()[2::3]:
        assert 0.03 < np.abs(bias).max() <= 0.05
        assert len(np.unique(bias)) > 150
    assert not np.allclose(layer.get_weights()[2], layer.get_weights()[5])
    layer = layers.DenseLSTM(1, 50, bias_initializer=uniform)
    layer.build((None, None, 6))
    assert (layer.get_weights()[2][50:100] == 1).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: layers.DenseLSTM(0, 4), "num_layers must be"),
        (lambda: layers.RecurrentStack(2, 4, wiring="dens"), "Did you mean 'dense'"),
        (lambda: layers.RecurrentStack(2, 4, cell="lstn"), "Did you mean 'lstm'"),
        (lambda: layers.RecurrentStack(2, 4, dropout=1.0), "dropout must be"),
        (lambda: layers.RecurrentStack(2, 4, dropout_sharing="x"), "dropout_sharing"),
        (lambda: layers.RecurrentStack(2, 4, wiring="residual")(ones()), "as many features as units = 4; received 6"),
        (lambda: layers.DenseLSTM(2, 4)(np.ones((2, 3), np.float32)), r"received shape \(2, 3\)"),
        (
            lambda: layers.DenseLSTM(2, 4)(ones(), initial_state=[np.ones((3, 4))]),
            "needs 2 tensors for each of 2 layers",
        ),
        (
            lambda: layers.DenseLSTM(1, 4)(ones(), initial_state=[np.ones((3, 4)), np.ones((3, 5))]),
            r"must be \(batch, units\) = \(batch, 4\); tensor 1 of initial_state has shape \(3, 5\)",
        ),
    ],
)
def test_bad_arguments_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
