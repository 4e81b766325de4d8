"""Replacing folders that cannot be renamed, such as a container's volume: content is moved in steps that can be undone.

The new content is written to a folder inside (new). Then the existing content moves into a second folder inside (old),
the first is marked as complete, its content moves up, and the old content is deleted. After a kill, the next writer
undoes the change if there is no mark yet, and otherwise completes it: nothing is lost. In between, the folder may be
empty or incomplete. Its files are removed first and added last, so that no reader finds a manifest without its folders.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from dense_lstm_zoo.storage import renames, snapshots, temporary

STATE = ".unfinished"


def is_needed(folder: Path) -> bool:
    """Return whether a folder must be filled in place.

    This applies to mount points, the current folder or one that contains it, and folders with a read-only parent.
    """
    if not folder.is_dir():
        return False
    return (
        (folder / STATE).is_dir()
        or _is_mounted(folder)
        or holds_current(folder)
        or not os.access(folder.parent, os.W_OK)
    )


def holds_current(folder: Path) -> bool:
    """Return whether a folder is or contains the current one."""
    try:
        return Path.cwd().is_relative_to(folder.resolve())
    except FileNotFoundError:  # the current folder was deleted
        return False


def content(folder: Path) -> list[Path]:
    """Return a folder's content, in the order in which it is moved in, without this module's own folders."""
    passing = {STATE, ".tensorboard", "lost+found"}
    entries = [e for e in folder.iterdir() if e.name not in passing and not temporary.is_ours(e.name)]
    return sorted(entries, key=lambda e: (not e.is_dir(), e.name == "manifest.json", e.name))


def replace(folder: Path, work: Path, before: snapshots.Snapshot) -> None:
    """Replace the content of ``folder`` by that of ``work``, a folder that ``temporary`` created inside it.

    Raises:
        FileExistsError: The folder holds what was not there ``before``. ``recover`` then undoes what was done.
    """
    token = work.name.split(".")[-2]
    inside = folder / folder.name
    old, new = (temporary.name(inside, token, kind) for kind in (temporary.OLD, temporary.NEW))
    old.mkdir()
    for entry in reversed(content(folder)):
        entry.rename(old / entry.name)
    if snapshots.entries(old) != before.entries or content(folder):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(folder))
    work.rename(new)
    _move_in(folder, old, new)


def recover(folder: Path) -> None:
    """Finish or undo the work of a killed writer, and remove what it left."""
    for kinds in temporary.entries_by_token(folder / folder.name).values():
        with temporary.holding(list(kinds.values())) as all_held:
            if not all_held:
                continue
            work, old, new = (kinds.get(kind) for kind in ("", temporary.OLD, temporary.NEW))
            if new is not None:
                _move_in(folder, old, new)
            elif old is not None:
                for entry in content(old):
                    _move(entry, folder)
                old.rmdir()
            if work is not None:
                temporary.remove(work)


def _move_in(folder: Path, old: Path | None, new: Path) -> None:
    for entry in content(new):
        _move(entry, folder)
    if old is not None:  # renamed to mark it for removal, before the mark is removed
        discarded = temporary.name(folder / folder.name)
        old.rename(discarded)
        new.rmdir()
        temporary.remove(discarded)
    else:
        new.rmdir()


def _move(entry: Path, folder: Path) -> None:
    """Move a file or folder into a folder, under another name if somebody has put something else there."""
    try:
        renames.rename_new(entry, folder / entry.name)
    except FileExistsError:
        renames.set_aside(entry, folder / entry.name)


def _is_mounted(folder: Path) -> bool:
    """Return whether a folder is a mount point, also for bind mounts from the same disk, which ``ismount`` misses."""
    mounts = _mount(folder), _mount(folder.parent)
    return os.path.ismount(folder) or (None not in mounts and mounts[0] != mounts[1])


def _mount(folder: Path) -> str | None:
    """Return the number of the mount that a folder is on, if the system provides it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        lines = Path(f"/proc/self/fdinfo/{handle}").read_text().splitlines()
        return next((line for line in lines if line.startswith("mnt_id")), None)
    except OSError:
        return None
    finally:
        os.close(handle)
