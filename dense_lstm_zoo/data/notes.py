"""Lines for the person who watches: what was found out about a file and did without being asked."""

from __future__ import annotations

import functools
import sys

from dense_lstm_zoo.data.cells import escape_controls


@functools.cache
def say(text: str) -> None:
    """Print a line on standard error; the same line only once in a process, however often a file is read."""
    print(escape_controls(text), file=sys.stderr, flush=True)
