"""Archives of a bundle's folder: downloaded, checked and unpacked without trust in what they hold."""

from __future__ import annotations

import ipaddress
import os
import re
import stat
import tarfile
import urllib.parse
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from dense_lstm_zoo.bundles.folder import BundleFolder
from dense_lstm_zoo.data.download import download
from dense_lstm_zoo.data.sources import cache_folder
from dense_lstm_zoo.storage import files, lock
from dense_lstm_zoo_runtime.export_folder import SUBFOLDER

LARGEST = 1 << 31  # bytes, packed or unpacked
MOST_FILES = 100
_MOST_MEMBERS = 1000  # folders included
_MOST_HEADER_BYTES = 1 << 20  # of the names and attributes that lie outside the files
_MOST_HEADERS_OF_A_MEMBER = 10
_LONGEST_NAME = 200  # bytes
_CHUNK = 1 << 16
_ZIP_END = 22 + 0xFFFF + 20  # bytes of a zip archive's last record with a comment, and of the one before it


def fetch(source: str, sha256: str | None = None) -> BundleFolder:
    """Return the bundle in the archive at an address, downloaded if it is not in the cache.

    Args:
        source: An https address of a .zip or .tar.gz file. ``#sha256=...`` at its end gives the checksum. http is
            accepted only for this machine itself.
        sha256: The archive's checksum.

    Raises:
        ValueError: No checksum, or two, another scheme, an archive with another checksum, or one that holds anything
            but the plain files of one folder.
        DownloadError: The server cannot be reached, refuses or breaks off.
    """
    url, _, fragment = source.partition("#")
    if fragment and not fragment.startswith("sha256="):
        raise ValueError(f"After # the address may have sha256=...; received {fragment!r:.100}.")
    sums = {value.lower() for value in (fragment.removeprefix("sha256="), sha256) if value}
    if len(sums) != 1 or not re.fullmatch("[0-9a-f]{64}", min(sums)):
        clause = f"received {' and '.join(sorted(sums))[:200]}" if sums else "there is none"
        raise ValueError(f"{url} needs its sha256, 64 hexadecimal digits, as in {url}#sha256=...; {clause}.")
    (checksum,) = sums
    parts = urllib.parse.urlsplit(url)
    if parts.scheme != "https" and not _is_here(parts.hostname or ""):
        raise ValueError(f"An archive is fetched over https; received {url}.")
    folder = cache_folder() / "presets" / "archives" / checksum
    if folder.is_dir():
        return BundleFolder.open(folder)
    with lock.turn(folder):
        if folder.is_dir():  # another process has written it
            return BundleFolder.open(folder)
        return _fetch(url, checksum, folder)


def _fetch(url: str, checksum: str, folder: Path) -> BundleFolder:
    archive = folder.with_name(f"{checksum}.archive")
    download(url, archive, checksum, size=LARGEST)
    try:
        with files.new_folder(folder) as work:
            unpack(archive, work, url)
            bundle = BundleFolder.open_download(work, url)
        return bundle.moved(folder)
    finally:
        archive.unlink(missing_ok=True)


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def unpack(archive: Path, folder: Path, name: str) -> None:
    """Write the files of an archive to ``folder``. They may lie in one folder of the archive.

    What may lie beside them is left out: an export in the subfolder ``onnx``, and what macOS adds to an archive.

    Raises:
        ValueError: Not an archive, or one that holds links, devices, other folders, absolute names or names with
            ``..``, too many files or too many bytes.
    """
    try:
        budget, names, tops = LARGEST, set[str](), set[str]()
        for path, source in _files(archive):
            inside = path.removeprefix("./")
            top, _, file = inside.rpartition("/")
            is_beside = top.split("/")[0] == "__MACOSX" or top.split("/")[-1] == SUBFOLDER
            tops |= set() if is_beside else {top}
            is_wrong = not is_beside and (not _is_plain(file) or (top and not _is_plain(top)) or len(tops) > 1)
            if is_wrong or inside in names:
                raise ValueError(f"it holds {path!r:.100}; a bundle's archive holds plain files of one folder")
            names.add(inside)
            if len(names) > MOST_FILES:
                raise ValueError(f"it holds more than {MOST_FILES} files")
            with source, (Path(os.devnull) if is_beside else folder / file).open("wb") as target:
                while chunk := source.read(_CHUNK):
                    budget -= len(chunk)
                    if budget < 0:
                        raise ValueError(f"it holds more than {LARGEST:,} bytes")
                    target.write(chunk)
    except (ValueError, tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise ValueError(f"{name} is not an archive of a bundle: {error}.") from error


class _Tar(tarfile.TarFile):
    """A tar archive that bounds its extension headers, which ``tarfile`` reads whole and one inside the other."""

    header_bytes = 0
    headers_in_a_row = 0


class _Member(tarfile.TarInfo):
    """A member that is not sparse and whose headers are few and short."""

    def _proc_member(self, archive: _Tar) -> tarfile.TarInfo:  # which ``tarfile`` means to be overridden
        if self.size < 0:
            raise ValueError(f"it has an entry of {self.size:,} bytes")
        if self.type == tarfile.GNUTYPE_SPARSE:
            self._refuse()
        if self.type in (*tarfile.REGULAR_TYPES, tarfile.DIRTYPE):
            archive.headers_in_a_row = 0
        else:
            archive.headers_in_a_row += 1
            archive.header_bytes += max(self.size, tarfile.BLOCKSIZE)
        if archive.header_bytes > _MOST_HEADER_BYTES or archive.headers_in_a_row > _MOST_HEADERS_OF_A_MEMBER:
            raise ValueError(
                f"its headers are too many or too long; at most {_MOST_HEADERS_OF_A_MEMBER} may belong to a file, "
                f"and {_MOST_HEADER_BYTES:,} bytes to all"
            )
        return super()._proc_member(archive)  # type: ignore[misc]

    def _refuse(self, *_: object) -> None:
        raise ValueError("it holds a sparse file, whose gaps may be of any size")

    _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = _refuse


def _is_plain(name: str) -> bool:
    return name not in ("", ".", "..") and len(os.fsencode(name)) <= _LONGEST_NAME and not re.search(r"[/\\\0:]", name)


def _files(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    if zipfile.is_zipfile(archive):
        _check_index(archive)
        size = archive.stat().st_size
        with zipfile.ZipFile(archive) as packed:
            for entry in packed.infolist():
                mode = entry.external_attr >> 16
                if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise ValueError(f"{entry.filename!r:.100} is compressed with an unexpected method")
                if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
                    raise ValueError(f"{entry.filename!r:.100} is a link or a device")
                if not 0 <= entry.header_offset < size:
                    raise ValueError(f"{entry.filename!r:.100} begins outside it, at byte {entry.header_offset:,}")
                if not entry.is_dir():
                    yield entry.filename, packed.open(entry)
        return
    with _Tar.open(archive, "r|gz", tarinfo=_Member) as stream:
        for number, member in enumerate(stream, start=1):
            stream.members = []  # type: ignore[attr-defined]  # which it would keep, also of folders
            if number > _MOST_MEMBERS:
                raise ValueError(f"it holds more than {_MOST_MEMBERS:,} files and folders")
            if not member.isfile() and not member.isdir():
                raise ValueError(f"{member.name!r:.100} is a link or a device")
            content = stream.extractfile(member) if member.isfile() else None
            if content is not None:
                yield member.name, content


def _check_index(archive: Path) -> None:
    """Raise ``ValueError`` for a zip archive with a long index, all of which ``zipfile`` holds in memory.

    The last record, which has the length, is looked for as ``zipfile`` does: a comment may hold its mark again.
    """
    with archive.open("rb") as file:
        file.seek(max(0, archive.stat().st_size - _ZIP_END))
        tail = file.read()
    is_last = tail[-22:].startswith(b"PK\5\6") and tail.endswith(b"\0\0")  # without a comment
    place = len(tail) - 22 if is_last else tail.rfind(b"PK\5\6")
    size = int.from_bytes(tail[place + 12 : place + 16], "little")
    is_larger = tail[max(place - 20, 0) : place].startswith(b"PK\6\7")  # the mark of larger archives
    if place < 0 or size > _MOST_HEADER_BYTES or is_larger:
        raise ValueError(f"its index has more than {_MOST_HEADER_BYTES:,} bytes")
