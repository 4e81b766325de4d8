"""The process that measures one run: ``python -m dense_lstm_zoo.measuring.worker``."""

from __future__ import annotations

import importlib
import time
import warnings
from typing import Any

from dense_lstm_zoo import machine
from dense_lstm_zoo.measuring.process import answer_requests


def measure_run(kind: str, path: str, texts: list[str], sizes: list[int], repeats: int) -> dict[str, Any]:
    """Load a bundle or an export in this process, predict, and return the measurements.

    Args:
        kind: ``"bundle"``, ``"export"`` or ``"onnx"``.
        path: Its folder.
        texts: The texts to predict. The first that is not blank comes first, by itself.
        sizes: Texts a call.
        repeats: Timed calls of each size.
    """
    started = time.perf_counter()
    from dense_lstm_zoo.measuring import served

    for module in served.IMPORTS[kind]:
        importlib.import_module(module)
    if "tensorflow" in served.IMPORTS[kind]:
        import tensorflow as tf

        (tf.constant(1.0) + 1.0).numpy()  # the start of TensorFlow does not count as the model's
    import_s = time.perf_counter() - started
    from dense_lstm_zoo.measuring.latency import time_calls

    before = machine.resident_mb()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)  # such as for a kernel that cannot run here
        started = time.perf_counter()
        model = served.LOADERS[kind](path)
        load_s = time.perf_counter() - started
    first = next((text for text in texts if text.strip()), texts[0])
    started = time.perf_counter()
    model.predict([first])
    first_ms, start_s = 1e3 * (time.perf_counter() - started), machine.process_age()
    times_of = {size: time_calls(model.predict, texts, size, repeats) for size in sizes}
    peak = machine.peak_mb()
    row: dict[str, Any] = {"task": model.task, "model": model.model}
    row |= {"start_s": start_s, "import_s": import_s, "load_s": load_s, "first_ms": first_ms}
    for size, times in times_of.items():
        row |= {f"{name}_{size}": times[name] for name in ("p50_ms", "p99_ms", "calls")}
    row |= {"texts_per_s": times_of[sizes[-1]]["texts_per_s"], "peak_mb": peak, "added_mb": max(peak - before, 0.0)}
    return {**row, "warnings": [str(warning.message) for warning in caught]}


if __name__ == "__main__":
    answer_requests({"measure_run": measure_run})
