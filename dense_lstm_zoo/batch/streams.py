"""Input files as streams of bytes, on any file system that Beam knows, and their lines with positions."""

from __future__ import annotations

import collections
import contextlib
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems

from dense_lstm_zoo.batch.layout import BrokenInputError, Stamp
from dense_lstm_zoo.data.text_file import unpacked

LONGEST_LINE = 1 << 26  # bytes; a file without line ends would be read into memory in full


@contextlib.contextmanager
def open_file(path: str) -> Iterator[BinaryIO]:
    """Yield a file's bytes, unpacked if it is compressed with gzip (detected from its content).

    Raises:
        BrokenInputError: It cannot be read, or turns out to be damaged in the block.
    """
    try:
        with FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED) as file:
            yield unpacked(_peekable(file))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BrokenInputError(f"{path} is a truncated or damaged gzip file: {str(error).rstrip('.')}.") from error
    except OSError as error:
        raise BrokenInputError(f"{path} cannot be read: {error.strerror or error}.") from error


def stamps(paths: Sequence[str]) -> tuple[Stamp, ...]:
    """Return the size of each file and when it last changed. The size is -1 if it is not there.

    A file here is looked up by its name, which is not a pattern.
    """
    with ThreadPoolExecutor(16) as pool:  # on a remote file system, most of the time is waiting
        return tuple(pool.map(_stamp, paths))


def check_unchanged(paths: Sequence[str], before: Sequence[Stamp]) -> None:
    """Raise ``BrokenInputError`` if a file has been cut, has grown or was replaced since its stamp was taken."""
    for path, old, new in zip(paths, before, stamps(paths), strict=True):
        if new != old:
            if new[0] < 0:
                change = "is gone"
            elif new[0] != old[0]:
                change = f"had {old[0]:,.0f} bytes and now has {new[0]:,.0f}"
            else:
                change = "was written again"
            raise BrokenInputError(
                f"{path} changed while it was read: it {change}. Nothing is published. Run again when no program "
                "writes to it, or on a copy."
            )


def _stamp(path: str) -> Stamp:
    if "://" not in path:
        try:
            status = Path(path).stat()
        except FileNotFoundError:
            return (-1,)
        return status.st_size, status.st_mtime_ns, status.st_ino
    if not FileSystems.exists(path):
        return (-1,)
    entry = FileSystems.get_filesystem(path).metadata(path)
    return entry.size_in_bytes, entry.last_updated_in_seconds


def is_packed(stream: BinaryIO) -> bool:
    """Return whether the stream that ``open_file`` yielded is unpacked, and so has no positions to return to."""
    return isinstance(stream, gzip.GzipFile)


class Lines:
    """The lines of a stream with their ends.

    Args:
        stream: A stream of ``open_file``.
        path: Its name in errors.
        start: The byte to begin at.
        stop: The byte to end at, which must begin a line. None means the end of the file.
        returns: Whether a carriage return by itself ends a line too, as in tables. Else only a line feed does.

    Attributes:
        path: The name.
        at: The byte after the last line that was read.
    """

    def __init__(
        self, stream: BinaryIO, path: str, start: int = 0, stop: int | None = None, *, returns: bool = False
    ) -> None:
        self._stream, self.path, self._stop = stream, path, stop
        self._returns, self._waiting = returns, collections.deque[bytes]()
        self.at = start
        if start:
            stream.seek(start)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        """Return the next line.

        Raises:
            BrokenInputError: A line that is too long to hold.
        """
        if self._stop is not None and self.at >= self._stop:
            raise StopIteration
        if not self._waiting:
            line = self._read_line()
            self._waiting.extend(line.splitlines(keepends=True) if self._returns and b"\r" in line else [line])
        line = self._waiting.popleft()
        self.at += len(line)
        return line

    def _read_line(self) -> bytes:
        line = self._stream.readline(LONGEST_LINE + 1)
        if not line:
            raise StopIteration
        if len(line) > LONGEST_LINE:
            raise BrokenInputError(
                f"{self.path} has a line of more than {LONGEST_LINE:,} bytes, at byte {self.at:,}; is it a text file? "
                "Split the line, or remove it."
            )
        return line


def _peekable(file: Any) -> Any:
    """Return a stream with ``peek``, which some of Beam's file systems do not give."""
    return file if hasattr(file, "peek") else io.BufferedReader(file)
