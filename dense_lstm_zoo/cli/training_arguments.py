"""The options of train and tune, from the declarations of the tasks and of the models."""

from __future__ import annotations

import argparse
import inspect

import dense_lstm_zoo as zoo
from dense_lstm_zoo import tasks
from dense_lstm_zoo.cli.arguments import corpus
from dense_lstm_zoo.cli.command import Argument, Group, argument
from dense_lstm_zoo.cli.model_help import metavar_of
from dense_lstm_zoo.corpora.dataset import as_option
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.tasks.options import COMMON, TRANSFER, Option, json_or_text

MODEL = "a model's name; see dense-lstm-zoo list"
QUIET = argument("--quiet", dest="progress", action="store_false", help="print no progress")
_METAVARS: dict[type, str] = {str: "NAME", int: "N", float: "X", dict: "VALUE"}


def from_option(option: Option) -> Argument:
    """Return the argument for an option of ``train``."""
    name, help = as_option(option.name), f"{option.help} (default: {option.default_text})"
    if option.kind is bool and option.default:
        help = f"do not {option.help}"  # the default is to do it
        return argument(f"--no-{option.name}", dest=option.name, action="store_const", const=False, help=help)
    if option.kind is bool:
        return argument(name, action="store_const", const=True, help=help)
    choices = option.choices or None if option.kind is str else None
    metavar = option.metavar or (None if choices else _METAVARS[option.kind])
    kind = option.parse if option.kind is dict else option.kind
    return argument(name, type=kind, choices=choices, metavar=metavar, help=help)


def settings(*own: Argument, seed: str) -> list[Group]:
    """Return the groups that train and tune share: the data, the settings of training, the arguments of all models.

    Args:
        *own: Further options of training.
        seed: The help of ``--seed``.
    """
    recipe = argument(
        "--recipe", metavar="NAME", help="a published result's settings, such as ding2018 (see describe), or none"
    )
    training = (
        recipe,
        *map(from_option, COMMON),
        argument("--seed", type=int, metavar="N", help=f"{seed} (default: 1)"),
        *own,
    )
    return [
        corpus(trains=True),
        Group("training", training),
        Group("transfer", [*map(from_option, TRANSFER)], "fine-tuning a trained model"),
        *_of_tasks(),
        Group("model arguments", [*map(_from_parameter, _parameters().items())], is_common=False),
    ]


def _of_tasks() -> list[Group]:
    """Return the options that not every task has, by the tasks that have them."""
    groups: dict[str, list[Argument]] = {}
    for option in tasks.every_option().values():
        if titles := [task.title for task in tasks.every() if option in task.options]:
            groups.setdefault(f"for {' and '.join(titles)}", []).append(from_option(option))
    return [Group(title, arguments, is_common=False) for title, arguments in groups.items()]


def _parameters() -> dict[str, inspect.Parameter]:
    """Return the arguments of all models, by name, that do not follow from the data."""
    parameters = {name: x for model in zoo.list_models() for name, x in registry.entry(model).parameters.items()}
    return {name: parameters[name] for name in sorted(parameters.keys() - set(registry.FROM_DATA))}


def _from_parameter(item: tuple[str, inspect.Parameter]) -> Argument:
    name, parameter = item
    metavar = metavar_of(parameter)
    return argument(as_option(name), type=json_or_text, metavar=metavar, default=argparse.SUPPRESS)
