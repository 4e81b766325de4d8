"""The sources of published corpora, and finding or downloading their files."""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dense_lstm_zoo.data.download import DownloadError, download, download_member
from dense_lstm_zoo.storage import files, lock
from dense_lstm_zoo_runtime.paths import user_path

# The copies that NLTK distributes, with the authors' consent: in UTF-8, whereas the originals are in Latin-1.
NLTK = "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/"


@dataclass(frozen=True)
class SourceFile:
    """A published file of a corpus: on its own, or as ``member`` of the zip archive at ``url``.

    ``size`` is its length in bytes: no more than that is received or unpacked.
    """

    filename: str
    url: str
    sha256: str
    size: int
    member: str | None = None


@dataclass(frozen=True)
class Source:
    """A corpus's folder (inside the data or cache folder), its files, and the function that reads it.

    With ``prepare`` the files are not published themselves: each has the address, checksum and size of one archive, and
    ``prepare(archive, folder, progress)`` writes all of them to the folder. With ``locate`` the files are a licensee's
    own, which cannot be downloaded: ``locate()`` returns them, or raises ``FileNotFoundError`` that says where to put
    them.
    """

    folder: str
    files: tuple[SourceFile, ...]
    read: Callable[[str, list[Path]], Any]
    prepare: Callable[[Path, Path, bool], None] | None = None
    locate: Callable[[], list[Path]] | None = None


def members(archive: str, folder: str, **files: tuple[str, str, int]) -> tuple[SourceFile, ...]:
    """Return the files of a folder in a zip archive; each is given by name, with sha256 and size."""
    return tuple(SourceFile(name, archive, sha256, size, f"{folder}/{name}") for name, sha256, size in files.values())


def find_files(source: Source, *, progress: bool = True) -> list[Path]:
    """Find or download every file of a corpus, and return where they are."""
    if source.locate is not None:
        return source.locate()
    if source.prepare and not _is_complete(source):
        with lock.turn(cache_folder() / source.folder, progress):
            if not _is_complete(source):  # another process may have written it
                _prepare(source, progress)
    return [find_file(source.folder, file.filename) or _download(source, file, progress) for file in source.files]


def _is_complete(source: Source) -> bool:
    return all(find_file(source.folder, file.filename) for file in source.files)


def _prepare(source: Source, progress: bool) -> None:
    """Write a corpus's files from its archive: the user's own, or one that is downloaded for that and then deleted."""
    assert source.prepare is not None
    one, folder = source.files[0], cache_folder() / source.folder
    archive = urllib.parse.urlsplit(one.url).path.rpartition("/")[2]
    path = find_file(source.folder, archive)
    if path is None or files.sha256(path) != one.sha256:
        path = _download(source, replace(one, filename=archive), progress)
    source.prepare(path, folder, progress)
    if path.parent == folder:
        path.unlink()


def _download(source: Source, file: SourceFile, progress: bool) -> Path:
    path = cache_folder() / source.folder / file.filename
    try:
        if file.member:
            return download_member(file.url, file.member, path, file.sha256, size=file.size, progress=progress)
        return download(file.url, path, file.sha256, size=file.size, progress=progress)
    except DownloadError as error:
        own = Path("$DENSE_LSTM_ZOO_DATA") / source.folder / file.filename
        raise DownloadError(f"{error} or, in your own data folder, at {own}") from error


def find_file(folder: str, filename: str) -> Path | None:
    """Return where a file is: in ``$DENSE_LSTM_ZOO_DATA``, else in the cache, else None.

    Args:
        folder: The folder of a corpus, or another one, such as ``"vectors"``.
        filename: The file's name in that folder.

    Raises:
        FileNotFoundError: ``DENSE_LSTM_ZOO_DATA`` is set but is not a folder.

    Example:
        >>> find_file("trec", "no_such_file.txt") is None
        True
    """
    candidates = (place / folder / filename for place in data_folders())
    return next((path for path in candidates if path.is_file()), None)


def data_folders() -> list[Path]:
    """Return the folders that corpora are looked for in: ``$DENSE_LSTM_ZOO_DATA`` if it is set, then the cache.

    Raises:
        FileNotFoundError: ``DENSE_LSTM_ZOO_DATA`` is set but is not a folder.
    """
    places = [cache_folder()]
    if own := os.environ.get("DENSE_LSTM_ZOO_DATA"):
        places.insert(0, user_path(own))
        if not places[0].is_dir():
            raise FileNotFoundError(f"DENSE_LSTM_ZOO_DATA must be an existing folder; it is set to {own!r}.")
    return places


def cache_folder() -> Path:
    """Return the folder for downloads: ``dense_lstm_zoo`` in ``$XDG_CACHE_HOME``, or in ``~/.cache`` without it."""
    return user_path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dense_lstm_zoo"
