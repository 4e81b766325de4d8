"""A sweep's token, which a worker needs for the chief to answer.

It is sent in plain text, like everything between chief and workers: it keeps out those who can reach the port, not
those who can read the network.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import grpc

TOKEN_FILE = "token"
TOKEN_VARIABLE = "DENSE_LSTM_ZOO_SWEEP_TOKEN"

_HEADER = "dense-lstm-zoo-sweep-token"
_SHORTEST = 16


def own_token(run_dir: Path) -> str:
    """Return the chief's token: from the variable, from the sweep's folder, or a new one, which is written there.

    A restarted chief keeps it, so that its workers can continue. Only the owner can read the file.

    Raises:
        ValueError: The variable's token is too short, or not plain ASCII.
    """
    path = run_dir / TOKEN_FILE
    token = _token_of_variable()
    if token is not None:
        return token
    with contextlib.suppress(FileNotFoundError, ValueError):
        path.chmod(0o600)
        return _checked_token(path.read_text(encoding="ascii").strip(), str(path))
    token = secrets.token_urlsafe(32)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(token + "\n")
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return token


def workers_token(run_dir: Path, patience: float) -> str:
    """Return the token that a worker presents: from the variable, or from the sweep's folder.

    Args:
        run_dir: The sweep's folder.
        patience: Seconds to wait for the file: a network file system may show it late.

    Raises:
        FileNotFoundError: There is no token.
        PermissionError: The file belongs to another user.
        ValueError: The variable or the file does not hold a token.
    """
    token = _token_of_variable()
    path = run_dir / TOKEN_FILE
    deadline = time.monotonic() + patience
    while token is None:
        try:
            token = _checked_token(path.read_text(encoding="ascii").strip(), str(path))
        except FileNotFoundError:
            if time.monotonic() > deadline:
                raise FileNotFoundError(
                    f"{path} does not exist: the chief writes it. If this machine cannot see the chief's folder, "
                    f"or the chief was given {TOKEN_VARIABLE}, set that variable to the same token."
                ) from None
            time.sleep(0.5)
    return token


def _token_of_variable() -> str | None:
    token = os.environ.get(TOKEN_VARIABLE)
    return None if token is None else _checked_token(token.strip(), TOKEN_VARIABLE)


def _checked_token(token: str, origin: str) -> str:
    if len(token) < _SHORTEST or not (token.isascii() and token.isprintable()):
        raise ValueError(
            f"{origin} does not hold a token: it has {len(token)} characters. A token is at least {_SHORTEST} "
            f"printable ASCII characters, such as the output of: openssl rand -hex 32."
        )
    return token


class TokenRequired(grpc.ServerInterceptor):
    """Refuses every call that does not present the token.

    Args:
        token: The chief's token.
    """

    def __init__(self, token: str) -> None:
        self._token = token.encode()

        def refuse(request: object, context: grpc.ServicerContext) -> None:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "this sweep's token is missing or wrong")

        self._refusal = grpc.unary_unary_rpc_method_handler(refuse)

    def intercept_service(
        self, continuation: Callable[..., Any], details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler | None:
        """Return the call's handler, or a handler that refuses it."""
        tokens = [value for name, value in details.invocation_metadata if name == _HEADER]
        if len(tokens) == 1 and hmac.compare_digest(str(tokens[0]).encode(), self._token):
            return continuation(details)
        return self._refusal


class _Details(NamedTuple):
    """A call's details, in the form gRPC accepts from an interceptor."""

    method: str
    timeout: float | None
    metadata: Sequence[tuple[str, str | bytes]] | None
    credentials: grpc.CallCredentials | None
    wait_for_ready: bool | None
    compression: grpc.Compression | None


class TokenShown(grpc.UnaryUnaryClientInterceptor):
    """Presents the token at every call of a worker, which waits for the chief for a time.

    Args:
        token: The chief's token.
        patience: Seconds that a call waits.
    """

    def __init__(self, token: str, patience: float) -> None:
        self._token, self._patience = token, patience

    def intercept_unary_unary(
        self, continuation: Callable[..., Any], details: grpc.ClientCallDetails, request: object
    ) -> grpc.Call:
        """Make the call with the token."""
        metadata = [*(details.metadata or ()), (_HEADER, self._token)]
        call = _Details(details.method, self._patience, metadata, details.credentials, True, None)
        return continuation(call, request)
