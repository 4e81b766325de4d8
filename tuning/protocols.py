"""Common parts of rows of ``results/``: vectors and settings by name, versions, and the words for seeds and folds."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from dense_lstm_zoo.cli import FAILURES, PLAIN_ERRORS
from dense_lstm_zoo.data import word_source
from dense_lstm_zoo.data.sources import find_file


@contextlib.contextmanager
def plain_errors() -> Iterator[None]:
    """End a script with one line where what it was asked for is wrong, as the command line does."""
    try:
        yield
    except KeyboardInterrupt:
        print("\ninterrupted; the same command goes on", file=sys.stderr)
        raise SystemExit(130) from None
    except (*PLAIN_ERRORS, *FAILURES) as error:
        raise SystemExit(f"error: {error}") from error


def vector_file(name: str | None) -> str | None:
    """Return the vectors that an argument names: a word table, a path, or a name in the data's vectors folder."""
    if name is None or name == word_source.NONE or word_source.table(name) is not None:
        return name
    path = find_file("vectors", name) or Path(name)
    if not path.is_file():
        raise FileNotFoundError(f"no vectors named {name}")
    return str(path)


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Return the arguments of ``train`` that NAME=VALUE words ask for. Values are as in JSON, and all else is a name.

    Raises:
        ValueError: A word without a name or a value.

    Example:
        >>> parse_settings(["learning_rate=0.002", "crf=true", "skip=gates"])
        {'learning_rate': 0.002, 'crf': True, 'skip': 'gates'}
    """
    arguments: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not name or not equals or not value:
            raise ValueError(f"A setting is written NAME=VALUE, such as learning_rate=0.002; received {setting!r}.")
        try:
            arguments[name] = json.loads(value)
        except ValueError:
            arguments[name] = value
    return arguments


def as_words(settings: Mapping[str, Any]) -> str:
    """Return settings as ``parse_settings`` reads them.

    Example:
        >>> as_words({"learning_rate": 0.00005, "crf": True, "skip": "gates"})
        'learning_rate=0.00005 crf=true skip=gates'
    """

    def word(value: Any) -> str:
        if isinstance(value, float):
            return f"{Decimal(repr(value)):f}"
        return value if isinstance(value, str) else json.dumps(value)

    return " ".join(f"{name}={word(value)}" for name, value in settings.items())


def read_versions(config: dict[str, Any]) -> str:
    """Return the versions that a bundle was made with, for a row."""
    return " ".join(f"{name}={version}" for name, version in config["versions"].items())


def name(seeds: int, folds: int | None = None, only_folds: Sequence[int] | None = None) -> str:
    """Return how a protocol is told in a row.

    Example:
        >>> name(2), name(1, 10), name(1, 10, [1, 2, 3])
        ('seeds 1 2', '10 folds, seed 1', 'folds 1 2 3 of 10, seed 1')
    """
    words = f"seed{'s' if seeds > 1 else ''} {' '.join(map(str, range(1, seeds + 1)))}"
    if folds is None:
        return words
    fold_words = f"folds {' '.join(map(str, only_folds))} of {folds}" if only_folds else f"{folds} folds"
    return f"{fold_words}, {words}"
