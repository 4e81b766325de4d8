"""The server's settings: arguments, or environment variables of the same names with ``ZOO_`` before them."""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dense_lstm_zoo_runtime.checks import MOST_THREADS

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Settings:
    """The models of the server, its address and its limits. ``--help`` describes each field.

    Example:
        >>> Settings(models={"trec": "exports/trec-onnx"}).port
        8000
    """

    models: dict[str, str] = field(default_factory=dict)
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    threads: int = 1
    max_batch: int = 8
    max_wait_ms: float = 0.0
    max_queue: int = 1024
    max_requests: int = 256
    max_texts: int = 128
    max_chars: int = 10_000
    max_body: int = 1_048_576
    timeout: float = 10.0
    log_level: str = "info"


_HELP = {
    "host": "address to listen on; 0.0.0.0 for every interface",
    "port": "port to listen on; 0 takes a free one",
    "workers": f"batches predicted at the same time, each in a thread; at most {MOST_THREADS}",
    "threads": f"cores that one prediction uses; at most {MOST_THREADS}",
    "max_batch": "texts that are predicted together",
    "max_wait_ms": "milliseconds that a text waits for others to be predicted with; 0 takes what is there",
    "max_queue": "texts that may wait for each model and operation; more are refused with 503",
    "max_requests": "requests that are read, queued or predicted at a time; more are refused with 503",
    "max_texts": "texts in a request",
    "max_chars": "characters in a text, or in the tokens of a sentence",
    "max_body": "bytes in a request's body",
    "timeout": "seconds from a request's first byte to its answer",
    "log_level": "debug, info, warning or error",
}


def parse(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> Settings:
    """Read settings. An argument goes before the environment.

    Args:
        arguments: The command line, without the program's name.
        environment: ``ZOO_MODEL`` (separated by white space), ``ZOO_PORT``, ``ZOO_MAX_BATCH``, ...

    Raises:
        SystemExit: A value out of range, or no model. The message is printed. Also for ``--help``.
    """
    parser = argparse.ArgumentParser(
        prog="python -m dense_lstm_zoo_runtime.serve",
        description="Serve models over HTTP, and a page to try them at /, without TensorFlow.",
        epilog="Example: python -m dense_lstm_zoo_runtime.serve exports/trec-onnx. Each option can be set in the "
        "environment: ZOO_MODEL (sources between spaces), ZOO_PORT, ZOO_MAX_BATCH, ...",
    )
    parser.add_argument(
        "sources",
        nargs="*",
        metavar="[NAME=]SOURCE",
        help="an ONNX export's folder, a bundle that holds one, or a preset's name; of several, /v1/predict asks "
        "the first",
    )
    for name, keywords in options(environment):
        parser.add_argument(name, **keywords)
    values = vars(parser.parse_intermixed_args(arguments))
    sources = values.pop("sources") or environment.get("ZOO_MODEL", "").split()
    try:
        settings = Settings(models=_sources_by_name(sources), **values)
        check(settings)
    except ValueError as error:
        parser.error(str(error))
    return settings


def options(environment: Mapping[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name of each option, without the models, and its keywords for ``add_argument``."""
    defaults = Settings()
    for name, text in _HELP.items():
        default = getattr(defaults, name)
        keywords = {
            "type": type(default),
            "default": environment.get(f"ZOO_{name.upper()}", default),
            "metavar": "N" if isinstance(default, (int, float)) else "TEXT",
            "help": f"{text} (default {default})",
        }
        yield f"--{name.replace('_', '-')}", keywords


def _sources_by_name(sources: Sequence[str]) -> dict[str, str]:
    """Return the sources by name. One without a name has that of its folder, or of the folder around ``onnx``."""
    by_name: dict[str, str] = {}
    for word in sources:
        name, equals, source = word.partition("=")
        if not equals:
            path = Path(word).absolute()
            name, source = path.parent.name if path.name == "onnx" else path.name, word
        if not NAME.fullmatch(name) or not source:
            raise ValueError(f"A model must be NAME=SOURCE with a name of letters, digits, . _ -; received {word!r}.")
        if name in by_name:
            raise ValueError(f"Two models are called {name!r}: {by_name[name]} and {source}; give NAME=SOURCE.")
        by_name[name] = source
    if not by_name:
        raise ValueError("No model to serve: give an export's folder or a preset's name, or set ZOO_MODEL.")
    return by_name


def check(settings: Settings) -> None:
    """Raise ``ValueError`` for a value out of range, or values that do not go together."""
    smallest = {name: 1 for name in _HELP if isinstance(getattr(settings, name), int)} | {"port": 0, "max_wait_ms": 0}
    for name, minimum in smallest.items():
        if not minimum <= getattr(settings, name) < math.inf:
            raise ValueError(f"{name} must be at least {minimum}; received {getattr(settings, name)!r}.")
    for name, maximum in {"port": 65_535, "workers": MOST_THREADS, "threads": MOST_THREADS}.items():
        if getattr(settings, name) > maximum:
            raise ValueError(f"{name} must be from {smallest[name]} to {maximum}; received {getattr(settings, name)}.")
    if not 0 < settings.timeout < math.inf:
        raise ValueError(f"timeout must be a number of seconds above 0; received {settings.timeout!r}.")
    if settings.max_queue < settings.max_texts:
        raise ValueError(
            f"max_queue must be at least max_texts, or a full request could never be answered; "
            f"received {settings.max_queue} and {settings.max_texts}."
        )
    if settings.log_level not in ("debug", "info", "warning", "error"):
        raise ValueError(f"log_level must be debug, info, warning or error; received {settings.log_level!r}.")
