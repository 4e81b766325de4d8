"""Temporary names for files and folders being written, and the remains of killed writers.

A file or folder NAME is written under ``.NAME.xxxxxxxx.dense-lstm-zoo`` beside its final place, and locked until it is
renamed. An entry with exactly such a name that nobody locks was left by a killed writer. Nothing else is ever removed:
neither entries with similar names, nor what another process is writing now.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

_SUFFIX = "dense-lstm-zoo"
_LONGEST = 200  # bytes of a name, leaving room for the additions
# The kinds in a name. Without a kind, the entry is half-written or was replaced, and can be removed at any time.
OLD, NEW = "old", "new"


def name(path: Path, token: str | None = None, kind: str = "") -> Path:
    """Return an unused name beside ``path``, with a new token or that of its pair."""
    parts = ["", _key(path), token or secrets.token_hex(4), *([kind] if kind else []), _SUFFIX]
    return path.with_name(".".join(parts))


def new_file(path: Path) -> tuple[Path, int]:
    """Create a file to be renamed to ``path``, and return it with its handle, which locks it until closed."""
    while True:
        part = name(path)
        handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        if _lock(handle) and is_at(handle, part):
            return part, handle
        os.close(handle)  # removed before it was locked


def new_folder(path: Path) -> tuple[Path, int]:
    """Create a folder to be renamed to ``path``, and return it with a handle, which locks it until closed."""
    while True:
        work = name(path)
        work.mkdir()
        handle = os.open(work, os.O_RDONLY)
        if _lock(handle) and is_at(handle, work):
            return work, handle
        os.close(handle)


def sweep(path: Path) -> None:
    """Remove what killed writers of ``path`` left beside it, after restoring a ``path`` that was being replaced."""
    for kinds in entries_by_token(path).values():
        with holding(kinds.values()) as all_held:
            if all_held:
                if OLD in kinds and not path.exists():
                    kinds.pop(OLD).rename(path)
                for entry in kinds.values():
                    remove(entry)


def entries_by_token(path: Path) -> dict[str, dict[str, Path]]:
    """Return the entries beside ``path`` with such names, by token and kind."""
    pattern = re.compile(rf"\.{re.escape(_key(path))}\.([0-9a-f]{{8}})(?:\.({OLD}|{NEW}))?\.{_SUFFIX}")
    groups: dict[str, dict[str, Path]] = {}
    with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        for entry in sorted(path.parent.iterdir()):
            if match := pattern.fullmatch(entry.name):
                groups.setdefault(match[1], {})[match[2] or ""] = entry
    return groups


def is_ours(entry: str) -> bool:
    """Return whether a name has the form that this module uses."""
    return target_of(entry) is not None


def target_of(entry: str) -> str | None:
    """Return the name of what a half-written or replaced entry of this name belongs to, or None for another name.

    Example:
        >>> target_of(".report.png.0123abcd.dense-lstm-zoo"), target_of("report.png")
        ('report.png', None)
    """
    match = re.fullmatch(rf"\.(.+)\.[0-9a-f]{{8}}(\.({OLD}|{NEW}))?\.{_SUFFIX}", entry)
    return match[1] if match else None


@contextlib.contextmanager
def holding(paths: Iterable[Path]) -> Iterator[bool]:
    """Lock several files or folders for a block, or yield False if any is locked or cannot be locked."""
    handles = []
    try:
        for path in paths:
            try:
                handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            except OSError:  # gone, a link, or not readable
                yield False
                return
            handles.append(handle)
            if not (_lock(handle, proof=True) and is_at(handle, path)):
                yield False
                return
        yield True
    finally:
        for handle in handles:
            os.close(handle)


def remove(path: Path) -> None:
    """Delete a file or folder as far as permissions allow."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def is_at(handle: int, path: Path) -> bool:
    """Return whether an open file is still the one at ``path``."""
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except OSError:
        return False


def _key(path: Path) -> str:
    """Return the name, or a substitute for one that is too long to extend."""
    encoded = os.fsencode(path.name)
    return path.name if len(encoded) <= _LONGEST else hashlib.sha256(encoded).hexdigest()


def _lock(handle: int, proof: bool = False) -> bool:
    """Lock an open file, or return False if another process holds it.

    Some network file systems cannot lock a folder. There a writer goes on without a lock (``proof=False``), and an
    entry does not count as abandoned (``proof=True``).
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return not proof
    return True
