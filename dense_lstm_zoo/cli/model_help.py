"""The help of train, self-train and tune, for every model or for one. Each option is one line."""

from __future__ import annotations

import argparse
import inspect
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence

import dense_lstm_zoo as zoo
from dense_lstm_zoo import tasks
from dense_lstm_zoo.corpora.dataset import as_option
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.models.docstrings import first_sentence
from dense_lstm_zoo.models.registry import REQUIRED
from dense_lstm_zoo.tasks import Task

Groups = dict[str, list[argparse.Action]]  # options by the heading of their group
_WIDTHS = range(60, 121)  # columns
_FLAGS = 33  # columns of the longest option with its value
_ROUNDS = "self-training"  # the heading of options that a command has on the page of a model too
_SCHEDULE = ("epochs", "patience", "batch_size")  # of the options of every model, those with a default of the task's
# (what is typed, what it does, its default)
Line = tuple[str, str, str]
_NONE = re.compile(r"\bNone\b")  # null on the command line
_VALUES = {"int": "N", "float": "X", "bool": "true|false", "str": "NAME", "Sequence[int]": "[N,...]"}


def metavar_of(parameter: inspect.Parameter) -> str:
    """Return the placeholder for the value of a model's argument."""
    annotation = str(parameter.annotation).removesuffix(" | None")
    return _VALUES.get(annotation, "VALUE")


def page(command: str, actions: Sequence[argparse.Action], groups: Groups, example: str, model: str | None) -> str:
    """Return the help of a command.

    Args:
        command: ``train``, ``self-train`` or ``tune``.
        actions: All its arguments.
        groups: The options that are the same for every model.
        example: A command.
        model: A registered model, or None for the options of every model.

    Raises:
        ValueError: An unknown model, with near matches.
    """
    start = f"{usage(command, model or 'MODEL', actions)}\n\n"
    if model is None:
        return _for_every_model(start, command, groups, example)
    own = [action.dest for action in groups.get(_ROUNDS, ())]
    return _for_model(start, command, {action.dest: _line(action) for action in actions}, model, own)


def usage(command: str, model: str, actions: Sequence[argparse.Action]) -> str:
    """Return the line of usage, with the options that are required."""
    required = [_line(action)[0] for action in actions if action.option_strings and action.required]
    needs = " ".join([*(text for text in required if not text.startswith("--run-dir")), "--run-dir FOLDER"])
    return f"usage: dense-lstm-zoo {command} {model} (--dataset NAME | --train-file FILE) {needs} [options]"


def _for_every_model(start: str, command: str, groups: Groups, example: str) -> str:
    """Return the help of a command without a model."""
    head = (
        f"{start}"
        f"dense-lstm-zoo {command} MODEL --help shows the options of a model, such as dc_bilstm; "
        "dense-lstm-zoo list names them.\nThe options of every model:"
    )
    lines = {heading: [_line(action) for action in actions] for heading, actions in groups.items()}
    return _page(head, lines, f"Example: dense-lstm-zoo {example}")


def _for_model(start: str, command: str, lines: Mapping[str, Line], model: str, rounds: Sequence[str]) -> str:
    """Return the help of a command for one model: its arguments, its task's options and what every run needs."""
    entry = registry.entry(model)
    task = tasks.find(entry.task)
    arguments = [
        (
            f"{as_option(name)} {metavar_of(parameter)}",
            _NONE.sub("null", first_sentence(entry.texts.get(name, ""))),
            _typed(parameter.default),
        )
        for name, parameter in entry.parameters.items()
        if name not in registry.FROM_DATA
    ]
    groups = {
        "data": [
            ("--dataset NAME", f"{', '.join(task.sources)}; or a file or folder of your own", ""),
            ("--train-file FILE", f"your own texts ({', '.join(task.own_files)}) in place of --dataset", ""),
        ],
        "model": arguments,
        "training": [*_training(task, model, lines), *(lines[option.name] for option in task.options)],
        _ROUNDS: [lines[name] for name in rounds],
        "saving": [lines[name] for name in ("run_dir", "overwrite") if name in lines and name not in rounds],
    }
    head = f"{start}{entry.summary}"
    end = f"Defaults are in brackets. dense-lstm-zoo {command} --help shows the options that every model has."
    return _page(head, groups, end)


def options_of_others(model: str) -> set[str]:
    """Return the names of the options that a model does not have: other tasks' options, other models' arguments."""
    task, options = tasks.find(registry.entry(model).task), tasks.every_option()
    own = {option.name for option in task.all_options} | set(registry.entry(model).arguments)
    arguments = {name for other in zoo.list_models() for name in registry.entry(other).arguments}
    return (arguments | set(options)) - own


def _training(task: Task, model: str, lines: Mapping[str, Line]) -> Iterable[Line]:
    names = ", ".join(zoo.list_recipes(model=model)) or "none for this model"
    yield lines["recipe"][0], f"a published result's settings: {names}; none takes the model's own", ""
    for name in _SCHEDULE:
        typed, help, _ = lines[name]
        yield typed, help, "by the number of texts" if task.schedule else _typed(getattr(task.defaults, name))
    yield lines["seed"]


def _line(action: argparse.Action) -> Line:
    help, _, default = (action.help or "").rpartition(" (default: ")
    help, default = (help, default.removesuffix(")")) if help else (default, "")
    choices = f"{{{','.join(map(str, action.choices))}}}" if action.choices else ""
    value = "" if action.nargs == 0 else f" {action.metavar or choices}"
    name = action.option_strings[-1] if action.option_strings else action.dest
    return name + value + (" ..." if action.nargs == "+" else ""), help, default


def _typed(default: object) -> str:
    """Return a default as a user types it."""
    if default is REQUIRED:
        return "required"
    if isinstance(default, bool) or default is None:
        return {True: "true", False: "false", None: "null"}[default]
    if isinstance(default, tuple):
        return ",".join(map(str, default))
    return f"{default:g}" if isinstance(default, float) else str(default)


def _page(head: str, groups: Mapping[str, Sequence[Line]], end: str) -> str:
    width = min(max(shutil.get_terminal_size((110, 24)).columns, _WIDTHS[0]), _WIDTHS[-1])
    lines = [head]
    for heading, options in groups.items():
        lines += ["", f"{heading}:"] if options else []
        lines += [_row(*option, width) for option in options]
    return "\n".join([*lines, "", end, ""])


def _row(typed: str, help: str, default: str, width: int) -> str:
    """Return one line. A text that is too long is shortened, and a default is left out if it would fill the line."""
    start = f"  {typed:<{_FLAGS}} "
    room = max(width - len(start), 20)
    suffix = f" [{default}]" if default and len(default) <= room // 2 else ""
    return (start + _shortened(help, room - len(suffix)) + suffix).rstrip()


def _shortened(text: str, room: int) -> str:
    """Return a text's first words that fit, whole sentences or clauses if they keep half of the room."""
    if len(text) <= room:
        return text
    for mark in (". ", "; ", ",", " "):
        whole = mark in (". ", "; ")
        end = text.rfind(mark, 0, room + 1 if whole else room - 3)
        if end >= room // 2:
            return text[:end] + ("" if whole else " ...")
    return text[: room - 4] + " ..."
