"""Around every request: a limit on how many are in progress, its count and its time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dense_lstm_zoo_runtime.serve.errors import too_busy
from dense_lstm_zoo_runtime.serve.metrics import Metrics

# Always answered, or a busy server could not be watched.
_UNLIMITED = frozenset({"/healthz", "/readyz", "/metrics"})


class Shortcut(NamedTuple):
    """The route of a path, as the metrics name it, and what answers a POST to it."""

    route: str
    reply: ASGIApp


class Watch:
    """Count and time requests, and refuse those that are too many before anything of them is read.

    Args:
        app: The application.
        metrics: Where requests are counted.
        max_requests: Requests in progress at a time.
        shortcuts: What answers a POST to a path without the application, whose way from a request to a function takes
            longer than a small model.
    """

    def __init__(
        self, app: ASGIApp, metrics: Metrics, max_requests: int, shortcuts: Mapping[str, Shortcut] | None = None
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._max_requests = max_requests
        self._shortcuts = shortcuts or {}
        self._in_progress = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        shortcut = self._shortcuts.get(scope["path"]) if scope["method"] == "POST" else None
        status = 499  # nginx's number for a client that left before its answer

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        began = time.perf_counter()
        self._in_progress += 1
        self._metrics.in_progress.set(self._in_progress)
        try:
            if self._in_progress > self._max_requests and scope["path"] not in _UNLIMITED:
                refusal = too_busy("too_many_requests", f"{self._max_requests:,} requests are in progress")
                self._metrics.rejected.labels(refusal.reason).inc()
                headers = {**refusal.headers, "Connection": "close"}
                await JSONResponse({"error": refusal.message}, 503, headers)(scope, receive, watched)
            else:
                await (shortcut.reply if shortcut else self._app)(scope, receive, watched)
        except ClientDisconnect:
            pass
        except Exception:
            status = 500
            raise
        finally:
            self._in_progress -= 1
            self._metrics.in_progress.set(self._in_progress)
            # The route's pattern, so that strangers cannot make series of their own; the router leaves it in the scope.
            path = shortcut.route if shortcut else getattr(scope.get("route"), "path", "other")
            self._metrics.requests.labels(path, str(status)).inc()
            self._metrics.seconds.labels(path).observe(time.perf_counter() - began)
