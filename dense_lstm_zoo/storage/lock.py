"""A lock between processes: a file that one of them holds."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from dense_lstm_zoo.storage import temporary
from dense_lstm_zoo_runtime.screen import escape_controls

_POLL_SECONDS = 0.2


class Lock:
    """A lock on a file until it is released or this process ends, however it ends.

    Args:
        path: The file. It and its folder are created if missing.
        message: The error message if another process holds it.

    Raises:
        BlockingIOError: Another process holds it.
    """

    def __init__(self, path: Path, message: str) -> None:
        self._path = path
        while True:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_symlink():  # it would never be the file that is locked
                raise OSError(f"{path} is a link, and cannot be a lock. Remove it.")
            try:
                self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
            except FileNotFoundError:  # its folder has been removed since
                continue
            try:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(self._handle)
                raise BlockingIOError(message) from None
            except OSError:  # a file system without locks
                os.close(self._handle)
                raise
            if self.is_in_place:
                return
            os.close(self._handle)  # the previous holder has deleted it

    @property
    def is_in_place(self) -> bool:
        """True while the file is still there. If it is deleted or moved, another process can lock a new one."""
        return temporary.is_at(self._handle, self._path)

    def release(self) -> None:
        """Release the lock."""
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


@contextlib.contextmanager
def turn(path: Path, progress: bool = True) -> Iterator[None]:
    """Wait until no other process makes the same file or folder, and keep others waiting for a block.

    The lock is a file beside ``path``, which is gone after the block. Not for a block within one of the same ``path``.

    Args:
        path: What is made. Look again inside the block whether another process has made it.
        progress: Whether to say on stderr that another process is waited for.
    """
    place, is_told = path.with_name(f"{path.name}.lock"), not progress
    was_there = os.path.lexists(place)
    lock: Lock | None = None
    while lock is None:
        try:
            lock = Lock(place, "")
        except BlockingIOError:
            if not is_told:
                line = f"{path.name}: waiting for another process that makes it"
                print(escape_controls(line), file=sys.stderr, flush=True)
            is_told = True
            time.sleep(_POLL_SECONDS)
        except OSError:  # a file system without locks; or the folder cannot be written, and the block says so
            break
    try:
        yield
    finally:
        if lock.is_in_place if lock else not was_there:
            with contextlib.suppress(OSError):
                if not place.stat().st_size:  # nothing is written to ours
                    place.unlink()
        if lock is not None:
            lock.release()
