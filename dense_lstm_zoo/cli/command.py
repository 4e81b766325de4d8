"""The parser of one command."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import dense_lstm_zoo as zoo
from dense_lstm_zoo import checks


class Program(argparse.ArgumentParser):
    """The program, which names the command that a misspelt one is near to."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            self.exit(2, f"error: {checks.unknown_name('command', value, list(action.choices))}\n")


class Command(argparse.ArgumentParser):
    """A command that takes its options before, between and after its texts; plain argparse wants them in one place."""

    # For a command with options that depend on the model: returns the help for a model's name, or None for all models.
    help_of: Callable[[str | None], str] | None = None
    # Returns the options that a model does not have, which no error suggests.
    others_of: Callable[[Any], set[str]] | None = None
    takes_any_order = True
    # For a command that passes on the options that it does not know: the argument that takes them.
    rest = ""
    _within = False
    _model: str | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse options and texts in any order; argparse calls this method again for each pass."""
        if self._within or not self.takes_any_order:
            return super().parse_known_args(args, namespace)
        if self.help_of is not None:
            self._model = _named_model(args or ())
        self._within = True
        try:
            found, unknown = self.parse_known_intermixed_args(args, namespace)
        finally:
            self._within = False
        if self.rest:
            setattr(found, self.rest, unknown)
            return found, []
        if unknown:  # argparse would suggest no near match, and print the usage of the whole program
            self._refuse(unknown)
        return found, unknown

    def format_help(self) -> str:
        """Return the help, of one model if it is named."""
        if self.help_of is None:
            return super().format_help()
        try:
            return self.help_of(self._model)
        except ValueError as error:  # no such model
            self.exit(2, f"error: {error}\n")

    def format_usage(self) -> str:
        """Return the usage, short where the options depend on the model."""
        short = f"usage: {self.prog} MODEL --dataset NAME --run-dir FOLDER [options]\n"
        return super().format_usage() if self.help_of is None else short

    def _refuse(self, unknown: list[str]) -> NoReturn:
        options = [text.partition("=")[0] for text in unknown if text.startswith("-")]
        if options:
            others = self.others_of(self._model) if self.others_of and self._model in zoo.list_models() else set()
            actions = (action for action in self._actions if action.option_strings and action.dest not in others)
            accepted = [action.option_strings[-1] for action in actions]
            message = str(checks.unknown_name(f"option of {self.prog}:", options[0], accepted))
        else:
            message = f"{self.prog} does not expect {unknown[0]!r}; put a text of several words in quotation marks."
        self.exit(2, f"error: {message}\n")


def _named_model(args: Sequence[str]) -> str | None:
    """Return the model that a command names, wherever it stands; else the first word, which may be a misspelt one."""
    first = next((text for text in args[:1] if not text.startswith("-")), None)
    return next((text for text in args if text in zoo.list_models()), first)
