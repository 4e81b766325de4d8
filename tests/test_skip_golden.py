"""Skip connections inside the cell give the golden vectors, in Keras's own loop and on every kernel."""

import keras
import numpy as np
import pytest

from dense_lstm_zoo import layers
from dense_lstm_zoo.layers.recurrence.gated_skip import GATED, SKIPS
from tests.backends import TENSORFLOW_KERNELS

skips = pytest.mark.parametrize("skip", SKIPS)


def golden_cell_weights(arrays, skip, prefix=""):
    names = ["W", "U", "b"]
    plain = [arrays[prefix + name] for name in names]
    if skip not in GATED:
        return plain
    gate = [arrays[f"{prefix}{name}g"] for name in ("W", "U", "b")]
    return [np.concatenate(pair, axis=-1) for pair in zip(plain, gate, strict=True)]


@skips
def test_the_cell_in_keras_loop_gives_the_golden_vectors(golden, skip):
    arrays = np.load(golden / "skip_lstm.npz")
    cell = layers.GatedSkipLSTMCell(4, skip)
    rnn = keras.layers.RNN(cell, return_sequences=True, return_state=True)
    inputs = arrays["x"] if skip == "none" else np.concatenate([arrays["x"], arrays["k"]], axis=-1)
    rnn.build(inputs.shape)
    cell.set_weights(golden_cell_weights(arrays, skip))
    h, last_h, last_c = rnn(inputs.astype(np.float32))
    np.testing.assert_allclose(h, arrays[f"{skip}_h"], atol=1e-6)
    np.testing.assert_allclose(last_h, arrays[f"{skip}_h"][:, -1], atol=1e-6)
    np.testing.assert_allclose(last_c, arrays[f"{skip}_c"][:, -1], atol=1e-6)


def test_a_gate_that_reads_the_skip_gives_the_golden_vectors(golden):
    arrays = np.load(golden / "skip_lstm.npz")
    cell = layers.GatedSkipLSTMCell(4, gate_inputs="skip")
    rnn = keras.layers.RNN(cell, return_sequences=True)
    rnn.build((3, 6, 9))
    recurrent = np.concatenate([arrays["U"], arrays["Wg_skip"]], axis=1)
    cell.set_weights([arrays["W"], recurrent, np.concatenate([arrays["b"], arrays["bg"]]), arrays["Ug"]])
    inputs = np.concatenate([arrays["x"], arrays["k"]], axis=-1).astype(np.float32)
    np.testing.assert_allclose(rnn(inputs), arrays["gated_outputs_skip_gate_h"], atol=1e-6)


@pytest.mark.parametrize("kernel", ["portable", *TENSORFLOW_KERNELS])
def test_the_stack_gives_the_golden_vectors_on_every_kernel(golden, kernel):
    arrays = np.load(golden / "skip_bilstm.npz")
    stack = layers.SkipBiLSTM(4, 4, kernel=kernel)
    stack.build(arrays["x"].shape)
    for layer, cells in enumerate(stack.cells):
        for cell, name in zip(cells, ("forward", "backward"), strict=True):
            cell.set_weights(golden_cell_weights(arrays, cell.skip, f"{name}_layer{layer}_"))
    states = stack(arrays["x"].astype(np.float32), lengths=arrays["lengths"])
    np.testing.assert_allclose(states, arrays["h"], atol=1e-6)


def test_highway_cells_give_the_golden_vectors(golden):
    arrays = np.load(golden / "highway_lstm.npz")
    cell = layers.HighwayLSTMCell(4)
    rnn = keras.layers.RNN(cell, return_sequences=True)
    rnn.build((3, 6, 9))
    kernel, bias = np.concatenate([arrays["W"], arrays["Wd"]], axis=1), np.concatenate([arrays["b"], arrays["bd"]])
    cell.set_weights([kernel, arrays["U"], bias, np.stack([arrays["wc"], arrays["wl"]])])
    inputs = np.concatenate([arrays["x"], arrays["c_below"]], axis=-1).astype(np.float32)
    np.testing.assert_allclose(rnn(inputs), arrays["h"], atol=1e-6)


@pytest.mark.parametrize("coupled", [False, True])
def test_recurrent_highway_cells_give_the_golden_vectors(golden, coupled):
    arrays, width = np.load(golden / "recurrent_highway.npz"), 8 if coupled else 12
    cell = layers.RecurrentHighwayCell(4, 3, couple_gates=coupled)
    rnn = keras.layers.RNN(cell, return_sequences=True)
    rnn.build((3, 6, 5))
    kernel = np.concatenate([arrays["Wx"][:, :width], arrays["Wo"]], axis=1)
    cell.set_weights([kernel, arrays["R"][:, :, :width], arrays["b"][:, :width], arrays["Ro"], arrays["bo"]])
    expected = arrays["y_coupled" if coupled else "y_uncoupled"]
    np.testing.assert_allclose(rnn(arrays["x"].astype(np.float32)), expected, atol=1e-6)
