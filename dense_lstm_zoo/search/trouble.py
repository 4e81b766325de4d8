"""What can go wrong in a sweep: the fault of a trial, which becomes a row, or the machine's, which is a pause."""

from __future__ import annotations

import os
from collections.abc import Iterator
from errno import EACCES, EDQUOT, EIO, EMFILE, ENFILE, ENOSPC, EPERM, EROFS, ESTALE

from dense_lstm_zoo.json_files import DamagedFileError

# Some libraries (HDF5, TensorFlow) tell of these in words only.
_WORDS = tuple(os.strerror(code) for code in (ENOSPC, EDQUOT, EROFS, EACCES, EPERM, EIO, ESTALE, EMFILE, ENFILE))


class SweepPausedError(OSError):
    """A sweep that cannot go on for a reason that is no trial's; the same command goes on."""


class TrialFailedError(RuntimeError):
    """A trial without a score; the message is the reason."""


class TrialDiedError(RuntimeError):
    """A trial that was cut off: by the system, by a crash, or for want of memory; the message is the reason.

    Args:
        reason: In a few words.
        pauses: Whether the machine has to be looked after before it is tried again.
    """

    def __init__(self, reason: str, *, pauses: bool = True) -> None:
        super().__init__(reason)
        self.pauses = pauses


def paused(what: object) -> SweepPausedError:
    """Return the error of a sweep that stops because of ``what``."""
    return SweepPausedError(f"the sweep is paused: {str(what).rstrip('.')}. The same command goes on.")


def is_the_machines(error: BaseException) -> bool:
    """Say whether an error in a trial is the machine's (disk, permissions, a damaged file), not that of its values.

    Example:
        >>> is_the_machines(OSError(28, "No space left on device")), is_the_machines(ArithmeticError("loss is nan"))
        (True, False)
    """
    return any(
        isinstance(found, OSError | DamagedFileError) or any(words in str(found) for words in _WORDS)
        for found in _chain(error)
    )


def is_memory(error: BaseException) -> bool:
    """Say whether memory ran out."""
    import tensorflow as tf

    return any(isinstance(found, MemoryError | tf.errors.ResourceExhaustedError) for found in _chain(error))


def describe(error: BaseException) -> str:
    """Return an error in a line."""
    text = str(error).strip().split("\n")[0]
    plain = text and isinstance(error, ValueError | ArithmeticError | OSError)
    return text if plain else f"{type(error).__name__}: {text}"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what led to it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
