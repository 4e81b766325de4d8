"""Keeping the memory that a training step frees, so that the next step can reuse it."""

from __future__ import annotations

import ctypes
import sys

_M_TOP_PAD = -2  # from malloc.h
_HEAP_BYTES = 64 << 20  # the largest heap that glibc gives a thread on 64-bit machines


def keep_freed_memory() -> bool:
    """Make glibc keep the memory its threads free, until the process ends; return whether that worked.

    A step frees tens of megabytes that the next step asks for again. By default glibc returns a thread's heap to the
    system as soon as it is empty, and the system fills every page with zeros when it is asked for again. Deep taggers
    suffer most, since their matrix products allocate memory at each word. Does nothing except on Linux with glibc.

    Example:
        >>> keep_freed_memory() in (True, False)
        True
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    return mallopt is not None and bool(mallopt(_M_TOP_PAD, _HEAP_BYTES))
