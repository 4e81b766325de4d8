"""A lock between processes: a file that one of them holds."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from dense_lstm_zoo import leftovers


class Lock:
    """A lock on a file until it is released or this process ends, however it ends.

    Args:
        path: The file; it and its folder are created if missing.
        message: The error message if another process holds it.

    Raises:
        BlockingIOError: Another process holds it.
    """

    def __init__(self, path: Path, message: str) -> None:
        self._path = path
        while True:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            except FileNotFoundError:  # its folder has been removed since
                continue
            try:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(self._handle)
                raise BlockingIOError(message) from None
            if self.is_in_place:
                return
            os.close(self._handle)  # the previous holder has deleted it

    @property
    def is_in_place(self) -> bool:
        """Whether the file is still there: if it is deleted or moved, another process can lock a new one."""
        return leftovers.is_at(self._handle, self._path)

    def release(self) -> None:
        """Release the lock."""
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
