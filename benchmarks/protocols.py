"""What the scripts that train and score have in common: options, the columns of a row, the command that made it."""

from __future__ import annotations

import argparse
import contextlib
import json
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dense_lstm_zoo as zoo
from dense_lstm_zoo.cli import PLAIN_ERRORS
from dense_lstm_zoo.data.sources import find_file


@contextlib.contextmanager
def plain_errors() -> Iterator[None]:
    """End a script with one line where what it was asked for is wrong, as the command line does."""
    try:
        yield
    except PLAIN_ERRORS as error:
        raise SystemExit(f"error: {error}") from error


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that all of them take."""
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds, from 1 (default: 1)")
    parser.add_argument(
        "--set", nargs="+", default=[], metavar="NAME=VALUE", help="arguments of train that differ from the recipe's"
    )


def vector_file(name: str | None) -> Path | None:
    """Return the vectors that an argument names: a path, or a name in the data's vectors folder."""
    found = name and (find_file("vectors", name) or Path(name))
    if found and not found.is_file():
        raise FileNotFoundError(f"there are no vectors {name}")
    return found or None


def parse_settings(settings: list[str]) -> dict[str, Any]:
    """Return the arguments of ``train`` that NAME=VALUE words ask for; values as in JSON, all else is a name."""
    found: dict[str, Any] = {}
    for setting in settings:
        name, _, value = setting.partition("=")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def read_config(result: zoo.ProtocolResult) -> dict[str, Any]:
    """Return the config of the first run's bundle."""
    path = result.run_dir / result.runs["run"][0] / "config.json"
    config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return config


def read_versions(config: dict[str, Any]) -> str:
    """Return the versions that a bundle was made with, for a row."""
    return " ".join(f"{name}={version}" for name, version in config["versions"].items())


def published(figures: Mapping[str, float], corpus: str) -> float | str:
    """Return the published score on a corpus, empty where there is none.

    The papers' scores on the Stanford Sentiment Treebank are of training on its phrases; runs on its sentences alone
    are set beside them, and the tables say so.
    """
    return figures.get(corpus, figures.get(f"{corpus}_phrases", ""))


def seeds(number: int) -> str:
    """Return the protocol's name of so many seeds."""
    return f"seed{'s' if number > 1 else ''} {' '.join(map(str, range(1, number + 1)))}"


def how_it_ran(result: zoo.ProtocolResult, options: argparse.Namespace, command: str) -> dict[str, Any]:
    """Return the last columns of a row; ``command`` names the script and what it was given beside the options here."""
    config = read_config(result)
    command += f" --seeds {options.seeds}" if options.seeds > 1 else ""
    command += f" --set {' '.join(options.set)}" if options.set else ""
    if getattr(options, "vectors", None):
        command += f" --vectors {Path(options.vectors).name}"
    return {
        "epochs": " ".join(map(str, result.runs["epochs"])),
        "patience": config["training"]["patience"],
        "seconds_median": round(result.runs["seconds"].median(), 1),
        "versions": read_versions(config),
        "processor": platform.processor() or platform.machine(),
        "command": command,
    }
