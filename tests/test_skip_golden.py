"""Skip connections inside the cell give the golden vectors, in Keras's own loop and on every kernel."""

import keras
import numpy as np
import pytest

from dense_lstm_zoo import layers
from dense_lstm_zoo.layers.recurrence.gated_skip import GATED, SKIPS
from tests.backends import TENSORFLOW_KERNELS

skips = pytest.mark.parametrize("skip", SKIPS)


def golden_cell_weights(found, skip, prefix=""):
    names = ["W", "U", "b"]
    plain = [found[prefix + name] for name in names]
    if skip not in GATED:
        return plain
    gate = [found[f"{prefix}{name}g"] for name in ("W", "U", "b")]
    return [np.concatenate(pair, axis=-1) for pair in zip(plain, gate, strict=True)]


@skips
def test_the_cell_in_keras_loop_gives_the_golden_vectors(golden, skip):
    found = np.load(golden / "skip_lstm.npz")
    cell = layers.GatedSkipLSTMCell(4, skip)
    rnn = keras.layers.RNN(cell, return_sequences=True, return_state=True)
    inputs = found["x"] if skip == "none" else np.concatenate([found["x"], found["k"]], axis=-1)
    rnn.build(inputs.shape)
    cell.set_weights(golden_cell_weights(found, skip))
    h, last_h, last_c = rnn(inputs.astype(np.float32))
    np.testing.assert_allclose(h, found[f"{skip}_h"], atol=1e-6)
    np.testing.assert_allclose(last_h, found[f"{skip}_h"][:, -1], atol=1e-6)
    np.testing.assert_allclose(last_c, found[f"{skip}_c"][:, -1], atol=1e-6)


def test_a_gate_that_reads_the_skip_gives_the_golden_vectors(golden):
    found = np.load(golden / "skip_lstm.npz")
    cell = layers.GatedSkipLSTMCell(4, gate_inputs="skip")
    rnn = keras.layers.RNN(cell, return_sequences=True)
    rnn.build((3, 6, 9))
    recurrent = np.concatenate([found["U"], found["Wg_skip"]], axis=1)
    cell.set_weights([found["W"], recurrent, np.concatenate([found["b"], found["bg"]]), found["Ug"]])
    inputs = np.concatenate([found["x"], found["k"]], axis=-1).astype(np.float32)
    np.testing.assert_allclose(rnn(inputs), found["gated_outputs_skip_gate_h"], atol=1e-6)


@pytest.mark.parametrize("kernel", ["portable", *TENSORFLOW_KERNELS])
def test_the_stack_gives_the_golden_vectors_on_every_kernel(golden, kernel):
    found = np.load(golden / "skip_bilstm.npz")
    stack = layers.SkipBiLSTM(4, 4, kernel=kernel)
    stack.build(found["x"].shape)
    for layer, cells in enumerate(stack.cells):
        for cell, name in zip(cells, ("forward", "backward"), strict=True):
            cell.set_weights(golden_cell_weights(found, cell.skip, f"{name}_layer{layer}_"))
    states = stack(found["x"].astype(np.float32), lengths=found["lengths"])
    np.testing.assert_allclose(states, found["h"], atol=1e-6)


def test_highway_cells_give_the_golden_vectors(golden):
    found = np.load(golden / "highway_lstm.npz")
    cell = layers.HighwayLSTMCell(4)
    rnn = keras.layers.RNN(cell, return_sequences=True)
    rnn.build((3, 6, 9))
    kernel, bias = np.concatenate([found["W"], found["Wd"]], axis=1), np.concatenate([found["b"], found["bd"]])
    cell.set_weights([kernel, found["U"], bias, np.stack([found["wc"], found["wl"]])])
    inputs = np.concatenate([found["x"], found["c_below"]], axis=-1).astype(np.float32)
    np.testing.assert_allclose(rnn(inputs), found["h"], atol=1e-6)


@pytest.mark.parametrize("coupled", [False, True])
def test_recurrent_highway_cells_give_the_golden_vectors(golden, coupled):
    found, width = np.load(golden / "recurrent_highway.npz"), 8 if coupled else 12
    cell = layers.RecurrentHighwayCell(4, 3, couple_gates=coupled)
    rnn = keras.layers.RNN(cell, return_sequences=True)
    rnn.build((3, 6, 5))
    kernel = np.concatenate([found["Wx"][:, :width], found["Wo"]], axis=1)
    cell.set_weights([kernel, found["R"][:, :, :width], found["b"][:, :width], found["Ro"], found["bo"]])
    expected = found["y_coupled" if coupled else "y_uncoupled"]
    np.testing.assert_allclose(rnn(found["x"].astype(np.float32)), expected, atol=1e-6)
