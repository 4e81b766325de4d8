"""The standard streams, however a shell, an office or a departed reader has left them."""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import os
import select
import sys
from collections.abc import Callable, Iterator
from typing import Any

from dense_lstm_zoo_runtime.screen import LAYOUT, escape_controls

_ESCAPES = "dense_lstm_zoo.escapes"


def open_streams() -> None:
    r"""Make the standard streams usable.

    A stream that the shell has closed (``>&-``) is the null device: input is empty, and output is dropped. Its number
    is taken, so that no file which is opened later gets what is written to it. A character that the encoding of the
    output lacks is escaped as in JSON (``\ud83d\ude00``), so that it ends nothing and JSON stays JSON. Control
    characters in messages on standard error are escaped, whoever writes them: names of files and a stranger's metadata
    may hold some.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            setattr(sys, name, _null(number, mode))
    codecs.register_error(_ESCAPES, _escapes)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ESCAPES)
    if isinstance(sys.stderr, io.TextIOWrapper):
        _escape_written(sys.stderr)


def _escape_written(stream: io.TextIOWrapper) -> None:
    """Escape control characters in what is written to a stream from now on."""
    if not isinstance(stream.write, Screen):
        vars(stream)["write"] = Screen(stream.write)


class Screen:
    """A stream for a person, without control characters but those that lay lines out.

    Args:
        write: Writes a text.
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write

    def __call__(self, text: str) -> int:
        """Write a text and return its length."""
        self._write(escape_controls(text, keep=LAYOUT))
        return len(text)

    write = __call__


def for_reading(stream: Any) -> Any:
    """Return a stream to write data to: a terminal without its control characters, or a file or pipe as it is."""
    return Screen(stream.write) if stream.isatty() else stream


def flush_output() -> None:
    """Write what standard output still holds.

    What cannot be written is dropped: Python would try again at its end, and print a traceback.

    Raises:
        OSError: It cannot be written.
    """
    try:
        sys.stdout.flush()
    except OSError:
        drop_output(sys.stdout.fileno())
        raise


def drop_output(number: int) -> None:
    """Send what is written to an open file to the null device from now on."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, number)
    os.close(null)


@contextlib.contextmanager
def unread_output() -> Iterator[None]:
    """Let the work in this block continue when its output cannot be written any more, and say so at the end.

    The reader may have left (``| head``, a closed terminal), or a log's disk may be full. Streams that are not files,
    such as a notebook's, stay as they are.

    What the work keeps of its streams writes to the same files afterwards: a logger that it sets up keeps one.
    """
    lasting = {name: _lasting(getattr(sys, name)) for name in ("stdout", "stderr")}
    outer = {name: getattr(sys, name) for name in lasting}
    for name, stream in lasting.items():
        setattr(sys, name, stream or outer[name])
    try:
        yield
    finally:
        for name, stream in lasting.items():
            if getattr(sys, name) is (stream or outer[name]):
                setattr(sys, name, outer[name])
        for name, stream in lasting.items():
            if stream is None:
                continue
            stream.flush()
            raw = stream.buffer.raw
            if raw.trouble is not None:
                message = f"{name} could not be written and was dropped, the work went on: {raw.trouble}"
                with contextlib.suppress(OSError, ValueError, AttributeError):
                    print(message, file=sys.stderr, flush=True)


class _LastingFile(io.FileIO):
    """A file that accepts all that is written to it: after an error, the null device takes its place."""

    trouble: OSError | None = None

    def write(self, data: Any) -> int:
        try:
            while (count := super().write(data)) is None:  # another program has made the pipe non-blocking
                select.select([], [self], [])
            return count
        except OSError as error:
            self.trouble = error
            drop_output(self.fileno())
            return len(data)


def _lasting(stream: Any) -> Any:
    """Return a stream to the same file that never fails, or None for one that is not a file."""
    if not isinstance(stream, io.TextIOWrapper) or stream.closed:
        return None
    try:
        stream.flush()
        raw = _LastingFile(stream.fileno(), "w", closefd=False)
    except OSError:  # without a number, as a test's, or broken already: what it holds would be tried again
        return None
    lasting = io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors=stream.errors,
        newline="" if os.linesep == "\n" else None,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
    if isinstance(stream.write, Screen):
        _escape_written(lasting)
    return lasting


def _null(number: int, mode: str) -> Any:
    """Open the null device, under the number of a standard stream if that is free."""
    try:
        os.fstat(number)
    except OSError:
        null = os.open(os.devnull, os.O_RDWR)
        if null != number:
            os.dup2(null, number)
            os.close(null)
        os.set_inheritable(number, True)
        return open(number, mode, encoding="utf-8", closefd=False)
    return open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123 - it stays open


def _escapes(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end
