"""Snapshots of what is at a path, by which a later writer knows whether that has changed."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

_Identity = tuple[int, ...]


@dataclass(frozen=True)
class Snapshot:
    """A file, or a folder with its content, as it was at some time.

    Attributes:
        itself: Its device, inode and, for a file, size and time of change. None if nothing was there.
        entries: The same for everything in the folder, by its path there.
    """

    itself: _Identity | None
    entries: dict[str, _Identity]

    @property
    def is_free(self) -> bool:
        """True if there was nothing to lose: no file, and no folder but an empty one."""
        return self.itself is None or (stat.S_ISDIR(self.itself[0]) and not self.entries)


@dataclass(frozen=True)
class Target:
    """A file or folder to write, and what was there when it was checked, which alone is replaced.

    Attributes:
        path: The path as its user wrote it.
        real: The absolute path, with links resolved.
        before: What was there.
    """

    path: Path
    real: Path
    before: Snapshot

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)


def check_parent(path: Path, parent: Path, verb: str) -> None:
    """Check that the nearest folder that exists, from ``parent`` up, can take what ``path`` is to name.

    Args:
        path: The path as its user wrote it, for the message.
        parent: The folder that it is to be in.
        verb: What cannot be done otherwise, "created" or "written".

    Raises:
        NotADirectoryError: It is a file.
        PermissionError: Nothing can be written in it.
    """
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir():
        raise NotADirectoryError(f"{path} cannot be {verb}: {parent} is a file.")
    if not os.access(parent, os.W_OK):
        is_read_only = os.statvfs(parent).f_flag & os.ST_RDONLY
        reason = f"{parent} is mounted read-only" if is_read_only else f"no permission to write in {parent}"
        raise PermissionError(f"{path} cannot be {verb}: {reason}.")


def look(path: Path, content: Callable[[Path], Iterable[Path]] = Path.iterdir) -> Snapshot:
    """Return a snapshot of a path. ``content`` lists what counts in a folder."""
    try:
        itself = _identity(path)
    except (FileNotFoundError, NotADirectoryError):
        return Snapshot(None, {})
    return Snapshot(itself, entries(path, content) if stat.S_ISDIR(itself[0]) else {})


def entries(folder: Path, content: Callable[[Path], Iterable[Path]] = Path.iterdir) -> dict[str, _Identity]:
    """Return the identities of everything in a folder, by its path there."""
    identities = {}
    for entry in content(folder):
        try:
            identities[entry.name] = identity = _identity(entry)
        except FileNotFoundError:  # removed since it was listed
            continue
        if stat.S_ISDIR(identity[0]):
            inside = entries(entry) if os.access(entry, os.R_OK) else {}
            identities |= {f"{entry.name}/{name}": other for name, other in inside.items()}
    return identities


def _identity(path: Path) -> _Identity:
    """Return what stays the same when a file or folder is renamed, and for a file, what its content has."""
    status = path.lstat()
    place = (stat.S_IFMT(status.st_mode), status.st_dev, status.st_ino)
    return place if stat.S_ISDIR(status.st_mode) else (*place, status.st_size, status.st_mtime_ns)
