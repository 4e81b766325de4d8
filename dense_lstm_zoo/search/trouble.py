"""Errors in a sweep: a trial's fault is recorded in its row, and a fault of the machine pauses the sweep."""

from __future__ import annotations

from collections.abc import Iterator

from dense_lstm_zoo.storage import disk_errors
from dense_lstm_zoo.storage.json_files import DamagedFileError


class SweepPausedError(OSError):
    """A sweep that stopped for a reason that is not a trial's fault. The same command resumes it."""


class OtherDataError(OSError):
    """A corpus that is not the one that the sweep began with: files have changed, or another machine has others."""


class TrialFailedError(RuntimeError):
    """A trial without a score. The message is the reason."""


class TrialDiedError(RuntimeError):
    """A trial that died: killed by the system, crashed, or out of memory. The message is the reason.

    Args:
        reason: The reason, in a few words.
        pauses: Whether the machine needs attention before the trial is tried again.
    """

    def __init__(self, reason: str, *, pauses: bool = True) -> None:
        super().__init__(reason)
        self.pauses = pauses


def paused(reason: object) -> SweepPausedError:
    """Return the error for a sweep that stops because of ``reason``."""
    return SweepPausedError(f"the sweep is paused: {str(reason).rstrip('.')}. The same command resumes it.")


def is_the_machines(error: BaseException) -> bool:
    """Return whether an error in a trial is the machine's fault (disk, permissions, a damaged file).

    Example:
        >>> is_the_machines(OSError(28, "No space left on device")), is_the_machines(ArithmeticError("loss is nan"))
        (True, False)
    """
    return any(
        isinstance(cause, OSError | DamagedFileError) or disk_errors.code_in(str(cause)) for cause in _chain(error)
    )


def is_memory(error: BaseException) -> bool:
    """Return whether memory ran out."""
    import tensorflow as tf

    return any(isinstance(cause, MemoryError | tf.errors.ResourceExhaustedError) for cause in _chain(error))


def describe(error: BaseException) -> str:
    """Return an error as one line."""
    text = str(error).strip().split("\n")[0]
    plain = text and isinstance(error, ValueError | ArithmeticError | OSError)
    return text if plain else f"{type(error).__name__}: {text}"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes."""
    visited: set[int] = set()
    while error is not None and id(error) not in visited:
        visited.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
