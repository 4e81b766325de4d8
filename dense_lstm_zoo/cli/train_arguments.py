"""The options of train and tune: those of every model, of each task, and the arguments of all models."""

from __future__ import annotations

import argparse
import json
from typing import Any

import dense_lstm_zoo as zoo
from dense_lstm_zoo import tasks
from dense_lstm_zoo.cli.arguments import add_corpus
from dense_lstm_zoo.cli.model_help import Groups, metavar_of
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.search import TUNERS
from dense_lstm_zoo.tasks.options import COMMON, RUNNING, TRANSFER, Option

_MODEL = "a model's name; see dense-lstm-zoo list"


def _literal(text: str) -> Any:
    """Parse 13, 0.5, true and null as JSON; return anything else as a string."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def add_training(sub: argparse.ArgumentParser) -> Groups:
    """Add the options of ``train``, and return those of every model in their groups."""
    sub.add_argument("model", nargs="?", help=f"{_MODEL} (default: that of --config)")
    groups = _add_settings(sub)
    runs = sub.add_argument_group("several runs")
    groups["several runs"] = [
        runs.add_argument(
            "--seeds",
            type=int,
            metavar="N",
            help="do N runs, with seeds SEED, SEED + 1, ..., and report mean and spread",
        ),
        runs.add_argument("--folds", type=int, metavar="K", help="cross-validate with K folds of the training texts"),
        runs.add_argument(
            "--only-folds", type=int, nargs="+", metavar="FOLD", help="run only these of the K folds, such as 1 2"
        ),
    ]
    saving = sub.add_argument_group("saving")
    groups["saving"] = [
        saving.add_argument("--run-dir", metavar="FOLDER", help="the folder to write the bundle to; required"),
        saving.add_argument(
            "--config",
            metavar="FILE",
            help="repeat a run from its run.toml; options given here take precedence",
        ),
        saving.add_argument("--overwrite", action="store_const", const=True, help="replace an existing run"),
        saving.add_argument(
            "--tensorboard", action="store_true", help="also write TensorBoard logs beside the run's folder"
        ),
        *(_add_option(saving, option) for option in RUNNING),
        groups["training"].pop(),  # --quiet
    ]
    return groups


def add_sweep(sub: argparse.ArgumentParser) -> Groups:
    """Add the options of ``tune``, and return those of every model in their groups."""
    sub.add_argument("model", help=_MODEL)
    group = sub.add_argument_group("sweep")
    sweep = [
        group.add_argument(
            "--run-dir",
            required=True,
            metavar="FOLDER",
            help="the folder of the sweep, required; repeating the command resumes it",
        ),
        group.add_argument("--tuner", choices=TUNERS, help="search strategy (default: random)"),
        group.add_argument(
            "--space",  # the name in Python
            "--search",
            dest="search",
            nargs="+",
            action="extend",
            metavar="NAME=VALUES",
            help="units=50:300:log, dropout=0.2:0.6:0.1 or pooling=mean,max (default: the task's usual search space)",
        ),
        group.add_argument(
            "--trials", type=int, metavar="N", help="maximum number of trials (default: 20; for a grid, all)"
        ),
        group.add_argument(
            "--budget", metavar="N", help="encoder parameters, such as 1.44M; the width is derived from the depth"
        ),
        group.add_argument("--seeds", type=int, metavar="N", help="runs per trial (default: 1)"),
        group.add_argument(
            "--folds", type=int, metavar="K", help="score by cross-validation on the training texts (default: no)"
        ),
        group.add_argument(
            "--keep", type=int, metavar="K", help="keep the bundles of the best K trials; hyperband of 1 (default: 1)"
        ),
        group.add_argument(
            "--workers", type=int, metavar="N", help="number of trials at a time on this machine (default: 1)"
        ),
    ]
    group = sub.add_argument_group("several machines", "all share the folder of the sweep and use the same options")
    machines = [
        group.add_argument("--role", choices=("chief", "worker"), help="keep the oracle, or run its trials"),
        group.add_argument(
            "--oracle",
            metavar="[HOST:]PORT",
            help="the chief's address; without HOST, this machine only; a worker waits 300 s for it",
        ),
        group.add_argument(
            "--worker-id",
            metavar="ID",
            help="by which a worker that starts again gets its trial back (default: the index in an Indexed Job or a "
            "Slurm array, else another one for each process)",
        ),
        group.add_argument(
            "--silence",
            type=float,
            metavar="S",
            help="reassign a silent worker's trial after S seconds (default: 300)",
        ),
    ]
    seed = "seed of the search; the runs of a trial have the seeds 1, 2, ... (default: 1)"
    return {"sweep": sweep, "several machines": machines, **_add_settings(sub, seed)}


def _add_option(sub: Any, option: Option) -> argparse.Action:
    name, help = f"--{option.name.replace('_', '-')}", f"{option.help} (default: {option.told_default})"
    if option.kind is bool:
        switch: argparse.Action = sub.add_argument(name, action="store_const", const=True, help=help)
        return switch
    usual = {str: "NAME", int: "N", dict: "VALUE"}.get(option.kind, "X")
    choices = option.choices or None if option.kind is str else None
    added: argparse.Action = sub.add_argument(
        name,
        type=option.parse if option.kind is dict else option.kind,
        choices=choices,
        metavar=option.metavar or (None if choices else usual),
        help=help,
    )
    return added


def _add_settings(
    sub: argparse.ArgumentParser, seed: str = "seed of weights, dropout and batches (default: 1)"
) -> Groups:
    """Add what train and tune share: the data, the settings of training, the arguments of all models."""
    data = add_corpus(sub, trains=True)
    group = sub.add_argument_group("training")
    training = [
        group.add_argument(
            "--recipe", metavar="NAME", help="a published result's settings, such as ding2018 (see describe), or none"
        ),
        *(_add_option(group, option) for option in COMMON),
        group.add_argument("--seed", type=int, metavar="N", help=seed),
        group.add_argument("--quiet", dest="progress", action="store_false", help="print nothing"),
    ]
    group = sub.add_argument_group("transfer", "training that goes on from a trained model")
    transfer = [_add_option(group, option) for option in TRANSFER]
    groups: dict[str, Any] = {}
    for option in tasks.every_option().values():
        titles = [task.title for task in tasks.every() if option in task.options]
        if titles:
            title = " and ".join(titles)
            groups[title] = groups.get(title) or sub.add_argument_group(f"for {title}")
            _add_option(groups[title], option)
    group = sub.add_argument_group("model arguments")
    parameters = {
        name: parameter for model in zoo.list_models() for name, parameter in registry.entry(model).parameters.items()
    }
    for name in sorted(parameters.keys() - set(registry.FROM_DATA)):
        metavar = metavar_of(parameters[name])
        group.add_argument(f"--{name.replace('_', '-')}", type=_literal, metavar=metavar, default=argparse.SUPPRESS)
    return {"data": data, "training": training, "transfer: training that goes on from a trained model": transfer}
