"""Output files named by users: existing files are not replaced unasked, links are followed, devices are kept."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Literal

from dense_lstm_zoo.storage import snapshots
from dense_lstm_zoo.storage.snapshots import Target
from dense_lstm_zoo_runtime.paths import user_path

Mode = Literal["w", "wb"]


class CircleError(OSError):
    """A link that leads back to itself."""


def check_output(path: str | os.PathLike[str], overwrite: bool) -> Target:
    """Return ``path`` as a ``Target`` if a file can be written there, else raise before any work.

    Raises:
        FileExistsError: A file exists and ``overwrite`` is False. Targets that are written to without being replaced,
            such as a pipe or /dev/null, may exist.
        IsADirectoryError: It is a folder.
        NotADirectoryError: A parent of it is a file.
        PermissionError: It, or its nearest existing parent, cannot be written.
    """
    if isinstance(path, Target):
        return path
    path = user_path(path)
    if is_stream(path):
        if not os.access(path, os.W_OK):
            raise PermissionError(f"{path} cannot be written: no permission.")
        return Target(path, path.absolute(), snapshots.Snapshot(None, {}))
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file.")
    real = followed(path)
    before = snapshots.look(real)
    if real.exists() and not overwrite:
        link = "" if real == path.absolute() else f" (as {real})"
        raise FileExistsError(
            f"{path} already exists{link}; choose another file, or ask to overwrite it (--overwrite)."
        )
    snapshots.check_parent(path, real.parent, "written")
    return Target(path, real, before)


def check_not_read(target: Target | None, sources: Iterable[object], option: str) -> None:
    """Raise ``ValueError`` if an output is one of the files that are read, of which it would keep little.

    Args:
        target: The output, or None for none.
        sources: Paths of files. Anything else, such as None, is passed over.
        option: The option that names the output, for the message.
    """
    if target is None or not target.real.is_file():
        return
    for source in sources:
        path = user_path(source) if isinstance(source, str | os.PathLike) else None
        if path is not None and path.is_file() and target.real.samefile(path):
            raise ValueError(f"{option} {target.path} is one of the files that are read; name another one.")


def is_stream(path: Path) -> bool:
    """Return whether a path is a stream: a device, a pipe, or an open file of this process (/dev/stdout)."""
    if _descriptor(path) is not None:
        return True
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextlib.contextmanager
def open_stream(path: Path, mode: Mode) -> Iterator[IO[Any]]:
    """Open a path for which ``is_stream`` is true; output is written to it and replaces nothing."""
    text: dict[str, Any] = {"encoding": "utf-8", "newline": "\n"} if mode == "w" else {}
    descriptor = _descriptor(path)
    try:
        # Without O_CREAT, which would create a file if a pipe has disappeared.
        handle = os.open(path, os.O_WRONLY) if descriptor is None else os.dup(descriptor)
        with os.fdopen(handle, mode, **text) as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise type(error)(error.errno, f"{path} could not be written: {error.strerror}") from error


def followed(path: Path) -> Path:
    """Return a path with links resolved. The target may not exist yet.

    Raises:
        CircleError: A link that leads back to itself.
    """
    try:
        real = user_path(path).resolve()
    except RuntimeError:  # Python 3.11 and 3.12
        real = path
    if real.is_symlink():  # Python 3.13 returns the link of a circle
        raise CircleError(f"{path} is a link that leads back to itself.")
    return real


def _descriptor(path: Path) -> int | None:
    """Return the number of the open file that a path names, such as 1 for /dev/stdout, which may be a regular file."""
    path = path.absolute()
    for _ in range(40):
        folder = os.path.realpath(path.parent)
        if folder in ("/dev/fd", f"/proc/{os.getpid()}/fd") and path.name.isdecimal():
            return int(path.name)
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    return None
