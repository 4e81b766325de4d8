"""Folders of unfinished work beside an output, such as ``RUN.unfinished``. Only our own files in them are deleted."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from dense_lstm_zoo.storage import temporary
from dense_lstm_zoo.storage.lock import Lock

LOCK = "lock"


def check(folder: Path) -> None:
    """Raise ``FileExistsError`` if a folder holds files and no lock: nothing of ours left them there."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        names = sorted(entry.name for entry in folder.iterdir())
        if names and LOCK not in names:
            more = ", ..." if len(names) > 3 else ""
            raise FileExistsError(
                f"{folder} is needed for unfinished work, and holds files that are not of such work: "
                f"{', '.join(names[:3])}{more}. Move them, or name another output."
            )


def lock(folder: Path, busy: str) -> Lock:
    """Create a folder of unfinished work, or take up one, and lock it.

    Args:
        folder: The folder.
        busy: The error message if another process holds it.

    Raises:
        BlockingIOError: Another process holds it.
        FileExistsError: As for ``check``.
    """
    check(folder)
    return Lock(folder / LOCK, busy)


def remove(folder: Path, head: str, names: str) -> None:
    """Delete our own files in a folder of unfinished work, and the folder if nobody else has put anything there.

    The lock is the last, so that the folder is known as ours after a kill in between.

    Args:
        folder: The folder. It may be gone.
        head: The file that says what the others are. It is the first that goes.
        names: A regular expression for the names of the others.
    """
    with contextlib.suppress(OSError):
        entries = [entry for entry in folder.iterdir() if entry.is_file() and not entry.is_symlink()]
        own = [entry for entry in entries if re.fullmatch(names, entry.name) or temporary.is_ours(entry.name)]
        for entry in (folder / head, *own, folder / LOCK):
            entry.unlink(missing_ok=True)
        if not folder.is_symlink():
            folder.rmdir()
