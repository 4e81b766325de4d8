"""Bytes that are too many for memory, in a file without a name, which the system deletes when the process ends."""

from __future__ import annotations

import os
import tempfile
import weakref

_BLOCK = 1 << 20  # bytes that are written at once


class ScratchFile:
    """Bytes in the folder of temporary files, read by their places. Also a process that is killed leaves nothing.

    They are read from the file rather than from a map of it in memory: mapped pages count as memory of the process, so
    that it would seem to grow with the file.

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
            reason = (
                f"{error.strerror}: {tempfile.gettempdir()} holds the texts of large files while they are trained on. "
                "TMPDIR names another folder"
            )
            raise OSError(error.errno, reason) from error
