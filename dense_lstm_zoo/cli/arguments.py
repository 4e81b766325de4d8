"""Groups of options that the commands share."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

import dense_lstm_zoo as zoo
from dense_lstm_zoo import registry
from dense_lstm_zoo import task as tasks
from dense_lstm_zoo.data import records
from dense_lstm_zoo.measuring.measure import REPEATS, TIMEOUT
from dense_lstm_zoo.options import COMMON, RUNNING, TRANSFER, Option
from dense_lstm_zoo.search import TUNERS

BUNDLE = "the folder that train wrote, a preset's name, hf://owner/name or https://...#sha256=..."


def _literal(text: str) -> Any:
    """Parse 13, 0.5, true and null as JSON; return anything else as a string."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def add_texts(sub: argparse.ArgumentParser, readable: Sequence[str], writable: Sequence[str]) -> None:
    """Add the options of a command that reads texts and writes what a model makes of them."""
    sub.add_argument("bundle", help=BUNDLE)
    sub.add_argument("texts", nargs="*", default=[], help="texts (default: --file, else standard input)")
    sub.add_argument("--file", help="a file of texts: one per line, or a table, depending on its name")
    sub.add_argument(
        "--input-format",
        dest="input_form",
        choices=readable,
        help="format of --file or standard input (default: by the file's name, else text: one text per line)",
    )
    sub.add_argument("--text-column", help="csv, tsv, jsonl: the texts' column (default: as in training, else text)")
    sub.add_argument("--encoding", help="encoding of --file or standard input (default: utf-8)")
    add_output(sub, "write here instead of to standard output")
    columns = "; columns: for taggers, one token per line, as in CoNLL or CoNLL-U" if "columns" in writable else ""
    sub.add_argument(
        "--format",
        dest="form",
        choices=writable,
        help=f"output format (default: by the name of --output, else like the input){columns}",
    )
    sub.add_argument(
        "--prefix",
        help="csv, jsonl: prefix of new columns' names (default: predicted_ if the input has such columns already)",
    )
    sub.add_argument(
        "--raw",
        action="store_true",
        help="csv: do not put an apostrophe before formulas; text: do not escape control characters",
    )


def add_measuring(sub: argparse.ArgumentParser) -> None:
    """Add the options of ``measure``."""
    sub.add_argument(
        "runs", nargs="+", metavar="run", help="folders that train or export wrote, for any task, or presets"
    )
    sub.add_argument(
        "--texts",
        metavar="FILE",
        help="texts like those you will serve, as their length decides the cost of a call: one per line, or a table, "
        "depending on the file's name; the first 2,000 are used (default: sentences of the demo corpus)",
    )
    sub.add_argument(
        "--input-format",
        dest="input_form",
        choices=records.FORMATS,
        help="format of --texts (default: by the file's name, else text: one text per line)",
    )
    sub.add_argument("--text-column", help="csv, tsv, jsonl: the texts' column (default: text)")
    sub.add_argument("--encoding", help="encoding of --texts (default: utf-8)")
    sub.add_argument(
        "--repeats",
        type=int,
        default=REPEATS,
        metavar="N",
        help=f"timed calls at each size, for at most a minute (default: {REPEATS})",
    )
    sub.add_argument(
        "--timeout", type=float, default=TIMEOUT, metavar="S", help=f"stop a run after S seconds (default: {TIMEOUT:g})"
    )
    add_output(sub, "also write the rows to this CSV file, with the date, the versions and the processor")


def add_output(sub: argparse.ArgumentParser, help: str) -> None:
    """Add ``--output`` and ``--overwrite``."""
    sub.add_argument("--output", help=help)
    sub.add_argument("--overwrite", action="store_true", help="replace an existing file")


def add_corpus(sub: argparse.ArgumentParser, *, trains: bool, usual: str | None = None) -> None:
    """Add the options that name a corpus, or files of a user's own and what is where in them.

    Args:
        sub: The parser.
        trains: Whether a model is trained on it, or one that is trained is scored.
        usual: The corpus that is taken where none is named.
    """
    group = sub.add_argument_group("data")
    known = ", ".join(zoo.list_corpora())
    default = (
        "the format of --train-file, by its name"
        if trains
        else "the bundle's training corpus; for a file, its format, by its name"
    )
    group.add_argument("--dataset", help=f"one of: {known} (default: {default})")
    default = f"{usual}; with --train-file {default}" if usual else default
    columns = " (default:" if trains else " (default: as in training, else"
    group.add_argument("--train-file", help="your own files: the training texts")
    group.add_argument(
        "--dev-file", help="csv, tsv, jsonl, text: the dev texts (default: a tenth of the training texts)"
    )
    group.add_argument("--test-file", help="your own files: the test texts")
    group.add_argument("--text-column", help=f"csv, tsv, jsonl: the texts' column{columns} text)")
    group.add_argument("--label-column", help=f"csv, tsv, jsonl: the labels' column{columns} label)")
    group.add_argument("--token-column", type=int, help=f"columns: the tokens' column, from 0{columns} 0)")
    group.add_argument("--tag-column", type=int, help=f"columns: the tags' column{columns} -1, the last)")
    group.add_argument("--encoding", help="your own files: their encoding (default: utf-8)")


def add_training(sub: argparse.ArgumentParser) -> None:
    """Add the options of ``train``."""
    sub.add_argument("model", help="a model's name; see dense-lstm-zoo list")
    sub.add_argument("--run-dir", required=True, help="the folder to write the bundle to")
    sub.add_argument("--seed", type=int, help="default: 1")
    sub.add_argument(
        "--seeds", type=int, metavar="N", help="do N runs, with seeds SEED, SEED + 1, ..., and report mean and spread"
    )
    sub.add_argument("--folds", type=int, metavar="K", help="cross-validate with K folds of the training texts")
    sub.add_argument("--only-folds", type=int, nargs="+", metavar="FOLD", help="run only these of the K folds")
    sub.add_argument("--tensorboard", action="store_true", help="also write TensorBoard logs beside the run's folder")
    sub.add_argument("--overwrite", action="store_const", const=True, help="replace an existing run")
    for option in RUNNING:
        _add_option(sub, option)
    _add_settings(sub)


def add_sweep(sub: argparse.ArgumentParser) -> None:
    """Add the options of ``tune``."""
    sub.add_argument("model", help="a model's name; see dense-lstm-zoo list")
    sub.add_argument("--run-dir", required=True, help="the folder of the sweep; repeating the command resumes it")
    sub.add_argument("--tuner", choices=TUNERS, help="search strategy (default: random)")
    sub.add_argument(
        "--search",
        nargs="+",
        metavar="NAME=VALUES",
        help="units=50:300:log, dropout=0.2:0.6:0.1 or pooling=mean,max (default: the task's usual search space)",
    )
    sub.add_argument("--trials", type=int, help="maximum number of trials (default: 20; for a grid, all)")
    sub.add_argument(
        "--budget", metavar="N", help="encoder parameters, such as 1.44M; the width is derived from the depth"
    )
    sub.add_argument("--seeds", type=int, metavar="N", help="runs per trial (default: 1)")
    sub.add_argument("--folds", type=int, metavar="K", help="score by cross-validation on the training texts")
    sub.add_argument("--seed", type=int, help="seed of the search (default: 1)")
    sub.add_argument("--keep", type=int, metavar="K", help="keep the bundles of the best K trials (default: 1)")
    sub.add_argument("--workers", type=int, metavar="N", help="number of trials at a time on this machine (default: 1)")
    group = sub.add_argument_group("several machines", "all share the folder of the sweep and use the same options")
    group.add_argument("--role", choices=("chief", "worker"), help="keep the oracle, or run its trials")
    group.add_argument(
        "--oracle",
        metavar="[HOST:]PORT",
        help="the chief's address; without HOST, this machine only; a worker waits 300 s for it",
    )
    group.add_argument(
        "--worker-id", help="kept after a restart (default: an Indexed Job's or a Slurm array's index, or the host)"
    )
    group.add_argument(
        "--silence", type=float, metavar="S", help="reassign a silent worker's trial after S seconds (default: 300)"
    )
    _add_settings(sub)


def _add_option(sub: Any, option: Option) -> None:
    name = f"--{option.name.replace('_', '-')}"
    if option.kind is bool:
        sub.add_argument(name, action="store_const", const=True, help=f"{option.help} (default: {option.told_default})")
        return
    sub.add_argument(
        name,
        type=option.parse if option.kind is dict else option.kind,
        choices=(option.choices or None) if option.kind is str else None,
        metavar=option.metavar or (None if option.kind is str else "N" if option.kind is int else "X"),
        help=f"{option.help} (default: {option.told_default})",
    )


def _add_settings(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--recipe", help="a published result's settings, such as ding2018 (see describe)")
    for option in COMMON:
        _add_option(sub, option)
    sub.add_argument("--quiet", dest="progress", action="store_false", help="print nothing")
    add_corpus(sub, trains=True)
    group = sub.add_argument_group("transfer", "training that goes on from a trained model")
    for option in TRANSFER:
        _add_option(group, option)
    groups: dict[str, Any] = {}
    for option in tasks.every_option().values():
        titles = [task.title for task in tasks.every() if option in task.options]
        if titles:
            title = " and ".join(titles)
            groups[title] = groups.get(title) or sub.add_argument_group(f"for {title}")
            _add_option(groups[title], option)
    group = sub.add_argument_group(
        "model arguments", "numbers, true, false, null or names; describe lists a model's arguments"
    )
    taken = {name for model in zoo.list_models() for name in registry.entry(model).arguments} - set(registry.FROM_DATA)
    for name in sorted(taken):
        group.add_argument(f"--{name.replace('_', '-')}", type=_literal, metavar="VALUE", default=argparse.SUPPRESS)
