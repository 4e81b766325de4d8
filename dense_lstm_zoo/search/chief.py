"""The chief of a sweep's workers: it keeps the oracle and answers workers with its token, over plain-text gRPC."""

from __future__ import annotations

import functools
import ipaddress
import math
import time
from collections.abc import Callable
from concurrent import futures
from typing import Any

import grpc

# keras-tuner has no public name for its service; nothing else is imported from there.
from keras_tuner.src import protos
from keras_tuner.src.distribute import oracle_chief

from dense_lstm_zoo.search.access import TokenRequired
from dense_lstm_zoo.search.oracles import Durable, UnknownTrialError

LOOPBACK = "127.0.0.1"


def parse_address(text: str) -> tuple[str, int]:
    """Read ``HOST:PORT``; without a host, this machine only.

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
        OSError: The oracle's state could not be written; the sweep resumes when the chief is restarted.
    """
    host, port = parse_address(address)
    # Without so_reuseport=0 a second chief could listen on the same port, and receive some of the calls.
    options = [("grpc.so_reuseport", 0)]
    server = grpc.server(futures.ThreadPoolExecutor(1), interceptors=[TokenRequired(token)], options=options)
    servicer = Servicer(oracle)
    protos.get_service_grpc().add_OracleServicer_to_server(servicer, server)
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
        while not (servicer.stop_triggered and oracle.is_idle()):
            time.sleep(1)
            if servicer.trouble is not None:
                raise servicer.trouble
            for worker in oracle.requeue_silent(silence):
                say(f"{worker} has been silent for {silence:g} s; its trial goes to the next worker that asks")
            alive()
    finally:
        server.stop(grace=2).wait()


class RequestError(ValueError):
    """A request that no worker of this sweep makes."""


def _answered(method: Callable[..., Any]) -> Callable[..., Any]:
    """Answer a failed call with an error; an error that is not the caller's fault also ends the chief."""

    @functools.wraps(method)
    def call(self: Servicer, request: Any, context: grpc.ServicerContext) -> Any:
        if self.trouble is not None:
            context.abort(grpc.StatusCode.ABORTED, str(self.trouble))
        try:
            return method(self, request, context)
        except UnknownTrialError as error:
            code, text = grpc.StatusCode.NOT_FOUND, str(error)
        except RequestError as error:
            code, text = grpc.StatusCode.INVALID_ARGUMENT, str(error)
        except Exception as error:
            self.trouble = error
            code, text = grpc.StatusCode.ABORTED, f"{type(error).__name__}: {error}"
        context.abort(code, text)

    return call


class Servicer(oracle_chief.OracleServicer):
    """keras-tuner's service, which trusts no request.

    Args:
        oracle: The oracle.
    """

    trouble: Exception | None = None

    def __init__(self, oracle: Durable) -> None:
        super().__init__(oracle)

    @_answered
    def GetSpace(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802 - the service's names
        """Answer with the search space."""
        return super().GetSpace(request, context)

    @_answered
    def UpdateSpace(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        """Refuse: the search space was fixed when the sweep was planned."""
        raise RequestError("A sweep's space is fixed when it is planned; workers cannot change it.")

    @_answered
    def CreateTrial(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        """Answer with the trial that a worker has, or the next one."""
        if not 0 < len(request.tuner_id) <= 200:
            raise RequestError(f"A worker's id must have 1 to 200 characters; received {len(request.tuner_id)}.")
        return super().CreateTrial(request, context)

    @_answered
    def UpdateTrial(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        """Record a score."""
        self.oracle.get_trial(request.trial_id)
        wanted, metrics = self.oracle.objective.name, dict(request.metrics)
        if list(metrics) != [wanted] or not math.isfinite(metrics[wanted]):
            raise RequestError(f"A score must be a finite number, {wanted}; received {metrics}.")
        return super().UpdateTrial(request, context)

    @_answered
    def EndTrial(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        """Record the end of a trial; of the worker's report, only the status is used."""
        ended, statuses = request.trial, protos.get_proto().TrialStatus
        trial = self.oracle.get_trial(ended.trial_id)
        if ended.status not in (statuses.COMPLETED, statuses.FAILED):
            raise RequestError(f"A trial must end as COMPLETED or FAILED; received {statuses.Name(ended.status)}.")
        if ended.status == statuses.COMPLETED and not trial.metrics.exists(self.oracle.objective.name):
            raise RequestError(f"Trial {ended.trial_id} has no score, so it cannot be completed.")
        ended.hyperparameters.CopyFrom(trial.hyperparameters.to_proto())
        return super().EndTrial(request, context)

    @_answered
    def GetTrial(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        """Answer with a trial."""
        return super().GetTrial(request, context)

    @_answered
    def GetBestTrials(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        """Answer with the best trials."""
        return super().GetBestTrials(request, context)
