"""The text of a file of word vectors: unpacked, split into lines, and each line into a word and numbers."""

from __future__ import annotations

import gzip
import io
import itertools
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

ACCEPTED = (
    "Accepted: text with one word and its numbers on each line (GloVe's or word2vec's text format), plain, .gz or "
    ".zip; not word2vec's binary .bin."
)
FIRST_LINES = 10

_BLOCK = 1 << 16  # larger blocks are not faster, and lose more of a damaged archive
_LONGEST_LINE = 1 << 23  # a hundred times any real line. Otherwise a file without line ends would fill the memory
_NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?|nan|inf(?:inity)?)", re.IGNORECASE)


def uncompressed(path: Path, file: io.BufferedReader) -> io.BufferedIOBase:
    """Return the text stream of ``file``, whose first bytes decide its format: gzip files named ``.txt`` are common."""
    magic = file.peek(4)[:4]
    if magic[:2] == b"\x1f\x8b":
        return gzip.GzipFile(fileobj=file)
    if magic not in (b"PK\x03\x04", b"PK\x05\x06"):
        return file
    try:
        archive = zipfile.ZipFile(file)
        # macOS adds a hidden companion of each file to its archives.
        members = [m for m in archive.infolist() if not m.is_dir() and not m.filename.startswith("__MACOSX/")]
        if len(members) != 1:
            names = ", ".join(member.filename for member in members) or "none"
            raise ValueError(f"{path} must hold one file; it holds {len(members)}: {names}. Unpack the one you want.")
        return archive.open(members[0])  # type: ignore[return-value]
    # Damaged, damaged so that zipfile seeks to a negative offset, encrypted, or of an unknown compression method.
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError) as error:
        raise ValueError(f"{path} cannot be read as a zip archive: {error}. {ACCEPTED}") from error


def blocks(stream: io.BufferedIOBase, damage: list[str]) -> Iterator[list[bytes]]:
    """Yield lists of whole lines. On damage, yield what came before and put the reason into ``damage``.

    In a damaged archive, up to one block before the damage is lost too.
    """
    unfinished = b""
    try:
        while chunk := stream.read1(_BLOCK):
            block = unfinished + chunk
            if b"\t" in block:
                block = block.replace(b"\t", b" ")
            if b"\r" in block:
                block = block.replace(b"\r\n", b"\n")
            # Not splitlines(): words may contain U+0085, U+2028 and other characters that it treats as line ends.
            *lines, unfinished = block.split(b"\n")
            if lines:
                yield lines
            if len(unfinished) > _LONGEST_LINE:
                damage.append(f"a line of more than {_LONGEST_LINE >> 20} MB")
                return
    except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile) as error:
        # The unfinished line is dropped: its last number may be cut.
        damage.append(str(error).rstrip("."))
        return
    if unfinished:
        yield [unfinished]


def layout(path: Path, first: list[bytes], damage: list[str]) -> tuple[tuple[int, int] | None, int]:
    """Return the header, if there is one, and the numbers per word that most of the first lines have.

    Most of them, because a line may be bad and a word may contain spaces. Raises ``ValueError`` if the file is not text
    with vectors.
    """
    if not first and not damage:
        raise ValueError(f"{path} is empty. {ACCEPTED}")
    if any(b"\0" in line for line in first[: FIRST_LINES + 1]):
        raise ValueError(f"{path} is a binary file. {ACCEPTED}")
    fields = first[0].split() if first else []
    if len(fields) == 2 and fields[0].isdigit() and fields[1].isdigit():
        count, dim = map(int, fields)
        width = _majority_width(first[1 : FIRST_LINES + 1])
        if dim and width == dim:
            return (count, dim), dim
        if len(first) > 1 and not width:  # word2vec's binary format: only the header is text
            raise ValueError(f"{path} is a binary file, or has only a header. {ACCEPTED}")
    width = _majority_width(first[:FIRST_LINES])
    if not width:
        reason = f" It is truncated or damaged: {damage[0]}." if damage else ""
        raise ValueError(f"{path}: none of the first lines holds a word and its numbers.{reason} {ACCEPTED}")
    return None, width


def _majority_width(lines: list[bytes]) -> int:
    """Return the most common count of numbers at the ends of lines, or 0 if none ends in a number."""
    widths: Counter[int] = Counter()
    for line in lines:
        numbers = itertools.takewhile(_NUMBER.fullmatch, reversed(line.split()[1:]))
        widths[sum(1 for _ in numbers)] += 1
    del widths[0]
    return widths.most_common(1)[0][0] if widths else 0


def split(line: bytes, dim: int) -> tuple[bytes, bytes, str]:
    """Return a line's word, its numbers as text, and what is wrong with it (empty if nothing so far)."""
    line = line.rstrip()
    if line.count(b" ") == dim:  # nearly every line, and much faster than splitting it
        word, _, numbers = line.partition(b" ")
        return word, numbers, "" if word else "malformed"
    word, *fields = line.rsplit(None, dim) or [b""]
    if not fields or not _NUMBER.fullmatch(fields[-1]):
        return word, b"", "malformed"
    # "cat 1 2 3" among vectors of two numbers has one too many; it is not the word "cat 1".
    if len(fields) < dim or (b" " in word and _NUMBER.fullmatch(word.rpartition(b" ")[2])):
        return word, b"", "wrong width"
    return word, b" ".join(fields), ""


def parse(texts: list[bytes], dim: int) -> np.ndarray | list[np.ndarray | None]:
    """Return a row of numbers per text, or None for a text that is not ``dim`` numbers.

    On many texts at once, `numpy.loadtxt` is twice as fast as ``float`` on each number, but not on single lines.
    """
    if not texts:
        return []
    try:
        rows = np.loadtxt(texts, dtype=np.float32, comments=None, delimiter=" ", ndmin=2)
    except ValueError:
        rows = None
    if rows is not None and rows.shape == (len(texts), dim):
        return rows
    if len(texts) == 1:
        return [None]
    half = len(texts) // 2
    return [*parse(texts[:half], dim), *parse(texts[half:], dim)]
