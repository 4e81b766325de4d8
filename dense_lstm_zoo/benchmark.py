"""The former place of the speed comparisons, which are now in ``benchmarks/speed``, in a checkout only."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

_MOVED = {"bench": "bench", "line": "bench", "GROUPS": "runs", "COLUMNS": "workloads", "Settings": "workloads"}


def __getattr__(name: str) -> Any:
    """Return a name that moved, with a warning; raise ``ImportError`` outside a checkout."""
    if name not in _MOVED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    now = f"benchmarks.speed.{_MOVED[name]}"
    try:
        found = getattr(importlib.import_module(now), name)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("benchmarks"):
            raise
        raise ImportError(
            f"dense_lstm_zoo.benchmark.{name} is now {now}.{name}, only in a checkout of the project (run from its "
            "folder). dense-lstm-zoo measure measures what a trained model costs on this machine."
        ) from None
    warnings.warn(f"dense_lstm_zoo.benchmark.{name} is now {now}.{name}.", DeprecationWarning, stacklevel=2)
    return found
