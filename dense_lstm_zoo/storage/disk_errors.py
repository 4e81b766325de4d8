"""Errors of the machine that some libraries report only as text: disks, permissions, open files."""

import os
import re
from errno import EACCES, EDQUOT, EIO, EMFILE, ENFILE, ENOSPC, EPERM, EROFS, ESTALE

_CODES = {os.strerror(code): code for code in (ENOSPC, EDQUOT, EROFS, EACCES, EPERM, EIO, ESTALE, EMFILE, ENFILE)}
_SHORT_WRITE = re.compile(r"\d+ requested and \d+ written")


def code_in(text: str) -> int | None:
    """Return the error number that the message of HDF5, TensorFlow or NumPy stands for.

    NumPy says only how many items it could not write, which means that the disk is full.

    Example:
        >>> code_in("4000 requested and 2032 written") == code_in("[Errno 28] No space left on device") == ENOSPC
        True
    """
    if _SHORT_WRITE.search(text):
        return ENOSPC
    return next((code for words, code in _CODES.items() if words in text), None)


def as_os_error(error: Exception) -> OSError | None:
    """Return an error of the machine with its number. One that is an ``OSError`` with a number or a class stays."""
    if isinstance(error, OSError) and (error.errno is not None or type(error) is not OSError):
        return error
    code = code_in(str(error))
    if code is not None:
        return OSError(code, os.strerror(code))
    return error if isinstance(error, OSError) else None
