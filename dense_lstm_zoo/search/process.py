"""Processes of a sweep: they end with the one that started them, and say their last words even on a full disk."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

# How a process of a sweep ends beside 0; any other status is a crash.
FAILED, PAUSED, SHORT_OF_MEMORY = 65, 75, 71

_WORDS_TO = "DENSE_LSTM_ZOO_WORDS_TO"  # the handle of the pipe to the parent


class Child(subprocess.Popen[bytes]):
    """A Python module in a process of its own.

    Its standard input closes when this process ends, even by kill -9; see ``end_with_parent``.

    Args:
        module: Which to run.
        *arguments: Its arguments.
        log: The file for what it prints.
        environment: Variables beside those of this process.

    Raises:
        OSError: It could not be started.
    """

    def __init__(self, module: str, *arguments: str, log: Path, environment: Mapping[str, str] | None = None) -> None:
        self._words, words = os.pipe()
        try:
            with log.open("ab") as file:
                super().__init__(
                    [sys.executable, "-m", module, *arguments],
                    stdin=subprocess.PIPE,
                    stdout=file,
                    stderr=file,
                    env={**os.environ, **(environment or {}), _WORDS_TO: str(words)},
                    pass_fds=(words,),
                )
        except BaseException:
            os.close(self._words)
            raise
        finally:
            os.close(words)

    def last_words(self) -> str:
        """Return what the process said with ``say_last``, once it has ended."""
        os.set_blocking(self._words, False)  # a child of its own may hold the other end still
        found = b""
        with contextlib.suppress(BlockingIOError):
            while part := os.read(self._words, 1 << 16):
                found += part
        return found.decode(errors="replace")

    def close(self) -> None:
        """Close the pipes to a process that has ended."""
        if self.stdin is not None and not self.stdin.closed:
            self.stdin.close()
        if self._words >= 0:
            os.close(self._words)
            self._words = -1


def say_last(text: str) -> None:
    """Tell the parent why this process ends: through a pipe, as the disk of its log may be full."""
    handle = os.environ.get(_WORDS_TO, "")
    if handle.isdigit():
        with contextlib.suppress(OSError):
            os.write(int(handle), text.encode(errors="replace")[:4096])  # a pipe takes so much at once


def end_with_parent() -> None:
    """End this process when the one that holds its standard input ends, however that does."""

    def watch() -> None:
        while os.read(0, 1024):  # not sys.stdin: its lock would be held when Python ends
            pass
        os._exit(1)

    if not sys.stdin.isatty():
        threading.Thread(target=watch, daemon=True).start()
