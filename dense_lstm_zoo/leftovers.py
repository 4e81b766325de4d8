"""Where things lie while they are written, and what a killed writer left there.

A file or folder NAME is written beside its place as ``.NAME.xxxxxxxx.dense-lstm-zoo`` and held by a lock until it has
its name. A name that reads so, letter by letter, with nobody holding it, was left by a writer that was killed. Nothing
else is ever removed: not a name that begins alike, nor what another process is writing now.
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
_LONGEST = 200  # bytes of a name that leave room for what is added to it
# What a name tells of the thing: nothing for what is half-written, or was replaced, and may go at any time.
OLD, NEW = "old", "new"


def name(path: Path, token: str | None = None, kind: str = "") -> Path:
    """Return a name beside ``path`` that nothing has: with a token of its own, or with that of its pair."""
    parts = ["", _key(path), token or secrets.token_hex(4), *([kind] if kind else []), _SUFFIX]
    return path.with_name(".".join(parts))


def new_file(path: Path) -> tuple[Path, int]:
    """Make a file to be renamed to ``path``; return it and its handle, which holds it until it is closed."""
    while True:
        part = name(path)
        handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        if _lock(handle) and is_at(handle, part):
            return part, handle
        os.close(handle)  # it was swept before it was held


def new_folder(path: Path) -> tuple[Path, int]:
    """Make a folder to be renamed to ``path``; return it and a handle, which holds it until it is closed."""
    while True:
        work = name(path)
        work.mkdir()
        handle = os.open(work, os.O_RDONLY)
        if _lock(handle) and is_at(handle, work):
            return work, handle
        os.close(handle)


def sweep(path: Path) -> None:
    """Remove what killed writers of ``path`` left beside it; where ``path`` was being replaced, put it back first."""
    for kinds in found(path).values():
        with holding(kinds.values()) as all_held:
            if all_held:
                if OLD in kinds and not path.exists():
                    kinds.pop(OLD).rename(path)
                for left in kinds.values():
                    remove(left)


def found(path: Path) -> dict[str, dict[str, Path]]:
    """Return what lies beside ``path`` under its names: by token, and of each token by kind."""
    pattern = re.compile(rf"\.{re.escape(_key(path))}\.([0-9a-f]{{8}})(?:\.({OLD}|{NEW}))?\.{_SUFFIX}")
    groups: dict[str, dict[str, Path]] = {}
    with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        for entry in sorted(path.parent.iterdir()):
            if match := pattern.fullmatch(entry.name):
                groups.setdefault(match[1], {})[match[2] or ""] = entry
    return groups


def is_ours(entry: str) -> bool:
    """Whether a name is one of those that this module gives."""
    return re.fullmatch(rf"\..+\.[0-9a-f]{{8}}(\.({OLD}|{NEW}))?\.{_SUFFIX}", entry) is not None


@contextlib.contextmanager
def holding(paths: Iterable[Path]) -> Iterator[bool]:
    """Hold several files or folders for a block; give False where any of them is held, or cannot be."""
    handles = []
    try:
        for path in paths:
            try:
                handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            except OSError:  # gone, a link, or not ours to read
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
    """Delete a file or folder as far as the system lets us."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def is_at(handle: int, path: Path) -> bool:
    """Whether an open file is still the one at ``path``."""
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except OSError:
        return False


def _key(path: Path) -> str:
    """Return the name, or what stands for one that is too long to add to."""
    encoded = os.fsencode(path.name)
    return path.name if len(encoded) <= _LONGEST else hashlib.sha256(encoded).hexdigest()


def _lock(handle: int, proof: bool = False) -> bool:
    """Lock an open file; say False where another holds it. Some network file systems cannot lock a folder:
    then a writer goes on without (``proof=False``), and what is found is not taken for left (``proof=True``)."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return not proof
    return True
