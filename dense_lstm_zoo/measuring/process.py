"""A fresh process for each run, so that imports, traces and memory of other models are not counted."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

MODULE = "dense_lstm_zoo.measuring.worker"


class WorkerError(RuntimeError):
    """A run could not be measured; the message says why."""


def measure_in_fresh_process(timeout: float, module: str = MODULE, **request: Any) -> dict[str, Any]:
    """Run ``worker.measured`` in its own process and return its result.

    The process ends when this function or this process ends, for any reason.

    Args:
        timeout: Seconds until it is stopped.
        module: The module to run.
        **request: The arguments of ``worker.measured``.

    Raises:
        WorkerError: The worker reported an error, took too long, or died.
    """
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            # -P: a folder named keras where the command is typed is not imported.
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=_environment(),
        )
        too_late = threading.Event()

        def stop() -> None:
            too_late.set()
            process.kill()

        timer = threading.Timer(timeout, stop)
        timer.start()
        try:
            line = _ask(process, json.dumps(request))
        except BaseException:  # including Ctrl-C
            process.kill()
            raise
        finally:
            timer.cancel()
            _close(process)
        if line.endswith("\n"):
            answer = json.loads(line)
            if "error" in answer:
                raise WorkerError(answer["error"])
            return answer["result"]
        if too_late.is_set():
            raise WorkerError(f"took longer than {timeout:g} s and was stopped; allow more with timeout (--timeout).")
        log.seek(0)
        raise WorkerError(_death(process.returncode, log.read().decode(errors="replace")))


def _ask(process: subprocess.Popen[str], request: str) -> str:
    """Send a request and return the answering line, or an empty string if the process died."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(request + "\n")
        process.stdin.flush()
    return process.stdout.readline()


def _close(process: subprocess.Popen[str]) -> None:
    """Close the pipes, which ends a running worker, and wait for its end."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _death(status: int, log: str) -> str:
    """Describe how a worker ended that gave no answer."""
    if status == -signal.SIGKILL:
        return "its process was killed, as systems do when memory runs out."
    if status < 0:
        return f"its process was ended by {signal.Signals(-status).name}."
    last = next((line.strip() for line in reversed(log.splitlines()) if line.strip()), "no output")
    return f"its process ended with status {status}: {last}"


def _environment() -> dict[str, str]:
    """Return the worker's environment: with this package on its path and no start-up messages."""
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    return {
        "TF_CPP_MIN_LOG_LEVEL": "3",
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
    }
