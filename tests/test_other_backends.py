"""The layers under JAX and PyTorch, each in a virtual environment of its own, without TensorFlow."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import layer_harness

ROOT = Path(__file__).parents[1]
PACKAGES = {"jax": "jax", "torch": "torch>=2.13,<2.14"}
# Files of tests about layers alone; their tests that need TensorFlow's ops have a marker.
FILES = (
    *("test_layers", "test_bilstm_and_pooling", "test_dense_lstm", "test_skip_layers", "test_skip_golden"),
    *("test_dynamic_interaction", "test_crf", "test_token_features", "test_word_embedding", "test_padding"),
    "test_word_tables",
)

TWO_DEVICES = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax, keras, numpy as np
import dense_lstm_zoo as zoo
draws = np.random.default_rng(0)
ids, labels = draws.integers(1, 20, (16, 7)), draws.integers(0, 2, 16)
sizes = {"vocab_size": 20, "num_classes": 2, "embedding_dim": 5, "num_dense_layers": 2, "dense_units": 3}
results = []
for devices in (jax.devices()[:1], jax.devices()):
    keras.distribution.set_distribution(keras.distribution.DataParallel(devices=devices))
    keras.utils.set_random_seed(1)
    model = zoo.build("dc_bilstm", **sizes, top_units=4, embedding_dropout=0.0, dropout=0.0)
    model.fit(ids, labels, batch_size=8, epochs=2, verbose=0, shuffle=False)
    assert {len(weight.value.sharding.device_set) for weight in model.weights} == {len(devices)}
    results.append(model.get_weights())
for ours, theirs in zip(*results, strict=True):
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
print("same")
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory, saved_bundle):
    """Models of every layer, saved under TensorFlow with their outputs and gradients, and a bundle."""
    folder = tmp_path_factory.mktemp("saved")
    shutil.copytree(saved_bundle("dc_bilstm"), folder / "bundle")
    return folder, len(layer_harness.save(folder))


@pytest.fixture(scope="module", params=PACKAGES)
def run(request, tmp_path_factory):
    """Run Python on another backend, in an environment with that backend, Keras and what ``layers`` imports."""
    folder = tmp_path_factory.mktemp(request.param)
    python = folder / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    requirements = [PACKAGES[request.param], "keras>=3.15,<3.16", "numpy>=2.0", "pandas>=2.2,<4", "pytest>=8.3"]
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements], check=True
    )
    packages = subprocess.run([python, "-m", "pip", "list"], capture_output=True, text=True, check=True).stdout
    assert "tensorflow" not in packages
    environment = {**os.environ, "KERAS_BACKEND": request.param, "PYTHONPATH": str(ROOT)}
    if request.param == "jax":  # a call outside of a program compiles its loop again, unless programs are kept in files
        environment |= {
            "JAX_COMPILATION_CACHE_DIR": str(folder / "programs"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }

    def run(*arguments):
        """Return a finished process."""
        command = [python, *map(str, arguments)]
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)

    run.backend = request.param
    return run


@pytest.mark.slow
def test_layers_pass_their_tests_on_another_backend_without_tensorflow(run):
    files = [f"tests/{name}.py" for name in FILES]
    options = ("-q", "-p", "no:cacheprovider", "--budget", "0", "-m", "not slow and not tensorflow")
    ran = run("-m", "pytest", *options, *files)
    assert ran.returncode == 0, ran.stdout[-5_000:] + ran.stderr[-2_000:]
    assert int(re.search(r"(\d+) passed", ran.stdout).group(1)) > 500


@pytest.mark.slow
def test_what_tensorflow_saved_gives_the_same_outputs_and_gradients_and_classifiers_train(run, folders):
    folder, arrays = folders
    ran = run("-m", "tests.backend_worker", folder)
    assert ran.stdout.strip().endswith(f"same: {arrays}"), ran.stdout + ran.stderr[-5_000:]


@pytest.mark.slow
def test_data_parallel_training_on_two_devices_of_jax_equals_one(run):
    if run.backend != "jax":
        pytest.skip("keras.distribution distributes JAX alone")
    ran = run("-c", TWO_DEVICES)
    assert ran.stdout.strip().endswith("same"), ran.stdout + ran.stderr[-5_000:]
