"""Paths as users write them."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path


def user_path(path: str | os.PathLike[str]) -> Path:
    """Return a path with ``~`` or ``~name`` at its start replaced by that user's home folder.

    A shell replaces neither after ``=`` nor in quotation marks, and Python never does.

    Raises:
        ValueError: The name is empty, or longer than any file's.

    Example:
        >>> user_path("~") == Path.home()
        True
        >>> user_path("a~/b").as_posix()
        'a~/b'
    """
    if not os.fspath(path):
        raise ValueError("The name of a file or folder is empty; the current folder is '.'.")
    path = Path(path)
    with contextlib.suppress(RuntimeError):  # no such user
        path = path.expanduser()
    try:
        path.lstat()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise ValueError(f"No file or folder can have the name {str(path)[:60]!r}...: {error.strerror}.") from None
    except ValueError:  # a null character, which other functions refuse
        pass
    return path
