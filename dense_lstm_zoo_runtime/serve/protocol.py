"""HTTP/1.1 as uvicorn speaks it, with a limit on headers, and answers for clients that send no more but still read."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

try:
    import fcntl
    import termios
except ImportError:  # Windows
    fcntl = termios = None  # type: ignore[assignment]

_LOOK = 0.1  # seconds between two looks at whether the client has left
_VERSIONS = ("1.0", "1.1")
_MOST_HEADERS = 64 * 1024  # bytes of a request beside its body
_CHUNK = 16  # bytes that a chunk of a body has around it at most
_PATIENCE = 10.0  # seconds in which a client must take some of its answer


class HalfClosing(HttpToolsProtocol):
    """A connection that stays open for answers after the client has closed its own direction of it.

    uvicorn alone closes it at the end of input, or never. Of a client that has left altogether only that end is seen
    too, until something is sent to it: a ``100 Continue``, which every HTTP/1.1 client discards. A client that is gone
    refuses it, and its texts are given up.

    A request whose headers are longer than 64 KiB is refused, so that no client fills the memory with them. A client
    that takes nothing of its answers for ten seconds is cut off, or it would hold a request in progress for ever.
    """

    parser: httptools.HttpRequestParser
    _ended = False  # no more input comes
    _current: RequestResponseCycle | None = None  # which is being answered; others wait in uvicorn's pipeline
    _surplus = 0  # bytes that have arrived of a request and are not of its body
    _head: bytes | None = None  # of a request that asks for another protocol, without that wish
    _next_check: asyncio.TimerHandle | None = None  # of whether the client takes its answers

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, as every other request is refused, and close the connection.

        Args:
            msg: What is wrong with it.
        """
        advice = "Send HTTP/1.1, with one length of the body, and at most 64 KiB before it."
        content = json.dumps({"error": f"{msg} {advice}"}).encode()
        head = "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: "
        self.transport.write(f"{head}{len(content)}\r\n\r\n".encode() + content)
        self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Take what has arrived, and refuse headers, or trailers after a body, that go on for too long."""
        self._surplus += len(data)
        self._unset_keepalive_if_required()
        while data:
            try:
                self.parser.feed_data(data)
                break
            except httptools.HttpParserUpgrade as upgrade:
                assert self._head is not None
                data, self._head = self._head + data[upgrade.args[0] :], None
                self._surplus, self.parser = len(data), self._new_parser()
            except httptools.HttpParserError:
                message = "Invalid HTTP request received."
                self.logger.warning(message)
                self.send_400_response(message)
                return
        if self._surplus > _MOST_HEADERS and not self.transport.is_closing():
            self.send_400_response("The headers are too long.")

    def _new_parser(self) -> httptools.HttpRequestParser:
        """Return a parser of more requests, as lenient as uvicorn's own with one behind ``Connection: close``."""
        parser = httptools.HttpRequestParser(self)
        parser.set_dangerous_leniencies(lenient_data_after_close=True)
        return parser

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body, around which stand the length and the ends of its chunk."""
        self._surplus -= len(body) + _CHUNK
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """Begin to answer, unless the version is another or the headers, which may arrive at once, are too long.

        A request that asks for another protocol, such as HTTP/2, is read again as if it did not, which HTTP allows: the
        parser takes it for one without a body.
        """
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > _MOST_HEADERS or self.parser.get_http_version() not in _VERSIONS:
            raise ValueError("no request")  # which the parser takes as the end of all requests
        if not self.parser.should_upgrade():
            super().on_headers_complete()
            return
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        if method == b"CONNECT":
            raise ValueError("no proxy")
        headers = [b": ".join(header) for header in self.headers if header[0] != b"upgrade"]
        self._head = b"\r\n".join([b"%b %b HTTP/%b" % (method, self.url, version), *headers, b"", b""])

    def on_message_complete(self) -> None:
        """Note the end of a request, unless it is read again."""
        self._surplus = 0
        if self._head is None:
            super().on_message_complete()

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Return whether the connection stays open: it does while a whole request waits for its answer."""
        if not self._is_answering():
            return None
        if not self._ended:
            self._ended = True
            self._probe()
            self._look()
        return True

    def pause_writing(self) -> None:
        """Wait until the client has taken a part of its answer, but not for ever."""
        super().pause_writing()
        self._check_reading()

    def _check_reading(self, before: int | None = None) -> None:
        """Cut the client off if it takes nothing of what waits for it.

        Args:
            before: How many bytes waited at the last look.
        """
        if self._next_check is not None:
            self._next_check.cancel()
            self._next_check = None
        waiting = self.transport.get_write_buffer_size()
        if waiting:  # asyncio fills the system's buffer only once a third of it, perhaps some MB, has been read
            waiting += _bytes_in_system(self.transport.get_extra_info("socket"))
        if before is not None and waiting >= before:
            self.transport.abort()
        elif waiting:
            self._next_check = self.loop.call_later(_PATIENCE, self._check_reading, waiting)

    def on_response_complete(self) -> None:
        """Answer the next request that has arrived whole, or close."""
        super().on_response_complete()
        if self._next_check is None:
            self._check_reading()
        if self._ended and not self._is_answering():
            self._unset_keepalive_if_required()
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell every request of the connection, of which uvicorn tells the last."""
        if self._next_check is not None:
            self._next_check.cancel()
        for cycle in self._unanswered():
            cycle.disconnected = True
            cycle.message_event.set()
        super().connection_lost(exc)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._current = cycle
        super()._start_asgi_task(cycle, app)

    def _unanswered(self) -> list[RequestResponseCycle]:
        """Return the request that is being answered, and those that have come after it."""
        cycles = [self._current, *(cycle for cycle, _ in reversed(self.pipeline))]
        return [cycle for cycle in cycles if cycle is not None and not cycle.response_complete]

    def _is_answering(self) -> bool:
        return any(not (cycle.more_body or cycle.disconnected) for cycle in self._unanswered())

    def _probe(self) -> None:
        first = self._unanswered()[0]
        if first.scope["http_version"] == "1.1" and not first.response_started:
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _look(self) -> None:
        if self.transport.is_closing():
            return
        if self.transport.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self.transport.abort()
        else:
            self.loop.call_later(_LOOK, self._look)


def _bytes_in_system(connection: socket.socket) -> int:
    """Return how many bytes the system holds that the other end has not received; 0 where it does not say so."""
    if fcntl is None:
        return 0
    try:
        return int.from_bytes(fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4)), sys.byteorder)
    except (OSError, ValueError):  # not Linux, or closed
        return 0
