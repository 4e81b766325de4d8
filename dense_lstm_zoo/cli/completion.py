"""Shell completion with argcomplete: commands, models, their options, corpora, recipes, presets and files.

``eval "$(register-python-argcomplete dense-lstm-zoo)"`` in the shell's start-up file turns it on.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from typing import Any

import dense_lstm_zoo as zoo
from dense_lstm_zoo import tasks
from dense_lstm_zoo.bundles import presets
from dense_lstm_zoo.cli.command import CommandParser
from dense_lstm_zoo.cli.listing import KINDS
from dense_lstm_zoo.cli.model_help import options_of_others

VARIABLE = "_ARGCOMPLETE"  # set by the shell's function when it asks


def is_asked() -> bool:
    """Return whether the shell asks for completions, rather than the user for a command."""
    return VARIABLE in os.environ


def complete(parser: argparse.ArgumentParser, **options: Any) -> None:
    """Answer the shell and end the process. Do nothing if argcomplete is not installed.

    Args:
        parser: The parser of all commands.
        **options: For ``argcomplete.autocomplete``.
    """
    try:
        import argcomplete
    except ImportError:
        return
    words = os.environ.get("COMP_LINE", "").split()
    for command in _commands(parser):
        command.takes_any_order = False
        for action in command._actions:
            if names := _NAMES.get(action.dest):
                action.completer = names  # type: ignore[attr-defined]
    if len(words) > 2 and words[1] in ("train", "self-train", "tune"):
        model = next((word for word in words[2:] if word in zoo.list_models()), None)
        if model is not None:
            _hide_others(_commands(parser, words[1]), model)
    argcomplete.autocomplete(parser, **options)


def _commands(parser: argparse.ArgumentParser, name: str | None = None) -> list[CommandParser]:
    (subparsers,) = (action.choices for action in parser._actions if isinstance(action.choices, dict))
    return [command for other, command in subparsers.items() if name in (None, other)]


def _hide_others(commands: Iterable[CommandParser], model: str) -> None:
    """Leave out the options of other tasks and models."""
    foreign = options_of_others(model)
    for command in commands:
        for action in command._actions:
            if action.dest in foreign:
                action.help = argparse.SUPPRESS


def _with_files(names: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    """Return a completer of names and files."""

    def completer(prefix: str, **_: object) -> list[str]:
        from argcomplete.completers import FilesCompleter

        return [name for name in names() if name.startswith(prefix)] + list(FilesCompleter()(prefix))

    return completer


def _only(names: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    return lambda **_: list(names())


# By the name of the argument.
_NAMES: dict[str, Callable[..., list[str]]] = {
    "model": _only(zoo.list_models),
    "kind": _only(lambda: KINDS),
    "pattern": _only(list),
    "task": _only(tasks.names),
    "recipe": _only(zoo.list_recipes),
    "name": _with_files(lambda: [*zoo.list_models(), *zoo.list_recipes(), *presets.names()]),
    "dataset": _with_files(zoo.list_corpora),
    "bundle": _with_files(presets.names),
    "bundles": _with_files(presets.names),
    "runs": _with_files(presets.names),
    "init_from": _with_files(presets.names),
    "context": _with_files(presets.names),
}
