"""What layers do on another backend than TensorFlow, in a process of its own: ``test_other_backends.py`` runs it.

Its argument is a folder that ``layer_harness.save`` filled under TensorFlow.
"""

import importlib.util
import sys
import tempfile
from pathlib import Path

import keras
import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo import layers
from tests import layer_harness as harness

IDS, LABELS = np.array([[3, 4, 5, 0], [7, 8, 0, 0]], np.int32), np.array([0, 1])
SIZES = {"num_dense_layers": 2, "dense_units": 3, "top_units": 4}


def check_kernels(backend: str) -> None:
    """``auto`` is portable, and says so; others are refused when asked for, and replaced in a saved layer."""
    assert layers.BiLSTM(3).explain_kernel() == f"portable: Keras runs on {backend}"
    for kernel in ("native", "compiled", "cudnn"):
        refused = f"kernel='{kernel}' cannot run here: it needs the TensorFlow backend, and Keras runs on {backend}.*"
        with pytest.raises(ValueError, match=refused + r"Accepted: auto, portable\."):
            layers.BiLSTM(3, kernel=kernel)
        config = {**layers.BiLSTM(3).get_config(), "kernel": kernel}
        with pytest.warns(UserWarning, match="the portable kernel runs"):
            assert layers.BiLSTM.from_config(config).kernel == "portable"


def check_saving() -> None:
    """A layer that was trained and saved here gives the same when it is loaded."""
    model = harness.model(harness.BY_NAME["dense_bilstm"])
    x = [harness.inputs(), harness.LENGTHS]
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "m.keras")
        again = keras.saving.load_model(Path(folder) / "m.keras")
    np.testing.assert_allclose(again.predict(x, verbose=0), model.predict(x, verbose=0), atol=1e-6)


def check_fit() -> None:
    """A registered classifier is built, described, trained and used."""
    model = zoo.build(
        "dc_bilstm", vocab_size=20, num_classes=2, embedding_dim=5, embedding_dropout=0.0, dropout=0.0, **SIZES
    )
    assert "portable" in str(zoo.describe(model))
    losses = model.fit(IDS, LABELS, epochs=30, verbose=0).history["loss"]
    assert losses[-1] < 0.1 * losses[0]
    assert model.predict(IDS, verbose=0).argmax(axis=1).tolist() == LABELS.tolist()


if __name__ == "__main__":
    assert importlib.util.find_spec("tensorflow") is None
    check_kernels(keras.config.backend())
    check_saving()
    check_fit()
    print("same:", harness.compare(Path(sys.argv[1])))
