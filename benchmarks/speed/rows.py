"""From workers to rows: starting the sides, checking that they agree, measuring them in turn, filling the columns."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed import measure
from benchmarks.speed.measure import Worker, WorkerError
from benchmarks.speed.workloads import COLUMNS, LONG_REPEATS, TARGETS, Settings
from dense_lstm_zoo import machine
from dense_lstm_zoo.measuring import turns

Row = dict[str, Any]
TOLERANCE = 1e-4  # of logits of order 1, before anything is timed
BFLOAT16_TOLERANCE = 0.1  # the same where products have 8 bits


def note(text: str) -> None:
    """Tell the user, beside the results."""
    print(text, file=sys.stderr, flush=True)


def row(settings: Settings, versions: dict[str, str], **values: Any) -> Row:
    """Return a row with every column. What does not apply is empty."""
    cells = {
        **values,
        "kernel": settings.kernel or "",
        "versions": " ".join(f"{name}={version}" for name, version in versions.items()),
        "processor": machine.processor(),
        "cores": machine.cores(),
        "load_average": machine.load_average(),
        "command": settings.command,
    }
    unknown = set(cells) - set(COLUMNS)
    assert not unknown, unknown
    return {column: "" if cells.get(column) is None else cells.get(column, "") for column in COLUMNS}


def times(ours: list[float], peer: list[float] | None = None, unit: str = "ms") -> Row:
    """Return the columns of measured values: seconds with ``unit="ms"``, megabytes with ``unit="mb"``."""
    scale, digits = (1e3, 3) if unit == "ms" else (1, 1)
    cells: Row = {"repeats": len(ours)}
    for name, values in (("ours", ours), ("peer", peer)):
        if values is not None:
            median, spread = turns.spread(values)
            cells |= {f"{name}_{unit}": round(scale * median, digits)}
            cells |= {f"{name}_spread_{unit}": round(scale * spread, digits)}
    if peer is not None:
        cells |= {name: round(value, 3) for name, value in turns.compare(ours, peer).items()}
    return cells


def targets(name: str, batch: int, peer: str) -> Row:
    """Return the floor and the aim of a row."""
    floor, aim = TARGETS.get((name, batch, peer), (None, None))
    return {"floor": floor, "aim": aim}


def versions(*workers: Worker) -> dict[str, str]:
    """Return the versions of this package, of what it stands on and of what the workers imported."""
    all_versions = machine.versions()
    for worker in workers:
        all_versions |= worker.versions
    return all_versions


@contextlib.contextmanager
def start_sides(settings: Settings, names: tuple[str, ...]) -> Iterator[dict[str, Worker]]:
    """Start a worker a side, without torch where it is not wanted or not installed."""
    with contextlib.ExitStack() as stack:
        workers = {}
        for name in names:
            if name == "torch" and not settings.torch:
                continue
            try:
                workers[name] = stack.enter_context(Worker("torch" if name == "torch" else "tensorflow"))
            except WorkerError as error:
                if name != "torch" or error.kind != "ModuleNotFoundError":
                    raise
                note(
                    f"The rows against PyTorch are left out: it is not installed here, nor in ${measure.TORCH_FOLDER}."
                )
        yield workers


def max_difference(
    workers: dict[str, Worker], method: str, tolerance: float = TOLERANCE, **arguments: Any
) -> dict[str, float]:
    """Give every side our weights and return each peer's largest difference from our outputs.

    Raises:
        RuntimeError: A side computes something else, so that no time of it means anything.
    """
    differences = {}
    with tempfile.TemporaryDirectory() as folder:
        weights, arrays = str(Path(folder) / "weights.npz"), str(Path(folder) / "outputs.npz")
        workers["ours"].ask("save", method="weights", path=weights)
        outputs = {}
        for name, worker in workers.items():
            worker.ask("set_weights", path=weights)
            worker.ask("save", method=method, path=arrays, **arguments)
            with np.load(arrays) as file:
                outputs[name] = file["arr_0"]
            if name != "ours":
                differences[name] = float(np.abs(outputs[name] - outputs["ours"]).max())
                if not differences[name] <= tolerance:
                    raise RuntimeError(
                        f"{method} of {name} differ from ours by {differences[name]:.2g}: no comparison."
                    )
    return differences


def measure_in_turn(
    settings: Settings, workers: dict[str, Worker], method: str, **arguments: Any
) -> tuple[dict[str, list[float]], dict[str, int]]:
    """Warm every side up, choose its steps a turn, then measure in turn. Return seconds and steps by side."""
    steps = {}
    for name, worker in workers.items():
        worker.ask("run", method=method, steps=settings.min_steps, **arguments)
        seconds = worker.ask("run", method=method, steps=settings.min_steps, **arguments)
        steps[name] = measure.steps_a_turn(seconds, settings.block_seconds, settings.min_steps)

    def turn_of(name: str) -> Callable[[], float]:
        return lambda: workers[name].ask("run", method=method, steps=steps[name], **arguments)

    return turns.take_turns({name: turn_of(name) for name in workers}, settings.repeats), steps


def long_turns(settings: Settings) -> Settings:
    """Return the settings for work whose turns are long."""
    return dataclasses.replace(settings, min_steps=1, repeats=min(settings.repeats, LONG_REPEATS))
