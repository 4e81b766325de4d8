"""A process forked from one in which TensorFlow runs: its threads are gone, and the first op would wait for ever."""

from __future__ import annotations

import os

_owner: int | None = None  # the process in which this package first used TensorFlow


def check_not_forked() -> None:
    """Note that this process uses TensorFlow.

    Raises:
        RuntimeError: The process from which this one was forked used it already.
    """
    global _owner
    if _owner is None:
        _owner = os.getpid()
    elif _owner != os.getpid():
        raise RuntimeError(
            f"TensorFlow was used in process {_owner} before this one, {os.getpid()}, was forked from it: here it "
            'would wait for ever. Start processes with multiprocessing.get_context("spawn"), or load the model in each '
            "process after the fork, and not before it."
        )
