"""Checks of layers on another backend than TensorFlow, in a process that ``test_other_backends.py`` starts.

Its argument is a folder that ``layer_harness.save`` filled under TensorFlow. ``bundle`` in it is a bundle.
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
from dense_lstm_zoo.cli import main
from dense_lstm_zoo.data.token_sizes import MAX_CHARS
from dense_lstm_zoo.models.adam import FusedAdam
from dense_lstm_zoo.models.sgd import FusedSGD
from tests import layer_harness as harness

IDS, LABELS = np.array([[3, 4, 5, 0], [7, 8, 0, 0]], np.int32), np.array([0, 1])
CHARACTERS = np.random.default_rng(0).integers(1, 9, (2, 4, MAX_CHARS)) * (IDS > 0)[..., None]
SIZES = {"num_dense_layers": 2, "dense_units": 3, "top_units": 4}


def check_kernels(backend: str) -> None:
    """Check that ``auto`` is portable and says so. Others are refused on request and replaced in a saved layer."""
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
    """Build, describe, train and use a registered classifier, also one that reads characters."""
    for options in ({}, {"num_chars": 9, "char_filters": 3, "char_dim": 2}):
        model = zoo.build(
            "dc_bilstm",
            **{"vocab_size": 20, "num_classes": 2, "embedding_dim": 5, "embedding_dropout": 0.0, "dropout": 0.0},
            learning_rate=0.02,
            **SIZES,
            **options,
        )
        assert "portable" in str(zoo.describe(model))
        inputs = {"token_ids": IDS, "char_ids": CHARACTERS} if options else IDS
        losses = model.fit(inputs, LABELS, epochs=30, verbose=0).history["loss"]
        assert losses[-1] < 0.1 * losses[0]
        assert model.predict(inputs, verbose=0).argmax(axis=1).tolist() == LABELS.tolist()


def check_refusals(backend: str, bundle: Path) -> None:
    """Check that features of TensorFlow name it in their error, instead of a missing module."""
    message = f"run on Keras's TensorFlow backend only; received '{backend}'. Set KERAS_BACKEND=tensorflow"
    for name in zoo.list_models(task="language_model"):
        with pytest.raises(ValueError, match=message):
            zoo.build(name, vocab_size=20)
    for name in zoo.list_models(task="tagging"):
        with pytest.raises(ValueError, match=message):
            zoo.build(name, vocab_size=20, num_tags=3, num_chars=9)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        for start in (
            lambda: zoo.train("dc_bilstm", "demo", run),
            lambda: zoo.run_protocol("dc_bilstm", "demo", run),
            lambda: zoo.load(bundle),
            lambda: zoo.text_dataset(["a film"], ["good"]),
            lambda: zoo.bucketed([[2, 3]], [0]),
        ):
            with pytest.raises(ValueError, match=message):
                start()
        assert list(Path(folder).iterdir()) == []
    assert main(["predict", str(bundle), "a film"]) == 2  # an error on one line


def check_optimizers() -> None:
    """Our optimisers take the steps of Keras's."""
    for ours, theirs in ((FusedAdam, keras.optimizers.Adam), (FusedSGD, keras.optimizers.SGD)):
        trained = []
        for optimizer in (ours, theirs):
            model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, kernel_initializer="ones")])
            model.compile(optimizer(0.1, global_clipnorm=1.0), "mse")
            model.fit(np.array([[1.0, 2.0]]), np.ones((1, 1)), epochs=3, verbose=0)
            trained.append(model.get_weights())
        assert np.abs(trained[0][0] - 1).max() > 0.01
        for actual, expected in zip(*trained, strict=True):
            np.testing.assert_allclose(actual, expected, atol=1e-6)


if __name__ == "__main__":
    assert importlib.util.find_spec("tensorflow") is None
    keras.utils.set_random_seed(1)
    check_kernels(keras.config.backend())
    check_saving()
    check_fit()
    check_refusals(keras.config.backend(), Path(sys.argv[1]) / "bundle")
    check_optimizers()
    print("same:", harness.compare(Path(sys.argv[1])))
