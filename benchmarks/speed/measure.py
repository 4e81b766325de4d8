"""Timed steps, and the worker processes of the comparison, one library in each."""

from __future__ import annotations

import concurrent.futures
import math
import os
import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from dense_lstm_zoo.measuring import process
from dense_lstm_zoo.measuring.process import WorkerError

TORCH_FOLDER = "DENSE_LSTM_ZOO_TORCH"
_MOST_STEPS = 500  # in a turn


def seconds_a_step(step: Callable[[], Any], steps: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Run ``step`` this many times and return the mean seconds of one run."""
    started = clock()
    for _ in range(steps):
        step()
    return (clock() - started) / steps


def steps_a_turn(seconds: float, block_seconds: float, min_steps: int) -> int:
    """Return how many steps of ``seconds`` fill ``block_seconds``, at least ``min_steps`` and at most 500.

    Example:
        >>> steps_a_turn(0.013, 0.6, 3), steps_a_turn(0.5, 0.6, 3)
        (47, 3)
    """
    return min(max(math.ceil(block_seconds / max(seconds, 1e-9)), min_steps), _MOST_STEPS)


def side_by_side(sides: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, list[float]]:
    """Measure all sides at the same time, again and again: for what does not depend on speed."""
    with concurrent.futures.ThreadPoolExecutor(len(sides)) as pool:
        rounds = [{name: pool.submit(measure) for name, measure in sides.items()} for _ in range(repeats)]
        return {name: [futures[name].result() for futures in rounds] for name in sides}


class Worker(process.Worker):
    """A process with one library, so only one side computes and no two thread pools meet.

    Args:
        imports: The library that it imports first: ``"tensorflow"`` or ``"torch"``.

    Raises:
        WorkerError: The library is not installed (``kind`` is ``"ModuleNotFoundError"``).
    """

    sees_gpus: ClassVar[bool] = False

    def __init__(self, imports: str) -> None:
        environment = {} if self.sees_gpus else {"CUDA_VISIBLE_DEVICES": "-1"}
        if imports == "torch":  # its folder is for this worker alone
            paths = (os.environ.get(TORCH_FOLDER, ""), os.environ.get("PYTHONPATH", ""))
            environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
        super().__init__("benchmarks.speed.worker", environment=environment)
        try:
            self.versions: dict[str, str] = self.ask("load", imports=imports)
        except BaseException:
            self.close()
            raise

    def ask(self, do: str, **arguments: Any) -> Any:
        """Let the worker do one thing (a function of ``worker.py``) and return its result.

        Raises:
            ValueError: The worker raised one: a value is out of range.
            WorkerError: Anything else went wrong.
        """
        try:
            return super().ask(do, **arguments)
        except WorkerError as error:
            if error.kind == "ValueError":
                raise ValueError(str(error)) from None
            raise
