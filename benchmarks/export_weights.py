"""A model's ONNX exports with weights in float32, float16 and int8, in turns in one process and one thread.

A turn answers some texts one by one, and then all of them in one call, with the export of each precision. Times are
seconds of processor time, which other work on the machine disturbs less than the clock. Ratios compare turns, float32
to the other. Models and texts are those of ``benchmarks.onnx_export``, whose figures are of fresh processes on the
clock. Rows go to results/export_weights.csv. From the repository's root:

    python -m benchmarks.export_weights W dc_bilstm_sst2 bilstm_sst2
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.onnx_export import WEIGHTS, answers, trained, workload
from dense_lstm_zoo import checks, machine
from dense_lstm_zoo.data.word_table import installed_tables
from dense_lstm_zoo.measuring.turns import compare, spread, take_turns
from dense_lstm_zoo_runtime import Predictor
from tuning import protocols, result_files

RESULTS = result_files.ROOT / "results" / "export_weights.csv"
KEY = ["model", "weights", "processor"]
_ALONE, _TOGETHER = 20, 200  # texts of a turn


def processor_ms(work: Callable[[], Any]) -> float:
    """Return the milliseconds of this thread's processor time that a call takes."""
    start = time.thread_time()
    work()
    return 1000 * (time.thread_time() - start)


def one_by_one(predictor: Predictor, texts: Sequence[str]) -> None:
    """Answer texts in a call each."""
    for text in texts:
        predictor.predict([text])


def rows(name: str, work: Path, repeats: int) -> list[dict[str, Any]]:
    """Export a model in every precision, and return a row for each: what differs, time, ratios, size.

    Raises:
        ValueError: A number of repeats below 1, or an unknown model.
    """
    checks.integer("repeats", repeats)
    bundle, texts, _ = workload() if name == "W" else trained(name)
    shared = bundle.config["training"].get("vectors") in installed_tables()
    expected, shares = answers(bundle.predict(texts))
    folders, predictors, model_rows = {}, {}, {}
    for weights in WEIGHTS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # W has no scores
            options: dict[str, Any] = {"format": "onnx", "weights": weights, "shared_words": shared}
            folders[weights] = bundle.export(work / name / weights, **options)
        predictors[weights] = Predictor(folders[weights], threads=1)
        labels, probabilities = answers(predictors[weights].predict(texts))
        size = sum(file.stat().st_size for file in folders[weights].iterdir() if file.name != "README.md")
        differences = sum(label != other for label, other in zip(labels, expected, strict=True))
        model_rows[weights] = {"model": name, "weights": weights, "texts": len(texts), "answers": len(expected)}
        model_rows[weights] |= {"answers_that_differ": differences, "disk_mb": round(size / 1e6, 2)}
        model_rows[weights]["largest_difference"] = f"{np.abs(probabilities - shares).max():.1e}"
    turns = cycle(texts)
    alone: dict[str, list[float]] = {weights: [] for weights in WEIGHTS}
    for _ in range(repeats):
        group = list(islice(turns, _ALONE))
        for weights, predictor in predictors.items():
            alone[weights].append(processor_ms(partial(one_by_one, predictor, group)) / _ALONE)
    calls = {weights: partial(predictor.predict, texts[:_TOGETHER]) for weights, predictor in predictors.items()}
    together = take_turns({weights: partial(processor_ms, call) for weights, call in calls.items()}, repeats)
    for weights, row in model_rows.items():
        for label, times in (("1", alone), (str(_TOGETHER), together)):
            median, width = spread(times[weights])
            row |= {f"cpu_ms_{label}": round(median, 3), f"cpu_spread_ms_{label}": round(width, 3)}
            ratios = compare(times[weights], times["float32"])
            row |= {f"{key}_{label}": round(value, 2) for key, value in ratios.items()}
        row |= {"repeats": repeats, "processor": machine.processor(), "cores": machine.cores()}
        row |= {"load_average": round(os.getloadavg()[0], 1)}
    return list(model_rows.values())


def main() -> None:
    """Measure each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL", help="W, or the name of a classifier's preset")
    parser.add_argument("--repeats", type=int, default=15, help="turns (default: 15)")
    options = parser.parse_args()
    versions = protocols.read_versions({"versions": machine.versions()})
    with protocols.plain_errors(), tempfile.TemporaryDirectory() as work:
        for name in options.models:
            command = f"python -m benchmarks.export_weights {name} --repeats {options.repeats}"
            model_rows = rows(name, Path(work), options.repeats)
            result_files.merge(RESULTS, [{**row, "versions": versions, "command": command} for row in model_rows], KEY)
            print(*model_rows, sep="\n", flush=True)


if __name__ == "__main__":
    main()
