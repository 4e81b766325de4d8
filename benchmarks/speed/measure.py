"""How times are taken: sides in turn, medians and quartiles, each library in a process of its own."""

from __future__ import annotations

import concurrent.futures
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

TORCH_FOLDER = "DENSE_LSTM_ZOO_TORCH"


def seconds_a_step(step: Callable[[], Any], steps: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Run ``step`` this many times and return the mean seconds of one run."""
    started = clock()
    for _ in range(steps):
        step()
    return (clock() - started) / steps


def steps_a_turn(seconds: float, block_seconds: float, min_steps: int, max_steps: int = 500) -> int:
    """Return how many steps of ``seconds`` fill ``block_seconds``, within the two limits.

    Example:
        >>> steps_a_turn(0.013, 0.6, 3), steps_a_turn(0.5, 0.6, 3)
        (47, 3)
    """
    return min(max(math.ceil(block_seconds / max(seconds, 1e-9)), min_steps), max_steps)


def take_turns(sides: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, list[float]]:
    """Measure each side once, in order, then again: A B A B ...; whatever slows the machine meets all of them.

    Returns:
        The values of each side; those with one index are of one round, so they pair.
    """
    values: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(repeats):
        for name, measure in sides.items():
            values[name].append(measure())
    return values


def side_by_side(sides: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, list[float]]:
    """Measure all sides at the same time, again and again: for what does not depend on speed."""
    with concurrent.futures.ThreadPoolExecutor(len(sides)) as pool:
        rounds = [{name: pool.submit(measure) for name, measure in sides.items()} for _ in range(repeats)]
        return {name: [taken[name].result() for taken in rounds] for name in sides}


def spread(values: list[float]) -> tuple[float, float]:
    """Return median and interquartile range.

    Example:
        >>> spread([1.0, 2.0, 3.0, 4.0, 100.0])
        (3.0, 2.0)
    """
    low, median, high = np.percentile(values, [25, 50, 75])
    return float(median), float(high - low)


def compare(ours: list[float], peer: list[float]) -> dict[str, float]:
    """Return the median and the quartiles of the ratio, peer / ours, over paired repeats.

    Noise that lasts longer than a repeat slows down both of its sides, and so does not touch their ratio.

    Example:
        >>> compare([1.0, 1.0, 2.0], [3.0, 3.0, 4.0])
        {'ratio': 3.0, 'ratio_low': 2.5, 'ratio_high': 3.0}
    """
    low, median, high = np.percentile(np.asarray(peer) / np.asarray(ours), [25, 50, 75])
    return {"ratio": float(median), "ratio_low": float(low), "ratio_high": float(high)}


class WorkerError(RuntimeError):
    """A worker process failed or could not import what it needs; ``kind`` is the name of the worker's exception."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class Worker:
    """A process that answers one request at a time, so only one side computes and no two thread pools meet.

    Args:
        imports: What it imports before it says that it is ready: ``"tensorflow"`` or ``"torch"``.

    Raises:
        WorkerError: The library is not installed (``kind`` is ``"ModuleNotFoundError"``).
    """

    sees_gpus: ClassVar[bool] = False

    def __init__(self, imports: str) -> None:
        self._log = tempfile.TemporaryFile(mode="w+")  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.speed.worker", imports],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=_environment(imports, self.sees_gpus),
        )
        try:
            self.versions: dict[str, str] = self._answer()
        except BaseException:
            self.close()
            raise

    def ask(self, do: str, **arguments: Any) -> Any:
        """Let the worker do one thing (a function of ``worker.py``) and return its result.

        Raises:
            ValueError: The worker raised one: something it was given is out of range.
            WorkerError: Anything else went wrong.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, "arguments": arguments}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._log.seek(0)
            tail = "\n".join(self._log.read().splitlines()[-15:])
            raise WorkerError("Died", f"the worker ended with status {self._process.wait()}:\n{tail}")
        answer = json.loads(line)
        if "error" in answer:
            kind, message = answer["error"]
            raise ValueError(message) if kind == "ValueError" else WorkerError(kind, message)
        return answer["result"]

    def close(self) -> None:
        """End the process."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _environment(imports: str, sees_gpus: bool) -> dict[str, str]:
    """Return the worker's environment: this Python's path, GPUs or none, the folder with torch for its worker alone."""
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    if imports == "torch":
        paths.insert(0, os.environ.get(TORCH_FOLDER, ""))
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3"} | ({} if sees_gpus else {"CUDA_VISIBLE_DEVICES": "-1"})
    return {**os.environ, **quiet, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
