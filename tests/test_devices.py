"""More than one device: two logical ones of the processor, in a process of their own."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import tensorflow as tf

from tests import model_harness as harness

ROOT = Path(__file__).parents[1]
_SET_UP = """
import sys, keras, numpy as np, tensorflow as tf
import dense_lstm_zoo as zoo
from tests import model_harness as harness
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
one, two = (tf.distribute.MirroredStrategy(devices) for devices in (["CPU:0"], ["CPU:0", "CPU:1"]))
def check_equal(results, tolerance):
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=tolerance)
"""
_FIT = """
ids, labels = harness.ids(8), harness.labels(8)
results = []
for strategy in (one, two):
    keras.utils.set_random_seed(3)
    with strategy.scope():
        model = harness.tiny(sys.argv[1], dropout=0.0, embedding_dropout=0.0)
    model.fit(tf.data.Dataset.from_tensor_slices((ids, labels)).batch(4), epochs=3, verbose=0)
    results.append([np.asarray(w) for w in model.get_weights()])
check_equal(results, 1e-5)
odd = tf.data.Dataset.from_tensor_slices((ids[:5], labels[:5])).batch(4)  # the last batch leaves a device without a row
assert np.isfinite(model.fit(odd, verbose=0).history["loss"]).all()
assert all(np.isfinite(w).all() for w in model.get_weights())
"""
_TRAIN = """
small = {"embedding_dim": 8, "units": 8, "dropout": 0.0, "epochs": 2, "baseline": False, "progress": False}
if sys.argv[1] == "bilstm":
    small |= {"embedding_dropout": 0.0, "batch_size": 200}
else:
    small |= {"window_dropout": 0.0, "batch_size": 32}
bundles = []
for name, strategy in (("one", one), ("two", two)):
    with strategy.scope():
        bundles.append(zoo.train(sys.argv[1], "demo", f"{sys.argv[2]}/{name}", **small))
losses = [bundle.history[["loss", "val_loss"]].to_numpy().ravel() for bundle in bundles]
check_equal(losses, 1e-3)
assert len(set(losses[0])) == 4
texts = zoo.load_corpus("demo").test.texts[:5]
if sys.argv[1] == "bilstm":
    check_equal([bundle.model.get_weights() for bundle in bundles], 1e-5)
    again = zoo.load(f"{sys.argv[2]}/two")
    check_equal([bundle.probabilities(texts) for bundle in (again, bundles[0])], 1e-5)
"""


def run(script, *arguments):
    """Run a script in a fresh process."""
    command = [sys.executable, "-c", _SET_UP + script + '\nprint("same")', *map(str, arguments)]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert process.stdout.strip().endswith("same"), process.stderr


@pytest.mark.slow
@pytest.mark.parametrize("model", ["bilstm", "dc_bilstm", "di_bilstm"])
def test_fit_on_two_devices_equals_one(model):
    run(_FIT, model)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["bilstm", "bilstm_tagger"])
def test_train_in_the_scope_of_two_devices_equals_one(model, tmp_path):
    run(_TRAIN, model, tmp_path)


def test_a_language_model_is_refused_on_several_devices(monkeypatch):
    monkeypatch.setattr(tf.distribute, "get_strategy", lambda: SimpleNamespace(num_replicas_in_sync=2))
    with pytest.raises(ValueError, match="A language model carries a state between batches, on one device; received 2"):
        harness.tiny("dense_lstm_lm")
