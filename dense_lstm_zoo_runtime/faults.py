"""Errors of libraries and of the machine, which say nothing about the input."""

from __future__ import annotations

import errno
from pathlib import Path

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_OURS = ("dense_lstm_zoo", "dense_lstm_zoo_runtime", "dense_lstm_zoo_presets")
_INSTALLED = {"site-packages", "dist-packages"}
_MACHINE = {"ENOSPC", "EDQUOT", "EIO", "ESTALE", "EMFILE", "ENFILE"}  # by name: Windows lacks some
# How the loader of shared libraries, and C++, say it.
_NO_MEMORY = ("failed to map segment", "cannot allocate memory", "bad_alloc")


def foreign_library(error: BaseException) -> str | None:
    """Return the library that raised an error, or None for this package, Python and a script.

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


def is_lack_of_memory(error: BaseException) -> bool:
    """Return whether an error says that there is no memory left, also for a library that is imported."""
    if isinstance(error, ImportError):
        return any(reason in str(error).lower() for reason in _NO_MEMORY)
    return isinstance(error, MemoryError) or type(error).__name__ == "ResourceExhaustedError"


def is_failure_of_machine(error: BaseException) -> bool:
    """Return whether an error says that a disk is full or broken, or too many files are open, whatever was asked for.

    Example:
        >>> is_failure_of_machine(OSError(errno.ENOSPC, "")), is_failure_of_machine(FileNotFoundError(errno.ENOENT, ""))
        (True, False)
    """
    return isinstance(error, OSError) and errno.errorcode.get(error.errno or 0) in _MACHINE


def memory_limit() -> str:
    """Return a sentence on this process's own limit of memory, with a space before it, or nothing if it has none."""
    if resource is None:
        return ""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return ""
    return f" This process may take {limit / 1e6:,.0f} MB of address space: raise the limit (ulimit -v)."
