"""Running text, in a file or in memory, read line by line as often as needed.

Tokens are separated by white space (for other tokens, tokenise first). Blank lines are skipped.
"""

from __future__ import annotations

import codecs
import collections
import functools
import gzip
import io
import itertools
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from dense_lstm_zoo import checks
from dense_lstm_zoo.data import encodings
from dense_lstm_zoo.data.binary import check_is_text
from dense_lstm_zoo.storage import files, pipes

_BLOCK = 1 << 16
_SAMPLE = 1 << 20  # bytes before and after one that cannot be decoded, which show what the file is
_LONG_LINE = 1 << 20  # characters. Some corpora are a single line (text8: 100 MB), whose tokens take 15 times its size
_TOKEN = re.compile(r"\S+")


@dataclass(frozen=True)
class TextFile:
    """The lines of a text file that are not blank, without surrounding white space. The file is never held in full.

    Iterate over it as often as you like. Memory use is that of the longest line.

    Args:
        path: A text file, plain or compressed with gzip (detected from its content, whatever its name).
        encoding: The encoding of the text, unless it begins with the byte order mark of UTF-16 or UTF-32. Only a line
            feed, with or without a carriage return, ends a line.
        start: Number of lines to skip at the beginning, not counting blank ones.
        stop: The line before which to stop, counted from 0 from the beginning of the file. None means the end.

    Raises:
        FileNotFoundError: No such file. The message names similar ones beside it.
        ValueError: A folder, an unknown encoding. On iteration: bytes that are not in the encoding, damaged gzip, a
            file that has changed since it was first read.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "text.txt")
        ...     _ = path.write_text("one line\\n\\nanother line\\n")
        ...     text = TextFile(path)
        ...     list(text), list(text), text.num_lines, text.num_tokens
        (['one line', 'another line'], ['one line', 'another line'], 2, 6)
    """

    path: Path
    encoding: str = "utf-8"
    start: int = 0
    stop: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", files.existing_file(self.path))
        checks.integer("start", self.start, minimum=0)
        if self.stop is not None:
            checks.integer("stop", self.stop, minimum=0)
        checks.encoding(self.encoding)

    def __iter__(self) -> Iterator[str]:
        return itertools.islice(self._lines(), self.start, self.stop)

    @property
    def num_lines(self) -> int:
        """The number of lines that are not blank. The first call reads the text."""
        return self._size[0]

    @property
    def num_tokens(self) -> int:
        """The number of tokens, with one ``<eos>`` per line. The first call reads the text."""
        return self._size[1]

    @functools.cached_property
    def _size(self) -> tuple[int, int]:
        lines = tokens = 0
        for line in token_lines(self):
            lines += 1
            tokens += 1 + sum(1 for _ in line)
        return lines, tokens

    def _check_unchanged(self) -> None:
        """Raise ``ValueError`` if the file has changed since it was first read: all passes must agree."""
        if isinstance(self.path, pipes.PipedPath):
            return
        status = files.existing_file(self.path).stat()
        stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
        if self.__dict__.setdefault("_stamp", stamp) != stamp:
            raise ValueError(
                f"{self.path} has changed since it was first read. Run again when no program writes to it, or on a "
                "copy of it."
            )

    def _lines(self) -> Iterator[str]:
        self._check_unchanged()
        try:
            with self.path.open("rb") as file, _decoded(file, self.path, self.encoding) as text:
                lines = encodings.watched(text, checks.encoding(self.encoding), str(self.path))
                for number, line in enumerate(lines):
                    if number == 0:
                        check_line_ends(line, str(self.path))
                    if stripped := line.strip():
                        yield stripped
            self._check_unchanged()
        except UnicodeDecodeError as error:
            number, content = self._undecodable()
            raise ValueError(
                f"{self.path}, line {number} is not {self.encoding}: byte {error.object[error.start]:#04x} "
                f"({error.reason}). {encodings.advice(content, checks.encoding(self.encoding))}"
            ) from error
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{self.path} is a truncated or damaged gzip file: {str(error).rstrip('.')}.") from error

    def _undecodable(self) -> tuple[int, bytes]:
        """Return the line's number, which block-wise reading does not know, and lines around it."""
        blocks: collections.deque[bytes] = collections.deque(maxlen=_SAMPLE // _BLOCK)
        number, following = 1, b""
        with self.path.open("rb") as file:
            stream = unpacked(file)
            codec = encodings.by_mark(stream.peek(1), checks.encoding(self.encoding))  # type: ignore[attr-defined]
            decoder = codecs.getincrementaldecoder(codec)()
            try:
                while block := stream.read(_BLOCK):
                    blocks.append(block)
                    number += decoder.decode(block).count("\n")
                decoder.decode(b"", final=True)
            except UnicodeDecodeError as error:
                number += error.object[: error.start].decode(codec, "ignore").count("\n")
                following = _whole_lines(stream)
        content = b"".join(blocks)
        is_whole = len(blocks) < _SAMPLE // _BLOCK
        return number, content[0 if is_whole else content.find(b"\n") + 1 :] + following


def numbered_lines(path: Path, encoding: str = "utf-8", *, longest: int | None = None) -> Iterator[tuple[int, str]]:
    """Yield the number, from 1, and the text of every line of a file, without its end.

    Args:
        path: A text file, plain or compressed with gzip (detected from its content).
        encoding: As for ``TextFile``.
        longest: How many characters a line may have. None means any number.

    Raises:
        ValueError: On iteration: a longer line, bytes that are not in the encoding, damaged gzip.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "text.txt")
        ...     _ = path.write_text("one line\\n\\nanother line\\n")
        ...     list(numbered_lines(path))
        [(1, 'one line'), (2, ''), (3, 'another line')]
    """
    try:
        with path.open("rb") as file, _decoded(file, path, encoding) as text:
            read_line = functools.partial(text.readline, -1 if longest is None else longest + 2)
            lines = encodings.watched(iter(read_line, ""), checks.encoding(encoding), str(path))
            for number, line in enumerate(lines, start=1):
                stripped = line.rstrip("\r\n")
                if number == 1:
                    check_line_ends(line, str(path))
                if longest is not None and len(stripped) > longest:
                    raise ValueError(f"{path}, line {number} has more than {longest:,} characters.")
                yield number, stripped
    except (UnicodeDecodeError, EOFError, zlib.error, gzip.BadGzipFile):
        collections.deque(TextFile(path, encoding), maxlen=0)  # finds the line and raises the error that users see
        raise


def check_line_ends(first: str, name: str) -> None:
    """Raise ``ValueError`` if the first line of a file is all of it, and holds others that carriage returns end."""
    if "\r" in first.rstrip("\r\n") and not first.endswith("\n"):
        raise ValueError(
            f"{name} has carriage returns alone at the ends of its lines, as old Macs wrote them: "
            "tr '\\r' '\\n' < old > new makes them line feeds."
        )


def _whole_lines(stream: BinaryIO) -> bytes:
    """Return the next bytes of a stream: all that are left, or a block that ends with a whole line."""
    try:
        content = stream.read(_SAMPLE)
    except (EOFError, zlib.error, gzip.BadGzipFile):  # the rest is damaged, too
        return b""
    return content[: content.rfind(b"\n") + 1] if len(content) == _SAMPLE else content


def _decoded(file: Any, path: Path, encoding: str) -> io.TextIOWrapper:
    """Return the file's ``unpacked`` text, after checking that it does not begin as a binary file does.

    A byte order mark goes before UTF-8.
    """
    stream = unpacked(file)
    beginning: bytes = stream.peek(1)[:_BLOCK]  # type: ignore[attr-defined]
    check_is_text(beginning, str(path))
    codec = encodings.by_mark(beginning, checks.encoding(encoding))
    encodings.check_has_mark(beginning, codec, str(path))
    return io.TextIOWrapper(stream, codec, newline="\n")


def unpacked(file: Any) -> BinaryIO:
    """Return a buffered stream of bytes, unpacked if it is compressed with gzip."""
    return gzip.GzipFile(fileobj=file) if file.peek(2)[:2] == b"\x1f\x8b" else file  # type: ignore[return-value]


TextSource: TypeAlias = TextFile | Sequence[str]
"""Lines of text that can be read again and again: in a file, or in memory as a list."""


def token_lines(source: Iterable[str]) -> Iterator[Iterable[str]]:
    """Yield the tokens of each line that is not blank, without ``<eos>``.

    Raises:
        ValueError: A single ``str`` instead of lines, or a line that is not a ``str``.

    Example:
        >>> [list(tokens) for tokens in token_lines(["to be", " ", "or not"])]
        [['to', 'be'], ['or', 'not']]
    """
    if isinstance(source, str | bytes):
        raise ValueError(f"Text must come as lines, such as a list of str; received one {type(source).__name__}.")
    for number, line in enumerate(source, start=1):
        if not isinstance(line, str):
            raise ValueError(f"Line {number} of the text must be a str; received {line!r:.80}.")
        if line and not line.isspace():
            yield line.split() if len(line) < _LONG_LINE else (match[0] for match in _TOKEN.finditer(line))


def num_tokens(source: TextSource) -> int:
    """Return the number of tokens in a text, with one ``<eos>`` per line.

    Example:
        >>> num_tokens(["to be", "", "or not"])
        6
    """
    if isinstance(source, TextFile):
        return source.num_tokens
    return sum(1 + sum(1 for _ in line) for line in token_lines(source))
