"""Files and folders that are written whole or not at all."""

from __future__ import annotations

import contextlib
import difflib
import errno
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Literal

from dense_lstm_zoo.storage import disk_errors, mounted, outputs, overwriting, pipes, placing, snapshots, temporary
from dense_lstm_zoo.storage.snapshots import Target
from dense_lstm_zoo_runtime.paths import user_path


def sha256(path: Path) -> str:
    """Return the hexadecimal sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def to_json(value: object) -> str:
    """Return canonical JSON as this package writes it: sorted, indented, always valid Unicode."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    return text.encode("utf-8", "backslashreplace").decode()  # an escape for half a surrogate pair in a file name


def write_json(path: Path, value: object) -> None:
    """Write JSON to a file, whole or not at all."""
    with new_file(path, "w") as file:
        file.write(to_json(value))


def existing_file(path: str | os.PathLike[str]) -> Path:
    """Return ``path`` if it is an existing file, or a ``PipedPath`` if it is a pipe, which can be read only once.

    Raises:
        ValueError: It is a folder, a socket, or a device whose content may never end.
        FileNotFoundError: No such file. The message names similar files in its folder.
        PermissionError: It cannot be read.
    """
    if isinstance(path, pipes.PipedPath):
        return path
    path = user_path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file in it.")
    if not path.exists():
        if path.is_symlink():
            raise FileNotFoundError(f"{path} is a link to {path.readlink()}, which does not exist.")
        if not path.parent.is_dir():
            raise FileNotFoundError(f"{path} does not exist, nor does its folder.")
        near = difflib.get_close_matches(path.name, [other.name for other in path.parent.iterdir()], n=3)
        hint = f" Did you mean {' or '.join(map(repr, near))} in that folder?" if near else ""
        raise FileNotFoundError(f"{path} does not exist.{hint}")
    if not os.access(path, os.R_OK):
        raise PermissionError(f"{path} cannot be read: no permission.")
    return pipes.readable(path)


def folder_name(path: str | os.PathLike[str]) -> Path:
    """Return ``path``, with ``~`` expanded, if it can be the name of a folder, else raise ``ValueError``."""
    if not os.fspath(path):
        raise ValueError("The name of the folder is empty; give a folder, such as '.' for the current one.")
    if "\0" in os.fspath(path):
        raise ValueError(f"A folder's name cannot hold a null character; received {os.fspath(path)!r}.")
    path = user_path(path)
    try:
        path.with_name(path.name + ".unfinished").exists() if path.name else path.exists()
        _real(path)
    except OSError as error:
        raise ValueError(f"No folder can have the name {str(path)[:100]!r}...: {error.strerror}.") from None
    return path


def resolved(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a folder that may not exist yet, ``~`` and links resolved. See ``folder_name``."""
    return _real(folder_name(path))


def check_new_folder(
    path: str | os.PathLike[str], replaces: overwriting.Kind | None = None, *, can_overwrite: bool = True
) -> Target:
    """Return ``path`` as a ``Target`` if a folder can be created there, else raise before any work.

    A ``Target`` is returned as it is: it has been checked.

    Args:
        path: The folder.
        replaces: What may be replaced if the folder is not empty. None if nothing may be.
        can_overwrite: Whether the caller has an option ``overwrite``, which the error then names.

    Raises:
        ValueError: The name is not valid for a folder.
        FileExistsError: It is not empty, and is not what may be replaced, or it is a file, or contains the current
            folder.
        NotADirectoryError: A parent of it is a file.
        PermissionError: Its nearest existing parent cannot be written.
    """
    if isinstance(path, Target):
        return path
    path = folder_name(path)
    real = _real(path)
    if any(place.exists() and not place.is_dir() for place in (path, real)):  # a pipe's real path names nothing
        raise FileExistsError(f"{path} is a file; name a folder.")
    is_in_place = mounted.is_needed(real)
    if is_in_place:
        mounted.recover(real)
    else:
        temporary.sweep(real)
    content = mounted.content if is_in_place else Path.iterdir
    if real.is_dir() and any(content(real)):
        if replaces is None:
            advice = ", or ask to overwrite it (overwrite=True, --overwrite)" if can_overwrite else ""
            raise FileExistsError(f"{path} already exists; choose another folder{advice}.")
        if mounted.holds_current(real):
            raise FileExistsError(
                f"{path} is or contains the current folder and is not empty, so it is not overwritten; choose another."
            )
    before = snapshots.look(real, content)  # before the check, which refuses what is added later
    if not before.is_free:
        if replaces is None:
            raise FileExistsError(f"{path} already exists; choose another folder.")
        overwriting.check(path, replaces)
    snapshots.check_parent(path, real if is_in_place else real.parent, "created")
    return Target(path, real, before)


def beside(path: Path, suffix: str) -> Path:
    """Return the folder for files that belong beside the folder ``path``: its name with a suffix.

    If ``path`` is filled in place, it is inside, named by the suffix: files beside a volume would be lost.
    """
    real = _real(path)
    return real / suffix if mounted.is_needed(real) else real.with_name(real.name + suffix)


@contextlib.contextmanager
def new_folder(path: str | os.PathLike[str], replaces: overwriting.Kind | None = None) -> Iterator[Path]:
    """Yield an empty folder to write to, which is renamed to ``path`` if the block succeeds.

    An error, a full disk or a kill in between leaves ``path`` as it was. Remains of a killed writer of the same
    ``path`` are removed. A link is followed: it stays, and its target is written. A folder that cannot be renamed, such
    as a mount point, is filled in place. See ``mounted`` for what a kill does there. A folder that is replaced
    keeps its permissions.

    Args:
        path: The folder. A ``Target`` that ``check_new_folder`` returned remembers what was there then.
        replaces: As for ``check_new_folder``.

    Raises:
        FileExistsError: As for ``check_new_folder``, or ``path`` has changed meanwhile. It is left as it is then, and
            what the block wrote is kept beside it, in a folder that the message names.
    """
    target = check_new_folder(path, replaces)
    real = target.real
    is_in_place = mounted.is_needed(real)
    if not is_in_place:
        real.parent.mkdir(parents=True, exist_ok=True)
    inside = real / real.name if is_in_place else real
    work, handle = temporary.new_folder(inside)
    try:
        if not is_in_place and real.is_dir():  # from the start, so that what was private is never open to others
            work.chmod(stat.S_IMODE(real.stat().st_mode) | stat.S_IRWXU)
        yield work
        for file in work.rglob("*"):
            if file.is_file():
                _sync(file)
        placing.put(work, target, inside if is_in_place else None)
        _sync(real if is_in_place else real.parent)
    except Exception as error:
        if (disk_error := disk_errors.as_os_error(error)) is not None:
            raise _named(disk_error, target.path, work) from error
        raise
    finally:
        temporary.remove(work)
        os.close(handle)
        if is_in_place:
            mounted.recover(real)


@contextlib.contextmanager
def new_file(path: str | os.PathLike[str], mode: Literal["w", "wb"] = "wb") -> Iterator[IO[Any]]:
    """Yield a file to write to, which is renamed to ``path`` if the block succeeds.

    A link stays, and its target is written. Anything but a regular file, such as a pipe or /dev/null, is written to.

    Args:
        path: The file. Of a ``Target`` that ``check_output`` returned, only what was there then is replaced.
        mode: As for ``open``.

    Raises:
        FileExistsError: What is at a ``Target`` has changed. It is left as it is, and what the block wrote is kept
            beside it, in a file that the message names.
    """
    target = path if isinstance(path, Target) else None
    path = user_path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file.")
    if outputs.is_stream(path):
        with outputs.open_stream(path, mode) as file:
            yield file
        return
    real = target.real if target else outputs.followed(path)
    real.parent.mkdir(parents=True, exist_ok=True)
    temporary.sweep(real)
    part, handle = temporary.new_file(real)
    text: dict[str, Any] = {"encoding": "utf-8", "newline": "\n"} if mode == "w" else {}
    try:
        with os.fdopen(handle, mode, **text) as file:
            if real.exists():
                os.fchmod(file.fileno(), stat.S_IMODE(real.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target:
            placing.put(part, target)
        else:
            part.replace(real)
    except OSError as error:
        raise _named(disk_errors.as_os_error(error) or error, path, part) from error
    finally:
        part.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _real(path: str | os.PathLike[str]) -> Path:
    """Return a path with all links resolved."""
    try:
        return outputs.followed(Path(path))
    except outputs.CircleError as error:
        raise ValueError(str(error)) from None


def _named(error: OSError, path: Path, work: Path) -> OSError:
    """Return the error of a failed write with its path, which the error of a full disk, for one, lacks."""
    if error.errno == errno.ENOENT and not work.exists():
        reason = "it, or the folder that it is in, was moved or removed before it was complete"
        return FileNotFoundError(error.errno, f"{path} could not be written: {reason}")
    if error.errno is None or error.filename is not None:
        return error
    reason = os.strerror(error.errno)  # HDF5 adds addresses to it, and a file in a folder its own name
    unchanged = "; its former content is unchanged" if path.exists() else ""
    return type(error)(error.errno, f"{path} could not be written: {reason}{unchanged}")
