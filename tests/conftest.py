import functools
import gc
import importlib.util
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

# Start-up messages of TensorFlow's C++ code would be mixed with what the tests look at.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# Tests train tiny models: without the zoo's vectors, whether or not they are installed. Tests of vectors name a folder.
os.environ["DENSE_LSTM_ZOO_PRESETS"] = os.devnull

# A graph in the making is many small objects, and walking all of them again and again takes a fifteenth of the time.
gc.set_threshold(100_000, 20, 100)

# The same examples in every run, so that no change fails by chance: --hypothesis-profile=default draws others.
hypothesis.settings.load_profile("ci")

_tests = itertools.count(1)


def _processor_seconds() -> float:
    """Seconds of processor time of this process and of those it waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


# A process's first training starts XLA and traces what later ones share: 4 to 8 seconds that are no test's own. A
# session of many tests trains once before it judges any. Of a few, run by hand, each may be the one that trains first.
_MANY, _FIRST_TRAINING = 500, 13
# What the budget is stated for: a quiet machine that traces ``_trace`` in this time.
_TRACE_SECONDS = 0.08


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """Note a test's processor time in the report, and fail one that is over the budget and not marked as slow."""
    start = _processor_seconds()
    outcome = yield
    seconds = _processor_seconds() - start
    item.user_properties.append(("processor_seconds", round(seconds, 2)))
    budget = item.config.getoption("budget")
    if budget and seconds > budget and item.get_closest_marker("slow") is None:
        own = budget * _slowness() + (_FIRST_TRAINING if len(item.session.items) < _MANY else 0)
        if seconds > own:
            pytest.fail(f"{seconds:.1f} s of processor time, of at most {own:.3g}: make it cheaper, or mark it as slow")
    return outcome


def _slowness() -> float:
    """Return how many times longer the machine takes now than a quiet one: beside other work, processors are slower."""
    return max(1.0, *(_trace() / _TRACE_SECONDS for _ in range(3)))


def _trace() -> float:
    """Trace a graph, as most of the tests' time is spent, and return the processor seconds."""
    import tensorflow as tf

    def repeat(x: Any) -> Any:
        for _ in range(100):
            x = 2 * x + 1
        return x

    start = time.thread_time()
    tf.function(repeat, autograph=False).get_concrete_function(tf.TensorSpec(()))
    return time.thread_time() - start


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--budget", type=float, default=4, help="processor seconds that a test may take, unless slow; 0: any"
    )


@pytest.fixture(scope="session", autouse=True)
def _first_training(request: pytest.FixtureRequest, _quick_pictures: Any) -> None:
    """Train once where many tests follow."""
    import keras  # not sooner: TensorFlow reads the level at its import

    if keras.config.backend() != "tensorflow":
        return
    _make_graphs_quickly()
    if len(request.session.items) >= _MANY:
        request.getfixturevalue("trained_once")


# What XLA compiles in a test runs for milliseconds: making it faster takes longer than it runs.
_QUICK_PROGRAMS = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"


def _make_graphs_quickly() -> None:
    """Switch off what costs TensorFlow more time than a few steps of a tiny model gain."""
    import tensorflow as tf
    from tensorflow.python.util import tf_stack

    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})  # it rewrites each graph
    if "XLA_FLAGS" not in os.environ:  # XLA reads it once, at its first program; processes that tests start have none
        os.environ["XLA_FLAGS"] = _QUICK_PROGRAMS
        tf.function(lambda x: x + 1, jit_compile=True)(tf.constant(1))
        del os.environ["XLA_FLAGS"]
    gc.freeze()  # what was imported stays; a test that collects garbage would look through all of it
    # Each operation notes the Python lines that made it, which takes as long as to make it.
    stack = tf_stack.extract_stack()
    tf_stack.extract_stack = lambda stacklevel=1: stack


@pytest.fixture(autouse=True)
def seed() -> Iterator[None]:
    """Let every test draw the same weights each time: a few draws leave a tiny model nothing to learn from."""
    import keras

    keras.utils.set_random_seed(1)
    if keras.config.backend() != "torch":
        yield
        if keras.config.backend() == "jax" and next(_tests) % 40 == 0:
            import jax

            # A test of layers leaves some 190 maps of memory for its programs. Linux allows a process 65,530; past that
            # JAX ends it with a segmentation fault.
            jax.clear_caches()
        return
    import torch

    with torch.no_grad():  # so that NumPy takes what layers return, as it does on other backends
        yield


@pytest.fixture(scope="session", autouse=True)
def _quick_pictures() -> Iterator[Callable[..., None]]:
    """Make figures whole but write empty ones: drawing them is a fifth of a tiny training."""
    if importlib.util.find_spec("matplotlib") is None:  # in the environments of other backends
        yield lambda *_, **__: None
        return
    from matplotlib.figure import Figure

    draw = Figure.savefig

    def write_empty(figure: Figure, file: Any, **options: Any) -> None:
        draw(Figure(figsize=(0.5, 0.5)), file, **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Figure, "savefig", write_empty)
        yield draw


@pytest.fixture
def real_pictures(monkeypatch: pytest.MonkeyPatch, _quick_pictures: Callable[..., None]) -> None:
    """Draw pictures, for the tests that look at them."""
    if importlib.util.find_spec("matplotlib") is not None:
        monkeypatch.setattr("matplotlib.figure.Figure.savefig", _quick_pictures)


@pytest.fixture(scope="session")
def other_widths() -> None:
    """Trace the programs that layers share for two widths: from then on what they return has no width of its own."""
    from tests import backends, layer_harness

    if backends.BACKEND == "tensorflow":  # no other backend shares any
        layer_harness.trace_other_widths()


@pytest.fixture
def presets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that stands for the installed word tables and presets."""
    folder = tmp_path / "presets"
    folder.mkdir()
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(folder))
    return folder


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The real corpora, where the machine has them."""
    folder = os.environ.get("DENSE_LSTM_ZOO_DATA")
    if not folder:
        pytest.skip("DENSE_LSTM_ZOO_DATA names no folder with the real corpora")
    return Path(folder)


# The project's own golden files, and other ones made independently of them, where the machine has any.
GOLDEN = {"own": Path(__file__).parent / "golden", "shared": Path(__file__).parents[2] / "shared" / "spec" / "golden"}


@pytest.fixture(scope="session", params=[name for name, folder in GOLDEN.items() if name == "own" or folder.is_dir()])
def golden(request) -> Path:
    """A folder of golden files: inputs, weights and outputs of each layer."""
    return GOLDEN[request.param]


@pytest.fixture(scope="session")
def trained_once(tmp_path_factory):
    """A trained bundle and its folder. No test changes them."""
    from tests.training_harness import train

    folder = tmp_path_factory.mktemp("runs") / "demo"
    return train(folder), folder


@pytest.fixture(scope="session")
def run(trained_once):
    """The same by a short name, which some files give to runs of their own."""
    return trained_once


@pytest.fixture(scope="session")
def saved_bundle(tmp_path_factory):
    """Return the folder of a model's untrained bundle. No test changes it."""
    from tests import bundle_harness

    folder = tmp_path_factory.mktemp("bundles")

    @functools.cache
    def save(name: str) -> Path:
        return bundle_harness.bundle(name).save(folder / name)

    return save


@pytest.fixture(scope="session")
def batch_exports(tmp_path_factory):
    """ONNX exports of tiny models with their bundles, by model. No test changes them."""
    from tests.batch_harness import exports

    return exports(tmp_path_factory.mktemp("exports"))


@pytest.fixture
def write(tmp_path):
    """Write a file and return its path. A list becomes lines of JSON."""

    def _write(content, name="train.txt"):
        path = tmp_path / name
        if isinstance(content, list):
            content = "".join(json.dumps(row) + "\n" for row in content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return _write
