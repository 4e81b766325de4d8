"""Output files that are compressed if their names say so."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Literal

from dense_lstm_zoo.storage import files


@contextlib.contextmanager
def new_output(path: str | os.PathLike[str], mode: Literal["w", "wb"] = "w") -> Iterator[IO[Any]]:
    """Yield a file to write to, as ``files.new_file`` does, compressed with gzip if its name ends in ``.gz``.

    The same content gives the same bytes: no time is written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with new_output(Path(folder, "a.txt.gz")) as file:
        ...         _ = file.write("text")
        ...     gzip.decompress(Path(folder, "a.txt.gz").read_bytes())
        b'text'
    """
    if not Path(path).name.lower().endswith(".gz"):
        with files.new_file(path, mode) as file:
            yield file
        return
    with files.new_file(path) as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
        if mode == "wb":
            yield packed  # type: ignore[misc]
        else:
            with io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as text:
                yield text
