"""Paths as users write them."""

from __future__ import annotations

import os
from pathlib import Path


def user_path(path: str | os.PathLike[str]) -> Path:
    """Return a path with ``~`` or ``~name`` at its start replaced by that user's home folder.

    A shell replaces neither after ``=`` nor in quotation marks, and Python never does.

    Example:
        >>> user_path("~") == Path.home()
        True
        >>> user_path("a~/b").as_posix()
        'a~/b'
    """
    path = Path(path)
    try:
        return path.expanduser()
    except RuntimeError:  # no such user
        return path
