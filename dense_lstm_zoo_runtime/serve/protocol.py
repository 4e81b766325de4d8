"""HTTP/1.1 as uvicorn speaks it, and answers for clients that have finished sending but still read."""

from __future__ import annotations

import socket

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_LOOK = 0.1  # seconds between two looks at whether the client has left


class HalfClosing(H11Protocol):
    """A connection that stays open for answers after the client has closed its own direction of it.

    uvicorn alone closes at the end of input. Of a client that has left altogether only that end is seen too, until
    something is sent to it: a ``100 Continue``, which every HTTP/1.1 client discards. A client that is gone refuses it,
    and its texts are given up.
    """

    _ended = False  # no more input comes

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Return whether the connection stays open: it does while a whole request waits for its answer."""
        if not self._is_answering():
            return None
        if not self._ended:
            self._ended = True
            self._probe()
            self._look()
        return True

    def on_response_complete(self) -> None:
        """Answer the next request that has arrived whole, or close."""
        super().on_response_complete()
        if self._ended and not self._is_answering():
            self._unset_keepalive_if_required()
            self.transport.close()

    def _is_answering(self) -> bool:
        cycle = self.cycle
        return cycle is not None and not (cycle.more_body or cycle.response_complete or cycle.disconnected)

    def _probe(self) -> None:
        if self.scope["http_version"] == "1.1" and not self.cycle.response_started:
            self.transport.write(self.conn.send(h11.InformationalResponse(status_code=100, headers=[])) or b"")

    def _look(self) -> None:
        if self.transport.is_closing():
            return
        if self.transport.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self.transport.abort()
        else:
            self.loop.call_later(_LOOK, self._look)
