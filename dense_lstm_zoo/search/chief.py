"""The chief of a sweep's workers: it keeps the oracle and answers workers with its token, over plain-text gRPC."""

from __future__ import annotations

import copy
import functools
import ipaddress
import json
import math
import time
from collections.abc import Callable
from concurrent import futures
from typing import Any

import grpc
from keras_tuner.engine.trial import TrialStatus

from dense_lstm_zoo.search.access import TokenRequired
from dense_lstm_zoo.search.durable import Durable, UnknownTrialError

LOOPBACK = "127.0.0.1"
SERVICE = "dense_lstm_zoo.Oracle"


def parse_address(text: str) -> tuple[str, int]:
    """Read ``HOST:PORT``. Without a host, it is an address of this machine only.

    Example:
        >>> parse_address("10.0.0.1:8000"), parse_address("8000")
        (('10.0.0.1', 8000), ('127.0.0.1', 8000))
    """
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65536 or any(map(str.isspace, host)):
        raise ValueError(
            f"An oracle's address is HOST:PORT, such as 10.0.0.1:8000, or a port of this machine; received {text!r}."
        )
    return host or LOOPBACK, int(port)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a host's ports.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("[::1]"), is_loopback("0.0.0.0")
        (True, True, False)
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def serve(
    oracle: Durable,
    address: str,
    silence: float,
    token: str,
    alive: Callable[[], Any] = lambda: None,
    say: Callable[[str], Any] = lambda text: None,
) -> None:
    """Answer workers until every trial has ended and every worker knows.

    Args:
        oracle: The oracle.
        address: Where to listen.
        silence: Seconds after which a silent worker's trial is reassigned.
        token: The token that workers must present.
        alive: Called every second.
        say: Prints a line.

    Raises:
        ValueError: The port is taken.
        OSError: The oracle's state could not be written. The sweep resumes when the chief is restarted.
    """
    host, port = parse_address(address)
    # Without so_reuseport=0 a second chief could listen on the same port, and receive some of the calls.
    options = [("grpc.so_reuseport", 0)]
    server = grpc.server(futures.ThreadPoolExecutor(1), interceptors=[TokenRequired(token)], options=options)
    service = Service(oracle)
    server.add_generic_rpc_handlers([service.handler()])
    try:
        bound = server.add_insecure_port(f"{host}:{port}")
    except RuntimeError:
        bound = 0
    if bound != port:
        raise ValueError(f"The oracle cannot listen on {address}: the port is taken, or it is another machine's.")
    server.start()
    if not is_loopback(host):
        say(f"listening on {host}:{port}, in plain text; use it only inside a network that you trust")
    try:
        while not oracle.is_over():
            time.sleep(1)
            if service.trouble is not None:
                raise service.trouble
            for worker in oracle.requeue_silent(silence):
                say(f"{worker} has been silent for {silence:g} s; its trial goes to the next worker that asks")
            alive()
    finally:
        server.stop(grace=2).wait()


class RequestError(ValueError):
    """A request that no worker of this sweep makes."""


class Service:
    """Answers the requests of workers, in JSON. It trusts none of them.

    Args:
        oracle: The oracle.

    Attributes:
        trouble: An error that is not the caller's fault. It ends the chief.
    """

    METHODS = ("create_trial", "update_trial", "end_trial")

    def __init__(self, oracle: Durable) -> None:
        self.oracle = oracle
        self.trouble: Exception | None = None

    def handler(self) -> grpc.GenericRpcHandler:
        """Return the handler of all methods for a server."""
        methods = {name: functools.partial(self._answer, getattr(self, name)) for name in self.METHODS}
        handlers = {name: grpc.unary_unary_rpc_method_handler(method) for name, method in methods.items()}
        return grpc.method_handlers_generic_handler(SERVICE, handlers)

    def _answer(self, method: Callable[..., Any], request: bytes, context: grpc.ServicerContext) -> bytes:
        """Return a method's answer, or end the call with an error."""
        if self.trouble is not None:
            context.abort(grpc.StatusCode.ABORTED, str(self.trouble))
        try:
            return json.dumps(method(_fields(request))).encode()
        except UnknownTrialError as error:
            code, text = grpc.StatusCode.NOT_FOUND, str(error)
        except RequestError as error:
            code, text = grpc.StatusCode.INVALID_ARGUMENT, str(error)
        except Exception as error:
            self.trouble = error
            code, text = grpc.StatusCode.ABORTED, f"{type(error).__name__}: {error}"
        context.abort(code, text)
        raise AssertionError("abort raises")

    def create_trial(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the state of the trial that a worker has, or of the next one."""
        worker = _text(fields, "worker")
        if not 0 < len(worker) <= 200:
            raise RequestError(f"A worker's id must have 1 to 200 characters; received {len(worker)}.")
        state: dict[str, Any] = self.oracle.create_trial(worker).get_state()
        return state

    def update_trial(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Record a score."""
        trial = self.oracle.get_trial(_text(fields, "trial"))
        objective, metrics = self.oracle.objective.name, fields.get("metrics")
        if not isinstance(metrics, dict) or list(metrics) != [objective] or not _is_finite(metrics[objective]):
            raise RequestError(f"A score must be a finite number, {objective}; received {metrics!r:.200}.")
        self.oracle.update_trial(trial.trial_id, metrics)
        return {}

    def end_trial(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Record the end of a trial."""
        trial = copy.copy(self.oracle.get_trial(_text(fields, "trial")))
        trial.status, trial.message = _text(fields, "status"), _text(fields, "message")
        if trial.status not in (TrialStatus.COMPLETED, TrialStatus.FAILED):
            raise RequestError(f"A trial must end as COMPLETED or FAILED; received {trial.status!r:.200}.")
        if trial.status == TrialStatus.COMPLETED and not trial.metrics.exists(self.oracle.objective.name):
            raise RequestError(f"Trial {trial.trial_id} has no score, so it cannot be completed.")
        self.oracle.end_trial(trial)
        return {}


def _fields(request: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(request)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise RequestError("A request must be a JSON object.")
    return fields


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise RequestError(f"{name} must be a string; received {value!r:.200}.")
    return value


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
