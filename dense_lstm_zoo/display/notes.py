"""Lines for the person who watches, without control characters that a stranger's names and metadata may hold."""

from __future__ import annotations

import functools
import sys

from dense_lstm_zoo_runtime.screen import escape_controls

KEPT = "\n\t"


def show(*texts: object) -> None:
    """Print texts on standard output, a line each, at once. Line ends in them stay."""
    print(*(escape_controls(str(text), keep=KEPT) for text in texts), sep="\n", flush=True)


@functools.cache
def say(text: str) -> None:
    """Print a line on standard error, and the same line only once in a process, however often a file is read."""
    print(escape_controls(text), file=sys.stderr, flush=True)
