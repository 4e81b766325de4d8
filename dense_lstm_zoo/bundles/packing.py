"""A bundle as bytes, for a pickle that holds one: an archive of its folder, which is checked like a stranger's."""

from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from dense_lstm_zoo.bundles import archives, checks
from dense_lstm_zoo.bundles.bundle import load

if TYPE_CHECKING:
    from dense_lstm_zoo.bundles.bundle import Bundle


def pack(bundle: Bundle) -> bytes:
    """Return what ``save`` writes, without the files for people, as a zip archive.

    Raises:
        ValueError: Weights that are not finite, quantised layers, or more bytes than ``unpack`` reads.
    """
    checks.check_savable(bundle._weights, "The model cannot be packed")
    scored = bundle._without_foreign_scores()
    archive = io.BytesIO()
    with tempfile.TemporaryDirectory() as work, zipfile.ZipFile(archive, "w") as packed:
        scored._write(Path(work))
        paths = sorted(Path(work).iterdir())
        size = sum(path.stat().st_size for path in paths)
        if size > archives.LARGEST:
            raise ValueError(f"The model has {size:,} bytes; save it to a folder. At most {archives.LARGEST:,} fit.")
        for path in paths:
            packed.writestr(zipfile.ZipInfo(path.name), path.read_bytes())  # without the time of writing
    return archive.getvalue()


def unpack(content: bytes) -> Bundle:
    """Return the bundle that ``pack`` was given.

    Raises:
        ValueError: Not an archive of a bundle, one with files outside its folder, or one that is damaged.
    """
    with tempfile.TemporaryDirectory() as work:
        archive, folder = Path(work) / "archive", Path(work) / "bundle"
        archive.write_bytes(content)
        folder.mkdir()
        archives.unpack(archive, folder, "The pickle")
        return load(folder)
