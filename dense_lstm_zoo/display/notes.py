"""Lines for the person who watches, without control characters that a stranger's names and metadata may hold."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator
from typing import TextIO

from dense_lstm_zoo_runtime.screen import escape_controls

KEPT = "\n\t"
_streams: list[TextIO] = []  # where ``say`` prints, the last one first, in place of standard error


def show(*texts: object) -> None:
    """Print texts on standard output, a line each, at once. Line ends in them stay."""
    print(*(escape_controls(str(text), keep=KEPT) for text in texts), sep="\n", flush=True)


@functools.cache
def say(text: str) -> None:
    """Print a line on standard error, and the same line only once in a process, however often a file is read."""
    print(escape_controls(text), file=_streams[-1] if _streams else sys.stderr, flush=True)


@contextlib.contextmanager
def on(stream: TextIO) -> Iterator[None]:
    """Let ``say`` print on another stream, in all threads, such as while standard error is silenced."""
    _streams.append(stream)
    try:
        yield
    finally:
        _streams.remove(stream)
