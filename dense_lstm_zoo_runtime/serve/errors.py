"""Refusals: what a request is answered with when it is not answered with predictions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dense_lstm_zoo_runtime.checks import unknown_name


class RequestError(Exception):
    """A request is refused: the HTTP status, the text of the error, and headers that go with it.

    Args:
        status: The HTTP status.
        reason: A word for the metrics.
        message: What was wrong, what was received, what to do.
        headers: Headers of the answer, such as ``Retry-After``.
    """

    def __init__(self, status: int, reason: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.headers = dict(headers or {})


def too_busy(reason: str, state: str) -> RequestError:
    """Return the refusal of a request that there is no room for. The client may try again."""
    message = f"The server is busy: {state}. Try again in a second."
    return RequestError(503, reason, message, {"Retry-After": "1"})


def unknown(kind: str, name: str, accepted: Iterable[str]) -> RequestError:
    """Return the refusal of a name that does not exist, with near matches and every accepted name.

    Example:
        >>> unknown("model", "tree", ["trec", "sst2"]).message
        "Unknown model 'tree'. Did you mean 'trec'? Accepted: sst2, trec."
    """
    return RequestError(404, "unknown_name", str(unknown_name(kind, name[:100], accepted)))
