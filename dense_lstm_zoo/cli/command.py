"""Commands as declarations: a decorator on the function that runs, and the parser that is made from it."""

from __future__ import annotations

import argparse
import functools
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import dense_lstm_zoo as zoo
from dense_lstm_zoo import checks
from dense_lstm_zoo.cli import model_help
from dense_lstm_zoo.corpora.names import list_corpora

_TEXTS = ("texts", "text", "sentence", "prompt", "prefix")  # arguments that are raw text
_WORD = "\0"  # before each word after --, which argparse would otherwise take for an option in its second pass


@dataclass(frozen=True)
class Argument:
    """An argument of a command, as ``ArgumentParser.add_argument`` takes it.

    Args:
        names: Its name, or its options.
        settings: The keywords of ``add_argument``.
    """

    names: tuple[str, ...]
    settings: Mapping[str, Any]


def argument(*names: str, **settings: Any) -> Argument:
    """Declare an argument of a command, with the names and keywords of ``add_argument``."""
    return Argument(names, settings)


@dataclass(frozen=True)
class Group:
    """Arguments under a title.

    Args:
        title: The title.
        arguments: The arguments.
        description: A line below the title.
        is_common: Whether every model has these options.
    """

    title: str
    arguments: Sequence[Argument]
    description: str | None = None
    is_common: bool = True


@dataclass
class Command:
    """A command of ``dense-lstm-zoo``.

    Args:
        name: What the user types.
        run: The function that runs it, with the values of its arguments.
        help: One sentence.
        arguments: Its arguments, single or in groups.
        example: A command without the program's name.
        description: The text of its own help. None means ``help``.
        passed_on: The argument that takes the options which the command does not know.
        by_model: Whether its options depend on a model, which has a help of its own.
    """

    name: str
    run: Callable[..., int | None]
    help: str
    arguments: Sequence[Argument | Group]
    example: str
    description: str | None = None
    passed_on: str = ""
    by_model: bool = False


COMMANDS: dict[str, Command] = {}

Function = TypeVar("Function", bound=Callable[..., int | None])


def command(
    name: str, help: str, *arguments: Argument | Group, example: str, **settings: Any
) -> Callable[[Function], Function]:
    """Declare a function to be a command. See ``Command``."""

    def declare(function: Function) -> Function:
        COMMANDS[name] = Command(name, function, help, arguments, example, **settings)
        return function

    return declare


class Program(argparse.ArgumentParser):
    """The program, which names the command that a misspelt one is near to."""

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            self.exit(2, f"error: {checks.unknown_name('command', value, list(action.choices))}\n")


class CommandParser(argparse.ArgumentParser):
    """A command that takes its options before, between and after its texts. Plain argparse wants them in one place."""

    # For a command with options that depend on the model: returns the help for a model's name, or None for all models.
    help_of: Callable[[str | None], str] | None = None
    takes_any_order = True
    passed_on = ""
    _is_within = False
    _model: str | None = None

    def declare(self, command: Command) -> None:
        """Take the arguments of a command, and the function that it runs."""
        self.set_defaults(run=command.run)
        self.passed_on = command.passed_on
        groups = add_arguments(self, command.arguments)
        if command.by_model:
            self.help_of = functools.partial(model_help.page, command.name, self._actions, groups, command.example)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse options and texts in any order. Argparse calls this method again for each pass."""
        if self._is_within or not self.takes_any_order:
            return super().parse_known_args(args, namespace)
        if self.help_of is not None:
            self._model = _model_in(args or ())
        words = list(args or ())
        start = words.index("--") + 1 if "--" in words else len(words)
        self._is_within = True
        try:
            marked = [*words[:start], *(f"{_WORD}{word}" for word in words[start:])]
            values, unknown = self.parse_known_intermixed_args(marked, namespace)
        finally:
            self._is_within = False
        for name, value in vars(values).items():
            setattr(values, name, value := _plain(value))
            if name in _TEXTS:
                self._check_texts(value if isinstance(value, list) else [value])
        unknown = _plain(unknown)
        if self.passed_on:
            setattr(values, self.passed_on, unknown)
            return values, []
        if unknown:  # argparse would suggest no near match, and print the usage of the whole program
            self._refuse(unknown)
        return values, unknown

    def _check_texts(self, texts: Sequence[str | None]) -> None:
        """Refuse texts whose bytes the terminal's encoding does not have, which Python hands on as half characters."""
        for text in texts:
            if text is not None and re.search("[\ud800-\udfff]", text):
                encoding = sys.getfilesystemencoding()
                self.exit(
                    2,
                    f"error: a text has bytes that are not {encoding}: {text!a:.80}. Write it to a file and give "
                    "--encoding, where the command takes files.\n",
                )

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
        if self.help_of is None:
            return super().format_usage()
        return f"{model_help.usage(self.prog.split()[-1], 'MODEL', self._actions)}\n"

    def _refuse(self, unknown: list[str]) -> NoReturn:
        options = [text.partition("=")[0] for text in unknown if text.startswith("-")]
        if options and options[0] in self._option_string_actions:
            message = f"{options[0]} stands after --, where all words are texts: write it before --."
        elif options:
            foreign = model_help.options_of_others(self._model) if self._model in zoo.list_models() else set()
            actions = (action for action in self._actions if action.option_strings and action.dest not in foreign)
            accepted = [action.option_strings[-1] for action in actions]
            message = str(checks.unknown_name(f"option of {self.prog}:", options[0], accepted))
        else:
            message = f"{self.prog} does not expect {unknown[0]!r}; {self._advice(unknown[0])}"
        self.exit(2, f"error: {message}\n")

    def _advice(self, word: str) -> str:
        """Return what to write in place of a word too many."""
        options = {option for action in self._actions for option in action.option_strings}
        if "--dataset" in options and word in list_corpora():
            return f"a corpus is named with --dataset {word}."
        files = [option for option in ("--train-file", "--file") if option in options]
        if files and Path(word).is_file():
            return f"a file is given with {files[0]} {shlex.quote(word)}."
        takes = [str(action.metavar or action.dest) for action in self._get_positional_actions()]
        if any(name.lower() in _TEXTS for name in takes):
            return "put a text of several words in quotation marks."
        return f"besides options, it takes {' and '.join(takes) or 'nothing'}."


def add_arguments(parser: argparse.ArgumentParser, arguments: Iterable[Argument | Group]) -> model_help.Groups:
    """Add arguments to a parser, and return the options that every model has, by the heading of their group."""
    groups: model_help.Groups = {}
    for item in arguments:
        if isinstance(item, Argument):
            parser.add_argument(*item.names, **item.settings)
            continue
        group = parser.add_argument_group(item.title, item.description)
        actions = [group.add_argument(*option.names, **option.settings) for option in item.arguments]
        if item.is_common:
            groups[f"{item.title}: {item.description}" if item.description else item.title] = actions
    return groups


def _plain(value: Any) -> Any:
    """Return the value of an argument without the marks of words after ``--``."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.removeprefix(_WORD) if isinstance(value, str) else value


def _model_in(args: Sequence[str]) -> str | None:
    """Return the model that a command names, wherever it stands, else the first word, which may be misspelt."""
    first = next((text for text in args[:1] if not text.startswith("-")), None)
    return next((text for text in args if text in zoo.list_models()), first)
