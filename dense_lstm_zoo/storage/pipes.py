"""Input that can be read only once, such as a pipe: kept where it is read again, and refused where it cannot be."""

from __future__ import annotations

import contextlib
import io
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

PATIENCE = 10.0  # seconds to wait for the program that writes to a named pipe
_Path: Any = type(Path())  # before Python 3.12, Path itself cannot be derived from


class PipedPath(_Path):
    """The path of a pipe, which is read to its end when it is first opened. Its content is held in memory.

    Whoever opens it again reads the same content from the start, and so does a copy.
    """

    _content: bytes | None = None

    def open(self, mode: str = "r", *_: object, encoding: str | None = None, **options: Any) -> IO[Any]:
        """Open the content for reading."""
        if self._content is None:
            with stream(self) as file:
                self._content = file.read()
        file = io.BufferedReader(io.BytesIO(self._content))
        return file if "b" in mode else io.TextIOWrapper(file, encoding, options.get("errors"), options.get("newline"))

    def read_bytes(self) -> bytes:
        """Return the content."""
        with self.open("rb") as file:
            content: bytes = file.read()
        return content

    def read_text(self, encoding: str | None = None, errors: str | None = None, newline: str | None = None) -> str:
        """Return the content as text."""
        with self.open(encoding=encoding, errors=errors, newline=newline) as file:
            text: str = file.read()
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (str(self), self._content)


def _restored(path: str, content: bytes | None) -> PipedPath:
    restored = PipedPath(path)
    restored._content = content
    return restored


def readable(path: Path) -> Path:
    """Return the path of an existing file, or a ``PipedPath`` if it can be read only once.

    Raises:
        ValueError: A socket, or a device other than a terminal or /dev/null: its content may never end.
    """
    if isinstance(path, PipedPath):
        return path
    mode = path.stat().st_mode
    if stat.S_ISREG(mode):
        return path
    if stat.S_ISFIFO(mode) or (stat.S_ISCHR(mode) and _ends(path)):
        piped: Path = PipedPath(path)
        return piped
    raise ValueError(f"{path} is {kind(mode)}, not a file; write what is to be read to a file, and name that.")


def regular(path: Path, why: str) -> Path:
    """Return the path of an existing file, unless it can be read only once.

    Args:
        path: An existing path.
        why: Why that is not enough, for the end of the error's first sentence.

    Raises:
        ValueError: A folder, a pipe, a device, or anything else that is not a regular file.
    """
    mode = path.stat().st_mode
    if stat.S_ISREG(mode):
        return path
    if stat.S_ISDIR(mode):
        raise ValueError(f"{path} is a folder; name a file in it.")
    raise ValueError(
        f"{path} is {kind(mode)}, which can be read only once, but {why}. Write it to a file, and name that."
    )


def kind(mode: int) -> str:
    """Return a name for what is not a regular file."""
    names = {stat.S_ISFIFO: "a pipe", stat.S_ISSOCK: "a socket", stat.S_ISDIR: "a folder"}
    return next((name for is_kind, name in names.items() if is_kind(mode)), "a device")


def stream(path: Path) -> io.BufferedReader:
    """Open a file or a pipe to be read once, from start to end.

    Raises:
        ValueError: A named pipe that no program has opened for writing within ``PATIENCE`` seconds.
    """
    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(open, os.fspath(path), "rb")
        try:
            return opening.result(PATIENCE if stat.S_ISFIFO(path.stat().st_mode) else None)
        except BaseException as error:
            if not opening.done():
                with contextlib.suppress(OSError):
                    os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))  # a writer ends the wait
                opening.result().close()
            if not isinstance(error, TimeoutError):
                raise
            raise ValueError(
                f"{path} is a pipe that no program has opened for writing in {PATIENCE:g} seconds. Start the program "
                "that writes to it first, or write to a file."
            ) from None


def _ends(device: Path) -> bool:
    """Return whether the content of a character device ends: a terminal's at Ctrl-D, that of /dev/null at once."""
    if os.path.samestat(device.stat(), Path(os.devnull).stat()):
        return True
    with device.open("rb", buffering=0) as file:
        return file.isatty()
