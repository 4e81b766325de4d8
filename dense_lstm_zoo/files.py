"""Files and folders that are written whole or not at all."""

from __future__ import annotations

import contextlib
import ctypes
import difflib
import errno
import fcntl
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Literal

from dense_lstm_zoo import in_place, leftovers, output_files

# Some libraries (HDF5, TensorFlow) tell of these in words only.
_DISK = {os.strerror(code): code for code in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO)}


def sha256(path: Path) -> str:
    """Return the hexadecimal sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def to_json(value: Any) -> str:
    """Return JSON as this package writes it: sorted, indented, one form for one value, always in valid Unicode."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    # Half a surrogate pair, as in the name of a file that is not UTF-8, becomes JSON's own escape for it.
    return text.encode("utf-8", "backslashreplace").decode()


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


def folder_name(path: str | os.PathLike[str]) -> Path:
    """Return ``path`` if it can be the name of a folder, else raise ``ValueError``."""
    if not os.fspath(path):
        raise ValueError("The name of the folder is empty; name a folder, '.' for the current one.")
    if "\0" in os.fspath(path):
        raise ValueError(f"A folder's name cannot hold a null character; received {os.fspath(path)!r}.")
    path = Path(path)
    try:
        path.with_name(path.name + ".unfinished").exists() if path.name else path.exists()
        _real(path)
    except OSError as error:
        raise ValueError(f"No folder can have the name {str(path)[:100]!r}...: {error.strerror}.") from None
    return path


def check_new_folder(path: str | os.PathLike[str], overwrite: bool) -> Path:
    """Return ``path`` if a folder can be made there, else say before any work why not.

    Raises:
        ValueError: No folder can have that name.
        FileExistsError: Something is there and ``overwrite`` is False; or it is a file, or holds the current folder.
        NotADirectoryError: A parent of it is a file.
        PermissionError: Its nearest existing parent cannot be written.
    """
    path = folder_name(path)
    real = _real(path)
    if real.exists() and not real.is_dir():
        raise FileExistsError(f"{path} is a file; name a folder.")
    is_in_place = in_place.is_needed(real)
    if is_in_place:
        in_place.recover(real)
    else:
        leftovers.sweep(real)
    if real.is_dir() and any(in_place.content(real) if is_in_place else real.iterdir()):
        if not overwrite:
            raise FileExistsError(f"{path} is there already; name another folder, or ask to overwrite it.")
        if in_place.holds_current(real):
            raise FileExistsError(
                f"{path} is the current folder or holds it, and is not empty: it is not overwritten; name another."
            )
    parent = real if is_in_place else real.parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir():
        raise NotADirectoryError(f"{path} cannot be made: {parent} is a file.")
    if not os.access(parent, os.W_OK):
        raise PermissionError(f"{path} cannot be made: no permission to write in {parent}.")
    return path


def beside(path: Path, suffix: str) -> Path:
    """Return the folder for what belongs to the folder ``path`` but not in it: its name and a suffix.

    It is inside, under the suffix alone, where ``path`` is filled in place: beside a volume nothing would last.
    """
    real = _real(path)
    return real / suffix if in_place.is_needed(real) else real.with_name(real.name + suffix)


class Lock:
    """A lock on a file until it is released or this process ends, however it ends.

    Args:
        path: The file, made with its folder where there is none.
        message: What the error says where another process holds it.

    Raises:
        BlockingIOError: Another process holds it.
    """

    def __init__(self, path: Path, message: str) -> None:
        self._path = path
        while True:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            except FileNotFoundError:  # its folder was removed since
                continue
            try:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(self._handle)
                raise BlockingIOError(message) from None
            if self.is_in_place:
                return
            os.close(self._handle)  # the one who held it has deleted it

    @property
    def is_in_place(self) -> bool:
        """Whether the file is still there: whoever deletes or moves it lets another process lock a new one."""
        return leftovers.is_at(self._handle, self._path)

    def release(self) -> None:
        """Let others have it."""
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


@contextlib.contextmanager
def new_folder(path: Path, overwrite: bool = False) -> Iterator[Path]:
    """Give an empty folder to write to; it gets the name ``path`` when the block ends well.

    An error, a full disk or a kill in between leaves what was at ``path`` as it was. What a killed writer of the same
    ``path`` left is removed. A link is followed: it stays, and its target is written. A folder that cannot be renamed,
    such as a mount point, is filled in place; see ``in_place`` for what a kill does there.
    """
    check_new_folder(path, overwrite)
    real = _real(path)
    is_in_place = in_place.is_needed(real)
    if not is_in_place:
        real.parent.mkdir(parents=True, exist_ok=True)
    work, handle = leftovers.new_folder(real / real.name if is_in_place else real)
    try:
        yield work
        for file in work.rglob("*"):
            if file.is_file():
                _sync(file)
        if is_in_place:
            in_place.replace(real, work)
            _sync(real)
        else:
            _put(work, real)
            _sync(real.parent)
    except OSError as error:
        raise _named(error, path) from error
    except Exception as error:
        if code := next((code for words, code in _DISK.items() if words in str(error)), None):
            raise _named(OSError(code, os.strerror(code)), path) from error
        raise
    finally:
        leftovers.remove(work)
        os.close(handle)
        if is_in_place:
            in_place.recover(real)


def remove_folder(path: Path) -> None:
    """Delete a folder in one step for those who look for it; what a kill leaves of it is swept by its next writer."""
    leftovers.sweep(path)
    gone = leftovers.name(path)
    try:
        path.rename(gone)
    except FileNotFoundError:
        return
    except OSError:  # a mount point
        gone = path
    leftovers.remove(gone)


def _put(work: Path, path: Path) -> None:
    """Give a folder the name ``path``, whatever has it."""
    try:
        if path.exists():
            _exchange(work, path)
        else:
            work.rename(path)
    except OSError as error:
        if error.errno not in (errno.EBUSY, errno.EXDEV) or not path.is_dir():
            raise
        inside, handle = leftovers.new_folder(path / path.name)  # a mount point that does not look like one
        try:
            shutil.copytree(work, inside, dirs_exist_ok=True)
            in_place.replace(path, inside)
        finally:
            leftovers.remove(inside)
            os.close(handle)


def _exchange(new: Path, old: Path) -> None:
    """Let two folders swap names; in one step where the system can, so that a kill finds one of them in place."""
    with contextlib.suppress(AttributeError, OSError):
        libc = ctypes.CDLL(None, use_errno=True)
        at_cwd, swap = -100, 2
        if libc.renameat2(at_cwd, os.fsencode(new), at_cwd, os.fsencode(old), swap) == 0:
            return
    aside = leftovers.name(old, new.name.split(".")[-2], leftovers.OLD)
    with leftovers.holding([old]):
        old.rename(aside)
        new.rename(old)
        aside.rename(new)


@contextlib.contextmanager
def new_file(path: str | os.PathLike[str], mode: Literal["w", "wb"] = "wb") -> Iterator[IO[Any]]:
    """Give a file to write to; it gets the name ``path`` when the block ends well.

    A link stays, and what it names is written. What is not a regular file, such as a pipe or /dev/null, is written to.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file.")
    if output_files.is_stream(path):
        with output_files.open_stream(path, mode) as file:
            yield file
        return
    path = output_files.followed(path)
    path.absolute().parent.mkdir(parents=True, exist_ok=True)
    leftovers.sweep(path)
    part, handle = leftovers.new_file(path)
    text: dict[str, Any] = {"encoding": "utf-8", "newline": "\n"} if mode == "w" else {}
    try:
        with os.fdopen(handle, mode, **text) as file:
            if path.exists():
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
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


def _real(path: str | os.PathLike[str]) -> Path:
    """Return where a path leads, through links."""
    try:
        return Path(path).resolve()
    except RuntimeError:
        raise ValueError(f"{path} is a link that leads to itself.") from None


def _named(error: OSError, path: Path) -> OSError:
    """Return the error of a failed write with the path in it; a full disk's own error names none."""
    if error.errno is None or error.filename is not None:
        return error
    return type(error)(error.errno, f"{path} could not be written: {error.strerror}; what was there is as it was")
