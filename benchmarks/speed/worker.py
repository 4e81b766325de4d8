"""One side of a comparison in a process of its own, the other end of ``measure.Worker``."""

from __future__ import annotations

import gc
import importlib
import importlib.metadata
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.comparisons import make_side
from benchmarks.speed.networks import Architecture
from dense_lstm_zoo import machine
from dense_lstm_zoo.measuring.process import answer_requests

_sides: dict[str, Any] = {}


def load(imports: str) -> dict[str, str]:
    """Import a library with all that its side needs, so that no time holds an import. Return its version."""
    modules = {"tensorflow": ["tensorflow", "keras", "dense_lstm_zoo.layers"], "torch": ["torch"]}[imports]
    for module in modules:
        importlib.import_module(module)
    return {imports: importlib.metadata.version(imports)}


def build(side: str, architecture: dict[str, Any], key: str = "", network: str = "classifier") -> None:
    """Make a side of a network's comparison. ``key`` tells it from others in this process."""
    _sides[key] = make_side(network, side, architecture)


def build_text(side: str, corpus: str, max_texts: int | None, kernel: str | None, key: str = "") -> dict[str, int]:
    """Make a side that starts from raw text. Return how many texts and tokens it trains on."""
    from benchmarks.speed.texts import TextSide

    _sides[key] = TextSide(side, corpus, max_texts, kernel)
    return _sides[key].sizes()


def build_training(how: str, model: str, dataset: str, texts: int | None, key: str = "") -> dict[str, int]:
    """Make a side that trains as ``zoo.train`` does. Return its sizes."""
    from benchmarks.kept_memory import Side

    _sides[key] = Side(how, model, dataset, texts)
    return _sides[key].sizes


def run(method: str, key: str = "", **arguments: Any) -> Any:
    """Call a method of a side: ``train``, ``predict``, ..."""
    return getattr(_sides[key], method)(**arguments)


def save(method: str, path: str, key: str = "", **arguments: Any) -> None:
    """Write the arrays that a method returns (``weights``, ``logits``) to a file."""
    arrays = getattr(_sides[key], method)(**arguments)
    np.savez(path, *(arrays if isinstance(arrays, list) else [arrays]))


def set_weights(path: str, key: str = "") -> None:
    """Give a side the weights that ``save`` wrote."""
    with np.load(path) as arrays:
        _sides[key].set_weights([arrays[name] for name in arrays.files])


def matmul_gflops(size: int, repeats: int) -> float:
    """Return the best rate of a float32 matrix product of ``size``: the machine's peak for this purpose."""
    import tensorflow as tf

    matrix = tf.random.normal((size, size))
    product = tf.function(lambda: tf.reduce_sum(tf.matmul(matrix, matrix)[0]))
    product()
    best = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        product().numpy()
        best = min(best, time.perf_counter() - started)
    return 2 * size**3 / best / 1e9


def training_memory(architecture: dict[str, Any], batch: int, length: int) -> float:
    """Return how many MB one training step needs above what the process held after a tiny step.

    The graph is traced (for any batch) and Adam's moments made by the tiny step. A full step before the one that is
    measured compiles what a shape compiles, so that a compiler's memory does not count as the step's.
    """
    from benchmarks.speed.peers import OurSide, random_batch

    model = OurSide(Architecture(**architecture)).model

    def step(batch: int, length: int) -> None:
        import tensorflow as tf

        features, lengths, labels = random_batch(Architecture(**architecture), batch, length)
        spec = tf.TensorSpec((None, None, features.shape[2])), tf.TensorSpec((None,), tf.int32)
        dataset = tf.data.Dataset.from_generator(
            lambda: iter([((features, lengths), labels)]),
            output_signature=(spec, tf.TensorSpec((None,), tf.int32)),
        )
        model.fit(dataset, verbose=0, shuffle=False)

    step(1, 2)
    _return_free_memory()
    base = machine.resident_mb()
    step(batch, length)
    _return_free_memory()
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew
    step(batch, length)
    return machine.peak_mb() - base


def step_memory(side: str, architecture: dict[str, Any], method: str, batch: int, length: int) -> float:
    """Return how many MB a side's step (``train``, ``predict``) needs above what the process held after a tiny one.

    As in ``training_memory``, a step before the one that is measured compiles what a shape compiles.
    """
    step = getattr(make_side("classifier", side, architecture), method)
    step(batch=1, time=2, steps=1)
    _return_free_memory()
    base = machine.resident_mb()
    step(batch=batch, time=length, steps=1)
    _return_free_memory()
    Path("/proc/self/clear_refs").write_text("5")
    step(batch=batch, time=length, steps=1)
    return machine.peak_mb() - base


def _return_free_memory() -> None:
    """Give what is free to the system: the allocator keeps pages that would hide the next step's."""
    import ctypes

    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


REQUESTS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        *(load, build, build_text, build_training, run, save, set_weights),
        *(matmul_gflops, training_memory, step_memory),
    )
}

if __name__ == "__main__":
    answer_requests(REQUESTS)
