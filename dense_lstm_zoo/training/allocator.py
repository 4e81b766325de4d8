"""Memory that a training step frees stays with the process, for the next step."""

from __future__ import annotations

import ctypes
import sys

_M_TOP_PAD = -2  # of malloc.h
_HEAP_BYTES = 64 << 20  # glibc's largest heap of a thread, on 64-bit machines


def keep_freed_memory() -> bool:
    """Let glibc keep what its threads free, until the process ends; return whether that could be set.

    A step frees tens of megabytes that the next step asks for again. glibc gives a thread's heap back to the system as
    soon as it is empty, unless as much as a whole heap shall be spare; then the system has to fill every page with
    zeros once more. That slows down deep taggers most, whose products of matrices borrow memory at each word.
    Elsewhere than on Linux with glibc nothing happens.

    Example:
        >>> keep_freed_memory() in (True, False)
        True
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    return mallopt is not None and bool(mallopt(_M_TOP_PAD, _HEAP_BYTES))
