"""Progress of a long piece of work, as one line on stderr."""

from __future__ import annotations

import sys
import time

from dense_lstm_zoo.data.cells import escape_controls


class Progress:
    """One line on stderr: rewritten in place on a terminal, else printed now and then, and at the end.

    Args:
        name: What is worked on.
        enabled: Whether to print anything.
        unit: The unit of the count. Bytes are shown in MB/s.
        seconds: The time between two lines if there is no terminal.
    """

    def __init__(self, name: str, enabled: bool = True, unit: str = "bytes", seconds: float = 10.0) -> None:
        self.name, self.enabled, self.unit = name, enabled, unit
        self.terminal = sys.stderr.isatty()
        self.every = 0.2 if self.terminal else seconds

    def start(self, position: int, total: int | None) -> None:
        """Begin at ``position`` of ``total``. None means that the total is unknown."""
        self.first, self.total = position, total
        self.began = self.printed = time.monotonic()

    def update(self, position: int) -> None:
        """Say how much is done, if the last line is old enough."""
        if time.monotonic() - self.printed >= self.every:
            self._print(position, end="" if self.terminal else "\n")

    def finish(self, position: int) -> None:
        """Print the last line."""
        self._print(position, end="\n")

    def clear(self) -> None:
        """Wipe the line off the terminal."""
        if self.enabled and self.terminal:
            print(f"\r{'':<79}\r", end="", file=sys.stderr, flush=True)

    def _print(self, position: int, end: str) -> None:
        if not self.enabled:
            return
        self.printed = time.monotonic()
        rate = (position - self.first) / max(self.printed - self.began, 1e-3)
        count = f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"
        speed = f"{rate / 1e6:.1f} MB/s" if self.unit == "bytes" else f"{count} {self.unit}/s"
        total = f" of {self.total:,}" if self.total is not None else ""
        share = f", {100 * position // max(self.total, 1)} %" if self.total is not None else ""
        line = f"{escape_controls(self.name)}: {position:,}{total} {self.unit}{share}, {speed}"
        print(f"\r{line:<79}" if self.terminal else line, end=end, file=sys.stderr, flush=True)
