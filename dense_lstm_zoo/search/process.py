"""Processes of a sweep: they end with their parent, and report why they end even on a full disk."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from dense_lstm_zoo import machine

# Exit statuses of a sweep's processes besides 0; any other status is a crash.
FAILED, PAUSED, SHORT_OF_MEMORY = 65, 75, 71

_WORDS_TO = "DENSE_LSTM_ZOO_WORDS_TO"  # the handle of the pipe to the parent


class Child(subprocess.Popen[bytes]):
    """A Python module in its own process.

    Its standard input closes when this process ends, even by kill -9. See ``end_with_parent``. It imports from where
    this process does.

    Args:
        module: The module to run.
        *arguments: Its arguments.
        log: The file for its output.
        environment: Additional environment variables.

    Raises:
        OSError: It could not be started.
    """

    def __init__(self, module: str, *arguments: str, log: Path, environment: Mapping[str, str] | None = None) -> None:
        own = {**machine.import_environment(), **(environment or {})}
        self._words, words = os.pipe()
        try:
            with log.open("ab") as file:
                super().__init__(
                    [sys.executable, "-P", "-m", module, *arguments],
                    stdin=subprocess.PIPE,
                    stdout=file,
                    stderr=file,
                    env={**os.environ, **own, _WORDS_TO: str(words)},
                    pass_fds=(words,),
                )
        except BaseException:
            os.close(self._words)
            raise
        finally:
            os.close(words)

    def last_words(self) -> str:
        """Return the message that the process sent with ``say_last``, once it has ended."""
        os.set_blocking(self._words, False)  # its own child may still hold the other end
        message = b""
        with contextlib.suppress(BlockingIOError):
            while part := os.read(self._words, 1 << 16):
                message += part
        return message.decode(errors="replace")

    def close(self) -> None:
        """Close the pipes to a process that has ended."""
        if self.stdin is not None and not self.stdin.closed:
            self.stdin.close()
        if self._words >= 0:
            os.close(self._words)
            self._words = -1


def say_last(text: str) -> None:
    """Send the reason for ending to the parent, through a pipe, since the disk of the log may be full."""
    handle = os.environ.get(_WORDS_TO, "")
    if handle.isdigit():
        with contextlib.suppress(OSError):
            os.write(int(handle), text.encode(errors="replace")[:4096])  # as much as a pipe accepts at once


def end_with_parent() -> None:
    """End this process when the one that holds its standard input ends, for any reason."""

    def watch() -> None:
        while os.read(0, 1024):  # not sys.stdin: its lock would be held when Python ends
            pass
        os._exit(1)

    if not sys.stdin.isatty():
        threading.Thread(target=watch, daemon=True).start()
