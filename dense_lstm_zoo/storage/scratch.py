"""Temporary files: bytes that are too many for memory, and folders. Errors name the place and the way to another."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import weakref
from collections.abc import Iterator
from errno import EDQUOT, EIO, ENOSPC, EROFS
from pathlib import Path

from dense_lstm_zoo.storage import disk_errors

_BLOCK = 1 << 20  # bytes that are written at once
_ANOTHER_DISK_HELPS = (ENOSPC, EDQUOT, EROFS, EIO)
_FILE_OF_HDF5 = re.compile(r"name = '([^']*)'")


class ScratchFile:
    """Bytes in the folder of temporary files, read by their places. Also a process that is killed leaves nothing.

    The file has no name: the system deletes it when the process ends. The bytes are read from the file rather than from
    a map of it in memory: mapped pages count as memory of the process, so that it would seem to grow with the file.

    Raises:
        OSError: On writing, such as on a full disk. The message names the folder.

    Example:
        >>> file = ScratchFile()
        >>> file.append(b"one"), file.append(b"two"), file.size
        (None, None, 6)
        >>> file.read(2, 4)
        b'et'
    """

    def __init__(self) -> None:
        self.size = 0
        self._unwritten = bytearray()
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        weakref.finalize(self, self._file.close)  # else Python warns of a file that nobody closed

    def append(self, content: bytes) -> None:
        """Write bytes behind those that are there."""
        self._unwritten += content
        self.size += len(content)
        if len(self._unwritten) >= _BLOCK:
            self._flush()

    def read(self, start: int, stop: int) -> bytes:
        """Return the bytes from one place up to another."""
        if self._unwritten:
            self._flush()
        parts = []
        while start < stop and (part := os.pread(self._file.fileno(), stop - start, start)):
            parts.append(part)
            start += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _flush(self) -> None:
        try:
            while self._unwritten:
                del self._unwritten[: os.write(self._file.fileno(), self._unwritten)]
        except OSError as error:
            raise _named(error, "the texts of large files while they are trained on") from error


@contextlib.contextmanager
def new_folder(content: str) -> Iterator[Path]:
    """Yield a folder for temporary files, which is deleted after the block.

    Args:
        content: What it holds, for the error.

    Raises:
        OSError: On writing there, such as on a full disk, also where a library names neither file nor disk.
    """
    folder = tempfile.gettempdir()
    try:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)
    except Exception as error:
        disk_error = disk_errors.as_os_error(error)
        if disk_error is None or disk_error.errno not in _ANOTHER_DISK_HELPS:
            raise
        in_text = _FILE_OF_HDF5.search(str(error))
        file = in_text[1] if in_text else disk_error.filename
        if file and not str(file).startswith(folder + os.sep):  # another file is at fault, and is named
            raise
        raise _named(disk_error, content) from error


def _named(error: OSError, content: str) -> OSError:
    place = tempfile.gettempdir()
    return OSError(error.errno, f"{error.strerror}: {place} holds {content}. TMPDIR names another folder")
