"""A graph that ONNX Runtime runs on the CPU."""

from __future__ import annotations

import contextlib
import math
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from dense_lstm_zoo_runtime.errors import ExportError, errors_of

_TYPES = {"tensor(int32)", "tensor(float)"}
_PATIENCE = 20  # seconds that a run may take, besides one per token: a stranger's graph may loop for ever


class _Clock:
    """Ends runs that take too long, by seconds in which this process was awake: a stopped one loses no time."""

    def __init__(self) -> None:
        self._lock, self._thread = threading.Lock(), threading.Thread()
        self._runs: dict[int, tuple[Any, int]] = {}

    @contextlib.contextmanager
    def limit(self, seconds: int) -> Iterator[Any]:
        """Provide options for a run that ends after a time."""
        options = onnxruntime.RunOptions()
        options.log_severity_level = 4  # errors are raised
        with self._lock:
            self._runs[id(options)] = options, seconds
            if not self._thread.is_alive():  # none yet, none since the last runs, or none in this process after a fork
                self._thread = threading.Thread(target=self._count, daemon=True, name="limit of runs")
                self._thread.start()
        try:
            yield options
        finally:
            with self._lock:
                del self._runs[id(options)]

    def _count(self) -> None:
        while True:
            time.sleep(1)
            with self._lock:
                if not self._runs:
                    self._thread = threading.Thread()
                    return
                for key, (options, num_calls) in self._runs.items():
                    self._runs[key] = options, num_calls - 1
                    options.terminate = num_calls <= 1


_CLOCK = _Clock()


class Graph:
    """An ONNX graph, loaded.

    Args:
        path: Its file.
        inputs: The inputs that it must have.
        outputs: The outputs that it must have, among others.
        threads: The threads that one call may use. None leaves the choice to ONNX Runtime.

    Raises:
        ExportError: Not a graph that this ONNX Runtime can run, or one with other inputs or outputs.
    """

    def __init__(self, path: Path, inputs: Sequence[str], outputs: Sequence[str], threads: int | None = None) -> None:
        self._path = path
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or 0
        options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.log_severity_level = 4  # errors are raised
        # Threads that wait for work sleep, rather than take a core from others.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # What a very long text needs is given back after it.
        options.enable_cpu_mem_arena = False
        with errors_of(path):
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.shapes = {value.name: value.shape for value in self._session.get_inputs()}
        self.output_shapes = {value.name: value.shape for value in self._session.get_outputs()}
        if set(self.shapes) != set(inputs) or not set(outputs) <= set(self.output_shapes):
            raise ExportError(
                f"{path} does not match config.json: it has the inputs {', '.join(self.shapes):.200} and the outputs "
                f"{', '.join(self.output_shapes):.200}. Export the model again."
            )
        if odd := [value.name for value in self._session.get_inputs() if value.type not in _TYPES]:
            raise ExportError(f"{path} takes {odd[0]:.80} as another type than int32 or float32. Export it again.")

    def run(self, outputs: Sequence[str], feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Return the named outputs for the inputs.

        Raises:
            RuntimeError: The graph fails on them, or takes more than 20 seconds and one per token.
            MemoryError: It needs more memory than there is.
        """
        try:
            tokens = max((math.prod(value.shape[:2]) for value in feeds.values()), default=1)
            with _CLOCK.limit(seconds := _PATIENCE + tokens) as options:
                values: list[np.ndarray] = self._session.run(list(outputs), dict(feeds), options)
        except MemoryError:
            raise
        except Exception as error:  # the base of ONNX Runtime's own errors
            reason = str(error).strip().split("\n")[0]
            if "terminate flag" in reason:
                reason = f"it had not ended after {seconds:,} seconds, with {tokens:,} tokens"
            # They have no class of their own for a lack of memory.
            kind = MemoryError if re.search("bad_alloc|Failed to allocate memory", reason) else RuntimeError
            raise kind(f"{self._path} failed: {reason:.300}") from error
        return values
