"""Download one file: resumed after an interruption, checked by sha256, and moved into place only when complete."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import stat
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from dense_lstm_zoo.data.progress import Progress
from dense_lstm_zoo.storage import files, lock
from dense_lstm_zoo_runtime.paths import user_path

ATTEMPTS = 3
WAIT_SECONDS = 0.5
TIMEOUT_SECONDS = 30
LARGEST_ARCHIVE = 1 << 28  # bytes
_CHUNK = 1 << 16


class DownloadError(OSError):
    """A download that failed because of the network or the server. The bytes received so far are kept for resuming."""


class _TooLongError(Exception):
    """More bytes arrive than the file can have."""


class _TransientError(Exception):
    """The server or the connection failed in a way that may be temporary, so that another attempt is worth it."""


def download_member(
    url: str, member: str, path: str | Path, sha256: str, *, size: int | None = None, progress: bool = True
) -> Path:
    """Download a zip archive, write one file of it to ``path`` and return ``path``.

    The archive is stored beside ``path`` under its own name, so that a second member needs no second download. Only
    ``path`` is written, whatever the archive's entries are called.

    Args:
        url: The archive's address.
        member: The file's name in the archive.
        path: The file to write.
        sha256: The checksum of the file, not of the archive.
        size: Bytes of the file. An archive with another size is refused. None accepts the size in the archive.
        progress: Whether to report on stderr.

    Raises:
        ValueError: The download is not a zip archive, lacks the member, or the member has another size or checksum. The
            archive is deleted.
        DownloadError: As for ``download``.
    """
    path = user_path(path)
    archive = path.with_name(urllib.parse.urlsplit(url).path.rpartition("/")[2])
    _check_url(url)
    with lock.turn(archive, progress):
        if path.exists() and files.sha256(path) == sha256:  # another process has written it
            return path
        if not archive.exists():
            _fetch(url, archive, None, LARGEST_ARCHIVE, progress)
        return _extract(url, archive, member, path, sha256, size)


def _extract(url: str, archive: Path, member: str, path: Path, sha256: str, size: int | None) -> Path:
    """Write one file of the archive, which is deleted if it is not as published."""
    part = path.with_name(path.name + ".part")
    try:
        with zipfile.ZipFile(archive) as content, _named(part), part.open("wb") as target:
            _unpack(content, member, size, target)
            os.fsync(target.fileno())
        digest = files.sha256(part)
        if digest != sha256:
            raise ValueError(f"{member} has sha256 {digest}, expected {sha256}")
        return part.replace(path)
    except (ValueError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        archive.unlink(missing_ok=True)
        raise ValueError(f"{url} is not the published archive: {error}. The download was deleted.") from error
    finally:
        part.unlink(missing_ok=True)


def _unpack(archive: zipfile.ZipFile, member: str, size: int | None, target: BinaryIO) -> None:
    """Extract a plain file from an archive. Raise ``ValueError`` if it is not one, or not of the given size."""
    entry = archive.getinfo(member)
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or stat.S_ISLNK(entry.external_attr >> 16):
        raise ValueError(f"{member} is a link, or compressed with an unexpected method")
    size = entry.file_size if size is None else size
    if entry.file_size != size:
        raise ValueError(f"{member} has {entry.file_size:,} bytes, expected {size:,}")
    with archive.open(entry) as source:
        num_bytes = 0
        while chunk := source.read(_CHUNK):
            num_bytes += len(chunk)
            if num_bytes > size:
                raise ValueError(f"{member} has more bytes than it claims, {size:,}")
            target.write(chunk)
    if num_bytes < size:
        raise ValueError(f"{member} has {num_bytes:,} bytes, expected {size:,}")


def download(url: str, path: str | Path, sha256: str | None, *, size: int | None = None, progress: bool = True) -> Path:
    """Download ``url`` to ``path`` and return ``path``.

    The received bytes are kept in ``path`` + ".part" until the file is complete and its checksum is right. ``path``
    itself is never half-written. A ".part" from an earlier call is resumed. An existing ``path`` with the right
    checksum is returned without a request. One with another checksum is replaced. Processes that download the same file
    at once take turns.

    Args:
        url: An http or https address.
        path: The file to write. Its folder is created.
        sha256: The checksum of the whole file, in hexadecimal. None accepts any.
        size: The maximum number of bytes to accept. None means no limit.
        progress: Whether to report bytes, percent and rate on stderr.

    Raises:
        ValueError: ``url`` is not an http(s) address, or the download has another checksum or is too long (it is
            deleted).
        DownloadError: The server cannot be reached, refuses, or breaks off every one of a few attempts.

    Example:
        >>> from dense_lstm_zoo.data.download import download
        >>> url = "https://cogcomp.seas.upenn.edu/Data/QA/QC/TREC_10.label"
        >>> sha256 = "033f22c028c2bbba9ca682f68ffe204dc1aa6e1cf35dd6207f2d4ca67f0d0e8e"
        >>> download(url, "TREC_10.label", sha256)  # doctest: +SKIP
        PosixPath('TREC_10.label')
    """
    _check_url(url)
    path, sha256 = user_path(path), sha256 and sha256.lower()
    if path.is_dir():
        raise IsADirectoryError(f"path must name the file to write; {path} is a folder.")
    if path.exists() and files.sha256(path) == sha256:
        return path
    with lock.turn(path, progress):
        if path.exists() and files.sha256(path) == sha256:  # another process has downloaded it
            return path
        return _fetch(url, path, sha256, size, progress)


def _check_url(url: str) -> None:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ValueError(f"url must be an http or https address; received {url!r}.")


def _fetch(url: str, path: Path, sha256: str | None, size: int | None, progress: bool) -> Path:
    """Download a file. No other process may do so at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    # An earlier call may have been killed between the last byte and the renaming.
    if not (part.exists() and files.sha256(part) == sha256):
        _receive(url, path, part, size, progress)
    digest = files.sha256(part)
    if sha256 and digest != sha256:
        part.unlink()
        raise ValueError(
            f"Wrong checksum for {url}: expected sha256 {sha256}, received {digest}. The download was deleted; if "
            f"another attempt ends the same way, the file has changed at its source."
        )
    with _named(part), part.open("rb+") as file:
        os.fsync(file.fileno())
    return part.replace(path)


def _receive(url: str, path: Path, part: Path, size: int | None, progress: bool) -> None:
    """Fill ``part`` in a few attempts, each of which continues where the last one ended."""
    report = Progress(path.name, progress)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            while not _attempt(url, part, size, report):
                pass  # the server sends only so many bytes at a time, which is no failure
            return
        except _TooLongError as error:
            part.unlink(missing_ok=True)
            raise ValueError(f"{url} is not the published file: {error}. The download was deleted.") from None
        except _TransientError as error:
            reason = f"{error} (attempt {attempt} of {ATTEMPTS})"
            if attempt < ATTEMPTS:
                time.sleep(WAIT_SECONDS * attempt)
        except urllib.error.URLError as error:
            reason = str(error.reason)
            break
    arrived = part.stat().st_size if part.exists() else 0
    resumable = f" The {arrived:,} bytes received are kept for resuming." if arrived else ""
    advice = f"Try again, or put the file by hand at {path}"
    raise DownloadError(f"Could not download {path.name} from {url}: {reason}.{resumable} {advice}")


def _attempt(url: str, part: Path, size: int | None, progress: Progress) -> bool:
    """Send one request, write its answer to ``part``, and return whether the file is complete.

    Raises:
        _TransientError: Another attempt may help.
    """
    start = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(_quoted(url), headers={"Range": f"bytes={start}-"} if start else {})
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and start:  # no bytes are left to fetch. The checksum decides whether the file is right
            return True
        message = (
            f"the server answered {error.code} {str(error.reason).splitlines()[0] if error.reason else ''}".rstrip()
        )
        if error.code == 429 or error.code >= 500:
            raise _TransientError(message) from error
        raise urllib.error.URLError(message) from error
    except urllib.error.URLError:
        raise
    except ValueError as error:  # of a redirection to what is no address
        raise urllib.error.URLError(f"the server's answer cannot be understood: {error}") from error
    except (OSError, http.client.HTTPException) as error:  # urllib wraps errors before the response, but not after
        raise _TransientError(repr(error)) from error
    with response:
        length = _length(response)
        if response.status not in (200, 206):  # such as 204, of no content: what was received stays
            raise urllib.error.URLError(f"the server answered {response.status} {response.reason}".rstrip())
        is_html = response.headers.get_content_type() == "text/html"
        if start and response.status == 200 and is_html and _is_page(response, length, part):
            raise urllib.error.URLError("the server sent a web page, such as one to log in, in place of the file")
        first, whole = _range(response)
        resumed = response.status == 206 and first == start
        if response.status == 206 and not resumed:
            part.unlink(missing_ok=True)
            raise _TransientError(f"the server did not send the part of the file from byte {start}")
        if not resumed:
            start = 0
        end = start + length if length >= 0 else None
        total = whole if resumed and whole is not None else end
        with _named(part), part.open("ab" if resumed else "wb") as file:
            position = _copy(response, file, start, total, size, progress)
    if total is None or position >= total:
        progress.finish(position)
        return True
    # http.client does not report a response that is too short.
    if position != end or position == start:
        raise _TransientError(f"the connection broke off after {position:,} of {total:,} bytes")
    return False


def _is_page(response: http.client.HTTPResponse, length: int, part: Path) -> bool:
    """Return whether HTML is not the file of which a part was received, but such as a page to log in."""
    try:
        beginning = response.peek(_CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise _TransientError(repr(error)) from error
    with part.open("rb") as file:
        if beginning and beginning.startswith(file.read(len(beginning))):
            return False
    is_tagged = beginning.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")  # also <?xml, <script or a comment
    return not beginning or is_tagged or 0 <= length < part.stat().st_size


def _length(response: http.client.HTTPResponse) -> int:
    """Return the announced number of bytes, or -1 if none is announced."""
    text = response.headers.get("Content-Length")
    if text and not re.fullmatch("[0-9]{1,18}", text):
        raise urllib.error.URLError(f"the server's answer cannot be understood: its Content-Length is {text[:40]!r}")
    return int(text or -1)


def _range(response: http.client.HTTPResponse) -> tuple[int | None, int | None]:
    """Return the first byte of a part of a file, and the size of the whole file, as far as they are announced."""
    match = re.match(r"bytes ([0-9]{1,18})-[0-9]*(?:/([0-9]{1,18}))?", response.headers.get("Content-Range", ""))
    return (int(match[1]), int(match[2]) if match[2] else None) if match else (None, None)


def _quoted(url: str) -> str:
    """Return an address with an escape for each character that a request cannot hold."""
    parts = urllib.parse.urlsplit(url)
    path, query = (urllib.parse.quote(part, safe="%/:?@!$&'()*+,;=~[]") for part in (parts.path, parts.query))
    return parts._replace(path=path, query=query).geturl()


@contextlib.contextmanager
def _named(part: Path) -> Iterator[None]:
    """Name the file in an error of the disk, which a full one does not."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, f"{part} could not be written: {error.strerror}") from error


def _copy(
    response: http.client.HTTPResponse,
    file: BinaryIO,
    position: int,
    total: int | None,
    size: int | None,
    report: Progress,
) -> int:
    """Write an answer to a file, and return the position of its end, which may come too early."""
    report.start(position, total)
    while True:
        try:
            chunk = response.read1(_CHUNK)  # read() would lose the bytes received before a time-out
        except (OSError, http.client.HTTPException) as error:
            raise _TransientError(f"the connection broke off after {position:,} bytes: {error!r}") from error
        if not chunk:
            break
        if size is not None and position + len(chunk) > size:
            raise _TooLongError(f"it is longer than {size:,} bytes")
        file.write(chunk)
        position += len(chunk)
        report.update(position)
    return position
