"""Errors of libraries, which say nothing about the input."""

from __future__ import annotations

from pathlib import Path

_OURS = ("dense_lstm_zoo", "dense_lstm_zoo_runtime", "dense_lstm_zoo_presets")
_INSTALLED = {"site-packages", "dist-packages"}


def foreign_library(error: BaseException) -> str | None:
    """Return the library that raised an error; None for this package, Python and a script.

    Example:
        >>> try:
        ...     int("x")
        ... except ValueError as error:
        ...     print(foreign_library(error))
        None
    """
    trace = error.__traceback__
    if trace is None:
        return None
    while trace.tb_next is not None:
        trace = trace.tb_next
    module = trace.tb_frame.f_globals
    name = str(module.get("__name__", "")).partition(".")[0]
    is_installed = not _INSTALLED.isdisjoint(Path(str(module.get("__file__", ""))).parts)
    return name if is_installed and name not in _OURS else None
