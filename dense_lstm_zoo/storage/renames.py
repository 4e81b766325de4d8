"""Renames that never replace what somebody else has put in the new place."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
from pathlib import Path

from dense_lstm_zoo.storage import temporary

_AT_CWD = -100
_NO_REPLACE, _SWAP = 1, 2  # flags of renameat2
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM, errno.EMLINK)
_ASIDE = "not-published"
_LONGEST = 255  # bytes of a name


def rename_new(old: Path, new: Path) -> None:
    """Rename a file or folder to a name that is free, or that of an empty folder for a folder.

    Raises:
        FileExistsError: The name is taken. Nothing has changed.
    """
    if old.is_dir() and not old.is_symlink():
        try:
            old.rename(new)  # which replaces an empty folder alone
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(new)) from None
            raise
    elif not _renameat2(old, new, _NO_REPLACE):
        _link_new(old, new)


def _link_new(old: Path, new: Path) -> None:
    """Rename a file to a free name on a file system that cannot do so in one step."""
    try:
        os.link(old, new, follow_symlinks=False)
        old.unlink()
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
        os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL))  # takes the name
        old.replace(new)


def swap(work: Path, path: Path) -> None:
    """Swap two files or folders, if possible in one step, so that after a kill ``other`` is there.

    Raises:
        FileExistsError: Without such a step, the name of ``other`` was taken meanwhile. The message says where it is.
    """
    if _renameat2(work, path, _SWAP):
        return
    aside = temporary.name(path, work.name.split(".")[-2], temporary.OLD)
    with temporary.holding([path]):
        path.rename(aside)
        try:
            rename_new(work, path)
        except FileExistsError:
            raise FileExistsError(f"What was there before is in {set_aside(aside, path)}.") from None
        aside.rename(work)


def set_aside(work: Path, path: Path) -> Path:
    """Rename what was to be ``path`` to a free name beside that, for its owner to find, and return the name."""
    number = 1
    while True:
        ending = f".{_ASIDE}" + (f"-{number}" if number > 1 else "")
        name = os.fsdecode(os.fsencode(path.name)[: _LONGEST - len(ending)]) + ending
        with contextlib.suppress(FileExistsError):
            rename_new(work, path.with_name(name))
            return path.with_name(name)
        number += 1


def _renameat2(old: Path, new: Path, flag: int) -> bool:
    """Rename with a flag of Linux, or return False where system or file system lack it.

    Raises:
        OSError: It failed otherwise.
    """
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    if renameat2(_AT_CWD, os.fsencode(old), _AT_CWD, os.fsencode(new), flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in _CANNOT:
        return False
    raise OSError(code, os.strerror(code), str(old), None, str(new))
