"""Files and folders that are written whole or not at all."""

from __future__ import annotations

import contextlib
import ctypes
import difflib
import fcntl
import glob
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Literal


def sha256(path: Path) -> str:
    """Return the hexadecimal sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def to_json(value: Any) -> str:
    """Return JSON as this package writes it: sorted, indented, one form for one value."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def write_json(path: Path, value: Any) -> None:
    """Write JSON to a file, whole or not at all."""
    with new_file(path, "w") as file:
        file.write(to_json(value))


def existing_file(path: str | os.PathLike[str]) -> Path:
    """Return ``path`` if a file is there.

    Raises:
        ValueError: It is a folder.
        FileNotFoundError: Nothing is there; the message names similar files beside it.
    """
    path = Path(path).expanduser()
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file in it.")
    if not path.exists():
        if not path.parent.is_dir():
            raise FileNotFoundError(f"{path} does not exist, nor does its folder.")
        near = difflib.get_close_matches(path.name, [other.name for other in path.parent.iterdir()], n=3)
        hint = f" Did you mean {' or '.join(map(repr, near))} in that folder?" if near else ""
        raise FileNotFoundError(f"{path} does not exist.{hint}")
    return path


def check_new_folder(path: str | os.PathLike[str], overwrite: bool) -> Path:
    """Return ``path`` if a folder can be made there, else say before any work why not.

    Raises:
        FileExistsError: Something is there and ``overwrite`` is False, or it is a file.
        NotADirectoryError: A parent of it is a file.
        PermissionError: Its nearest existing parent cannot be written.
    """
    path = Path(path)
    if path.exists() and not path.is_dir():
        raise FileExistsError(f"{path} is a file; name a folder.")
    if path.is_dir() and any(path.iterdir()) and not overwrite:
        raise FileExistsError(f"{path} is there already; name another folder, or ask to overwrite it.")
    parent = path.absolute().parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir():
        raise NotADirectoryError(f"{path} cannot be made: {parent} is a file.")
    if not os.access(parent, os.W_OK):
        raise PermissionError(f"{path} cannot be made: no permission to write in {parent}.")
    return path


class Lock:
    """A lock on a file until it is released or this process ends, however it ends.

    Args:
        path: The file, made where there is none.
        message: What the error says where another process holds it.

    Raises:
        BlockingIOError: Another process holds it.
    """

    def __init__(self, path: Path, message: str) -> None:
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._handle)
            raise BlockingIOError(message) from None

    def release(self) -> None:
        """Let others have it."""
        os.close(self._handle)

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


@contextlib.contextmanager
def new_folder(path: Path, overwrite: bool = False) -> Iterator[Path]:
    """Give an empty folder beside ``path`` to write to; it gets that name when the block ends well.

    An error, a full disk or a kill in between leaves what was at ``path`` as it was. What a killed writer left beside
    ``path`` is removed.
    """
    check_new_folder(path, overwrite)
    path.absolute().parent.mkdir(parents=True, exist_ok=True)
    for left in path.absolute().parent.glob(f".{glob.escape(path.name)}.*.new"):
        shutil.rmtree(left, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".new", dir=path.absolute().parent))
    try:
        work.chmod(0o777 & ~_umask())
        yield work
        for file in work.rglob("*"):
            if file.is_file():
                _sync(file)
        if path.exists():
            _exchange(work, path)
        else:
            work.rename(path)
        _sync(path.absolute().parent)
    except OSError as error:
        raise _named(error, path) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _exchange(new: Path, old: Path) -> None:
    """Let two folders swap names; in one step where the system can, so that a kill finds one of them in place."""
    with contextlib.suppress(AttributeError, OSError):
        libc = ctypes.CDLL(None, use_errno=True)
        at_cwd, swap = -100, 2
        if libc.renameat2(at_cwd, os.fsencode(new), at_cwd, os.fsencode(old), swap) == 0:
            return
    aside = new.with_name(new.name.removesuffix(".new") + ".old")
    old.rename(aside)
    new.rename(old)
    aside.rename(new)


@contextlib.contextmanager
def new_file(path: str | os.PathLike[str], mode: Literal["w", "wb"] = "wb") -> Iterator[IO[Any]]:
    """Give a file to write to; it gets the name ``path`` when the block ends well."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file.")
    path.absolute().parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    text: dict[str, Any] = {"encoding": "utf-8", "newline": "\n"} if mode == "w" else {}
    try:
        with part.open(mode, **text) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise _named(error, path) from error
    finally:
        part.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _named(error: OSError, path: Path) -> OSError:
    """Return the error of a failed write with the path in it; a full disk's own error names none."""
    if error.errno is None or error.filename is not None:
        return error
    return type(error)(error.errno, f"{path} could not be written: {error.strerror}; what was there is as it was")
