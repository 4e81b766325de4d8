"""Keeping the memory that a training step frees, so that the next step can reuse it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator

# from malloc.h
_M_TRIM_THRESHOLD = -1
_M_TOP_PAD = -2
_M_MMAP_MAX = -4
_HEAP_BYTES = 64 << 20  # the largest heap that glibc gives a thread on 64-bit machines
_TRIM_BYTES = 1 << 30  # more than a step of the zoo's models frees
_TUNED = ("GLIBC_TUNABLES", "MALLOC_MMAP_MAX_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_TRIM_THRESHOLD_")
_MAX_TOKENS = _HEAP_BYTES // (4 * 256 * 4)  # of the gates of 256 units, in float32
_DEFAULTS = {_M_MMAP_MAX: 65_536, _M_TRIM_THRESHOLD: 128 << 10}


def keep_freed_memory() -> bool:
    """Make glibc keep the memory its threads free, until the process ends, and return whether that worked.

    A step frees tens of megabytes that the next step asks for again. By default glibc returns a thread's heap to the
    system as soon as it is empty, and the system fills every page with zeros when it is asked for again. Deep taggers
    suffer most, since their matrix products allocate memory at each word. Does nothing except on Linux with glibc, nor
    where the environment tunes glibc's allocator (``MALLOC_TOP_PAD_``, ``GLIBC_TUNABLES``, ...).

    Example:
        >>> keep_freed_memory() in (True, False)
        True
    """
    return _mallopt({_M_TOP_PAD: _HEAP_BYTES})


@contextlib.contextmanager
def keep_large_blocks(batch_tokens: int = 0) -> Iterator[bool]:
    """Make glibc keep large blocks too, while a model trains, and yield whether it does. Then give back what is free.

    Each block of more than a few megabytes, such as the gates of a layer for a whole batch, has a mapping of its own
    that ends when it is freed, so that every step waits for new pages filled with zeros. Here such blocks come from the
    heap, which keeps up to a gigabyte that is free. The process needs some more memory in return. Nothing changes for
    batches of more than 16,384 padded tokens (``batch_tokens``): their blocks are larger than a thread's heap.

    Example:
        >>> with keep_large_blocks() as is_on:
        ...     is_on in (True, False)
        True
    """
    if batch_tokens > _MAX_TOKENS:
        yield False
        return
    try:
        yield _mallopt({_M_MMAP_MAX: 0, _M_TRIM_THRESHOLD: _TRIM_BYTES})
    finally:
        if _mallopt(_DEFAULTS):
            ctypes.CDLL(None).malloc_trim(0)


def _mallopt(parameters: dict[int, int]) -> bool:
    if any(name in os.environ for name in _TUNED):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    results = [mallopt is not None and bool(mallopt(name, value)) for name, value in parameters.items()]
    return all(results)
