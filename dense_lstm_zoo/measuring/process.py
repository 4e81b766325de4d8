"""A fresh process for each measurement, so that imports, traces and memory of other models are not counted.

``Worker`` starts it and asks. ``answer_requests`` answers, in a module that is run with ``python -m``. Both write one
line of JSON for each request: ``{"do": name, "arguments": {...}}``, then ``{"result": ...}`` or
``{"error": [kind, message]}``.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

MODULE = "dense_lstm_zoo.measuring.worker"
_GRACE = 5.0  # seconds in which a worker may remove its temporary files


class WorkerError(RuntimeError):
    """A request failed. The message says why, and ``kind`` is the name of the worker's exception, if it had one."""

    def __init__(self, message: str, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind


class Worker:
    """A process that answers one request at a time. It ends when this object or this process does, for any reason.

    Args:
        module: The module to run, which calls ``answer_requests``.
        timeout: Seconds that a request may take. None sets no limit.
        python: The interpreter.
        environment: Additional environment variables.
    """

    def __init__(
        self,
        module: str,
        *,
        timeout: float | None = None,
        python: str = sys.executable,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._timeout = timeout
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            # -P: a folder named keras where the command is typed is not imported.
            [python, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=_environment(environment or {}),
        )

    def ask(self, do: str, **arguments: Any) -> Any:
        """Let the process call one of its functions and return the result.

        Raises:
            WorkerError: The function raised an error, took too long, or the process died.
        """
        too_late = threading.Event()

        def stop() -> None:
            too_late.set()
            self._process.kill()

        timer = None if self._timeout is None else threading.Timer(self._timeout, stop)
        if timer is not None:
            timer.start()
        try:
            line = self._answer(json.dumps({"do": do, "arguments": arguments}))
        finally:
            if timer is not None:
                timer.cancel()
        if line.endswith("\n"):
            answer = json.loads(line)
            if "error" in answer:
                kind, message = answer["error"]
                raise WorkerError(message, kind)
            return answer["result"]
        status = self._process.wait()
        if too_late.is_set():
            allow = "allow more with timeout (--timeout)."
            raise WorkerError(f"took longer than {self._timeout:g} s and was stopped; {allow}")
        self._log.seek(0)
        raise WorkerError(_death(status, self._log.read().decode(errors="replace")))

    def _answer(self, request: str) -> str:
        """Send a request and return the answering line, or an empty string if the process died."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(request + "\n")
            self._process.stdin.flush()
        return self._process.stdout.readline()

    def close(self) -> None:
        """End the process and wait for its end."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:  # including Ctrl-C
            self._process.kill()
        self.close()


def measure_in_fresh_process(timeout: float, module: str = MODULE, **arguments: Any) -> dict[str, Any]:
    """Run ``worker.measure_run`` in its own process and return its result.

    Args:
        timeout: Seconds until it is stopped.
        module: The module to run.
        **arguments: The arguments of ``worker.measure_run``.

    Raises:
        WorkerError: The worker reported an error, took too long, or died.
    """
    with Worker(module, timeout=timeout) as worker:
        return worker.ask("measure_run", **arguments)


def answer_requests(functions: Mapping[str, Callable[..., Any]]) -> None:
    """Call the functions that requests on standard input name, and answer each, until standard input ends."""
    # Output of libraries must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read_requests, args=(lines,), daemon=True).start()
    while line := lines.get():
        request = json.loads(line)
        try:
            answer: dict[str, Any] = {"result": functions[request["do"]](**request["arguments"])}
        except Exception as error:
            answer = {"error": [type(error).__name__, reason(error)]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _read_requests(lines: queue.SimpleQueue[str]) -> None:
    """Read standard input. At its end nobody waits for an answer, and the process ends even in the middle of one."""
    with open(0, encoding="utf-8", closefd=False) as file:  # not sys.stdin: its lock would be held when Python ends
        for line in file:
            lines.put(line)
    lines.put("")
    time.sleep(_GRACE)
    os._exit(1)


def reason(error: Exception) -> str:
    """Return one line that says what failed. The type is included unless it is an error of a file or a value."""
    if isinstance(error, (ValueError, OSError)):
        return str(error)
    if isinstance(error, MemoryError) or type(error).__name__ == "ResourceExhaustedError":
        return "out of memory"
    first = next((line.strip() for line in str(error).split("\n") if line.strip()), "")
    return f"{type(error).__name__}: {first}".rstrip(": ")


def _death(status: int, log: str) -> str:
    """Describe how a worker ended that gave no answer."""
    if status == -signal.SIGKILL:
        return "its process was killed, as systems do when memory runs out."
    if status < 0:
        return f"its process was ended by {signal.Signals(-status).name}."
    last = next((line.strip() for line in reversed(log.splitlines()) if line.strip()), "no output")
    return f"its process ended with status {status}: {last}"


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the worker's environment: with this package on its path and no start-up messages."""
    environment = {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ, **variables}
    paths = [str(Path(__file__).parents[2]), environment.get("PYTHONPATH", "")]
    return environment | {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}
