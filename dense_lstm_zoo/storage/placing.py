"""The last step of a write: finished work goes to its place, and replaces only what was there at the start."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from dense_lstm_zoo.storage import mounted, renames, snapshots, temporary
from dense_lstm_zoo.storage.snapshots import Snapshot, Target


def put(work: Path, target: Target, inside: Path | None = None) -> None:
    """Rename a finished file or folder to its place, or keep it beside that if something else is there by now.

    Args:
        work: What was written.
        target: The place.
        inside: Of a folder that is filled in place, its name in itself.

    Raises:
        FileExistsError: Something else is there. The message says where the work is.
    """
    try:
        if inside is None:
            _put(work, target.real, target.before)
        else:
            mounted.replace(target.real, work, target.before)
    except FileExistsError as error:
        detail = f" {error}" if error.errno is None else ""
        raise FileExistsError(
            f"{target} has changed since this began, and is left as it is.{detail} What was written is in "
            f"{renames.set_aside(work, inside or target.real)}."
        ) from None


def _put(work: Path, path: Path, before: Snapshot) -> None:
    try:
        if before.is_free:
            renames.rename_new(work, path)
            return
        _check_unchanged(path, before)
        renames.swap(work, path)
        try:
            _check_unchanged(work, before)
        except FileExistsError:  # it changed in the last moment
            renames.swap(work, path)
            raise
    except OSError as error:
        if error.errno not in (errno.EBUSY, errno.EXDEV) or not path.is_dir():
            raise
        part, handle = temporary.new_folder(path / path.name)  # an undetected mount point
        try:
            shutil.copytree(work, part, dirs_exist_ok=True)
            mounted.replace(path, part, before)
        finally:
            temporary.remove(part)
            os.close(handle)
            mounted.recover(path)


def _check_unchanged(path: Path, before: Snapshot) -> None:
    if snapshots.look(path) != before:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
