"""Beam's own options: checked by name, and the runner reached, before any work."""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import urllib.parse
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners import create_runner

from dense_lstm_zoo import checks

DIRECT = "DirectRunner"
# Options that say where a runner listens, and how the others are called in documentation.
_ADDRESSES = ("job_endpoint", "flink_master", "spark_master_url", "artifact_endpoint")
_NO_PROXY = "no_grpc_proxy"  # where gRPC has it, it does not look at no_proxy
_TIMEOUT = 5.0  # seconds


def parse(runner: str, arguments: Sequence[str], ours: Iterable[str]) -> tuple[Any, PipelineOptions]:
    """Return the runner and its options.

    ``DirectRunner`` is the one that runs in Python on this machine. Beam's own choice under that name tries to download
    another first.

    Args:
        runner: Its name, such as ``FlinkRunner``.
        arguments: Options of Beam, as on a command line.
        ours: Options of the command, for near matches.

    Raises:
        ValueError: An unknown option or runner, or a value that an option does not take, such as fewer than 0 workers.
        ConnectionError: Nothing listens at the runner's address.
    """
    parser = _known_options()
    try:
        values, unknown = parser.parse_known_args(list(arguments))
    except argparse.ArgumentError as error:
        raise ValueError(f"An option of Beam: {error}.") from None
    if unknown:
        option = unknown[0].partition("=")[0]
        if not option.startswith("-"):
            raise ValueError(f"predict-batch does not expect {option!r}; its files are given with --input.")
        names = [*parser._option_string_actions, *ours]
        raise checks.unknown_name("option of predict-batch or Beam:", option, names)
    for name, value in vars(values).items():
        if name.endswith("num_workers") and value is not None:
            checks.integer(f"--{name}", value, minimum=0)
    options = PipelineOptions([f"--runner={runner}", *arguments])
    for name in _ADDRESSES:
        address = getattr(values, name, None)
        if address and address != parser.get_default(name):
            _reach(runner, name, address)
    if runner == DIRECT:
        from apache_beam.runners.portability.fn_api_runner import FnApiRunner

        return FnApiRunner(), options
    try:
        return create_runner(runner), options
    except (ValueError, ImportError, AttributeError) as error:
        reason = str(error).split("\n")[0].rstrip(".")
        raise ValueError(f"The runner {runner!r} is not available: {reason}.") from error


@contextlib.contextmanager
def without_proxy() -> Iterator[None]:
    """Let gRPC reach this machine directly in this block, and in the processes that it starts.

    ``http_proxy`` and the like would send Beam's workers through a proxy that does not know this machine's ports.
    """
    before = os.environ.get(_NO_PROXY)
    exceptions = before if before is not None else os.environ.get("no_proxy", "")
    os.environ[_NO_PROXY] = ",".join(filter(None, [exceptions, "localhost", "127.0.0.1", "::1"]))
    try:
        yield
    finally:
        if before is None:
            del os.environ[_NO_PROXY]
        else:
            os.environ[_NO_PROXY] = before


def _known_options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.error = _raise  # type: ignore[assignment, method-assign]
    for kind in _subclasses(PipelineOptions):
        if kind.__module__.startswith("apache_beam.") and hasattr(kind, "_add_argparse_args"):
            kind._add_argparse_args(_Quietly(parser))
    return parser


class _Quietly:
    """A parser to which an option may be added twice, as some of Beam's classes do."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._parser = parser

    def add_argument(self, *names: str, **settings: Any) -> argparse.Action | None:
        free = [name for name in names if name not in self._parser._option_string_actions]
        return self._parser.add_argument(*free, **settings) if free else None

    def add_mutually_exclusive_group(self, **_: object) -> Self:
        return self

    def add_argument_group(self, *_: object, **__: object) -> Self:
        return self


def _subclasses(kind: type) -> list[type]:
    """Return all classes derived from one, however indirectly."""
    own: list[type] = kind.__subclasses__()
    return [descendant for sub in own for descendant in (sub, *_subclasses(sub))]


def _raise(message: str) -> None:
    raise ValueError(f"An option of Beam: {message}.")


def _reach(runner: str, option: str, address: str) -> None:
    """Raise ``ConnectionError`` if nothing listens at an address. ``local`` and the like are not addresses."""
    try:
        url = urllib.parse.urlsplit(address if "://" in address else f"//{address}")
        host, port = url.hostname, url.port
    except ValueError:
        raise ValueError(f"--{option} must be HOST:PORT; received {address!r}.") from None
    if host is None or port is None:
        return
    try:
        socket.create_connection((host, port), _TIMEOUT).close()
    except OSError as error:
        raise ConnectionError(
            f"The runner {runner} cannot be reached at {address} (--{option}): {error.strerror or error}. Start it, or "
            "correct the address."
        ) from None
