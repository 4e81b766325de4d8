"""The lines of a table in csv, tsv or jsonl, decoded as they come: the file is never held in full."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import itertools
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from dense_lstm_zoo import checks
from dense_lstm_zoo.data import encodings
from dense_lstm_zoo.data.binary import check_is_text
from dense_lstm_zoo.data.text_file import unpacked

_BEGINNING = 1 << 18  # bytes that show the kind of a file
_BLOCK = 1 << 26  # bytes that are searched at once for one that cannot be decoded
_MARKS = {
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
}


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file as a stream of bytes, which are unpacked if they are compressed with gzip.

    Raises:
        ValueError: Damaged gzip, or at the end a file that has changed meanwhile.
    """
    with named_damage(str(path)), path.open("rb") as file:
        before = stamp(file)
        yield unpacked(file)
        check_unchanged(file, str(path), before)


@contextlib.contextmanager
def named_damage(name: str) -> Iterator[None]:
    """Raise ``ValueError`` with the name of a file whose gzip is damaged."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{name} is a truncated or damaged gzip file: {str(error).rstrip('.')}.") from error


def stamp(stream: BinaryIO) -> tuple[int, int] | None:
    """Return the size of a stream's file and when it last changed, or None if it is not a regular file."""
    try:
        status = os.fstat(stream.fileno())
    except OSError:
        return None
    return (status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


def check_unchanged(stream: BinaryIO, name: str, before: tuple[int, int] | None) -> None:
    """Raise ``ValueError`` if a file was cut, has grown or was written again since it had an earlier ``stamp``."""
    if stamp(stream) != before:
        raise ValueError(
            f"{name} changed while it was read. Run again when no program writes to it, or on a copy of it."
        )


def read_lines(path: Path, encoding: str, newline: str) -> Iterator[str]:
    r"""Yield the lines of a file with their ends.

    Args:
        path: A file, plain or compressed with gzip.
        encoding: The encoding of the text. A byte order mark of UTF-16 or UTF-32 takes precedence over UTF-8.
        newline: What ends a line: ``"\n"``, or ``""`` for carriage returns as well.

    Raises:
        ValueError: On iteration: a binary file, one without text, bytes that are not in the encoding, damaged gzip, a
            file that has changed meanwhile.
    """
    with opened(path) as file:
        beginning = file.read(_BEGINNING)
    check_is_text(beginning, str(path))
    codec = encodings.by_mark(beginning, checks.encoding(encoding))
    encodings.check_has_mark(beginning, codec, str(path))
    marks, decoding = _MARKS.get(codec), codec
    if marks and not beginning.startswith(marks):  # the native order, as ``bytes.decode`` takes it
        decoding = f"{codec}-{sys.byteorder[0]}e"
    try:
        with opened(path) as file:
            lines = io.TextIOWrapper(file, decoding, newline=newline)
            yield from _with_text(iter(encodings.watched(lines, codec, str(path))), path)
    except UnicodeDecodeError as error:
        raise _undecodable(path, codec, decoding) from error


def _with_text(lines: Iterator[str], path: Path) -> Iterator[str]:
    """Return lines, or raise ``ValueError`` if all of them are blank."""
    beginning = []
    for line in lines:
        beginning.append(line)
        if line.strip():
            return itertools.chain(beginning, lines)
    raise ValueError(f"{path} is empty.")


def _undecodable(path: Path, codec: str, decoding: str) -> ValueError:
    """Return the error about the first bytes of a file that cannot be decoded, which a second reading finds."""
    decoder, start, line = codecs.getincrementaldecoder(decoding)(), 0, 1
    with opened(path) as file:
        while True:
            block = file.read(_BLOCK)
            try:
                decoder.decode(block, final=len(block) < _BLOCK)
            except UnicodeDecodeError as error:
                # The decoder may have begun with bytes of the block before this one, or left out a byte order mark.
                wrong, place = error.object, error.start + len(block) - len(error.object)
                line += block.count(b"\n", 0, max(place, 0))
                return ValueError(
                    f"{path} is not {codec.removesuffix('-sig')}: byte {wrong[error.start]:#04x} at offset "
                    f"{start + place}, line {line} ({error.reason}). {encodings.advice(block or wrong, codec)}"
                )
            start += len(block)
            line += block.count(b"\n")
