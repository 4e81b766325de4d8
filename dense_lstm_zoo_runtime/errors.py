"""The error of a damaged export."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path


class ExportError(ValueError):
    """A folder that is not an ONNX export, or one that is damaged or of another version. The message says why."""


@contextlib.contextmanager
def errors_of(path: Path) -> Iterator[None]:
    """Turn any error in a block into an ``ExportError`` that names the file.

    The errors that a stranger's file can cause cannot be listed. Running out of memory and Ctrl-C pass through.
    """
    try:
        yield
    except (ExportError, MemoryError):
        raise
    except Exception as error:
        text = str(error).strip().split("\n")[0] or type(error).__name__
        text = f"{error.args[0]} is missing" if isinstance(error, KeyError) and error.args else text
        raise ExportError(f"{path} is damaged: {text:.200}. Export the model again.") from error
