"""The command train. Everything that can be checked is, before TensorFlow is imported."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import dense_lstm_zoo as zoo
from dense_lstm_zoo import checks
from dense_lstm_zoo.cli import few_texts
from dense_lstm_zoo.cli.command import Group, argument, command
from dense_lstm_zoo.cli.loading import import_tensorflow
from dense_lstm_zoo.cli.training_arguments import MODEL, QUIET, from_option, settings
from dense_lstm_zoo.corpora.dataset import Dataset, as_option
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.tasks.options import MINUTES, RUNNING
from dense_lstm_zoo.training import effort, request, run_file
from dense_lstm_zoo.training.protocol import chosen_folds

_PROTOCOL = ("seeds", "folds", "only_folds")
_NOT_OF_FOLDS = ("dev_file", "test_file")

_SEVERAL_RUNS = Group(
    "several runs",
    (
        argument(
            "--seeds",
            type=int,
            metavar="N",
            help="do N runs, with seeds SEED, SEED + 1, ..., and report mean and spread",
        ),
        argument("--folds", type=int, metavar="K", help="cross-validate with K folds of the training texts"),
        argument(
            "--only-folds",
            type=int,
            nargs="+",
            action="extend",
            metavar="FOLD",
            help="run only these of the K folds, such as 1 2",
        ),
    ),
)
_SAVING = Group(
    "saving",
    (
        argument("--run-dir", metavar="FOLDER", help="the folder to write the bundle to; required"),
        argument("--config", metavar="FILE", help="repeat a run from its run.toml; options given here take precedence"),
        argument("--overwrite", action="store_const", const=True, help="replace an existing run"),
        argument("--tensorboard", action="store_true", help="also write TensorBoard logs beside the run's folder"),
        *(from_option(option) for option in RUNNING if option is not MINUTES),
        QUIET,
    ),
)


@command(
    "train",
    "Train a model on a corpus and write a bundle: model, vocabulary, scores, learning curve.",
    argument("model", nargs="?", help=f"{MODEL} (default: that of --config or --effort)"),
    *settings(from_option(MINUTES), seed="seed of weights, dropout and batches"),
    _SEVERAL_RUNS,
    _SAVING,
    example="train bilstm --train-file mine.csv --effort quick --run-dir runs/mine",
    by_model=True,
)
def train(model: str | None, config: str | None, **options: Any) -> None:
    """Train one run, or several with ``--seeds`` or ``--folds``."""
    model, corpus, options = prepare(model, config, options)
    import_tensorflow()
    if options.keys() & set(_PROTOCOL):
        zoo.run_protocol(model, corpus, **options)
    else:
        zoo.train(model, corpus, **options)


def prepare(model: str | None, config: str | None, options: Mapping[str, Any]) -> tuple[str, Any, dict[str, Any]]:
    """Return the model, the corpus and the options of a run, all of them checked.

    Args:
        model: The model's name, or None for that of ``config``.
        config: A file such as ``run.toml``, or None. Options take precedence.
        options: Those of the command line, None where there is none.

    Raises:
        ValueError: Something is missing or wrong. The message says what is accepted.
        OSError: A file that is missing, or a folder that cannot be written.
    """
    settings = dict(options) if config is None else _with_config(run_file.read_settings(config), options)
    check_folds(settings, options, config)
    model_of_config = settings.pop("model", None)
    model = model or model_of_config or effort.model_of(settings.get("effort"))
    if model is None:
        raise ValueError(
            "Name a model, such as dc_bilstm (dense-lstm-zoo list names all), or a run.toml with --config."
        )
    entry = registry.entry(model)  # reports a misspelt model before anything else
    data = {name: settings.pop(name, None) for name in run_file.DATA}
    # None is a value of a model's argument, but stands for an option that was not given.
    settings = {name: value for name, value in settings.items() if value is not None or name in entry.arguments}
    if "run_dir" not in settings:
        raise ValueError("Name the folder to write with --run-dir, such as --run-dir runs/mine.")
    _check(model, settings)
    return model, Dataset.resolve(data.pop("dataset"), data, entry.task).load(), settings


def _with_config(config: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with those of a file where the command line has none. A corpus is taken whole."""
    folds = config.get("only_folds")
    if isinstance(folds, list) and len(folds) == 1 and options.get("folds") is None:
        # The file of a fold once named the dev and test files of its corpus, which the fold had not read.
        config = {name: value for name, value in config.items() if name not in _NOT_OF_FOLDS}
    has_data = any(options.get(name) is not None for name in run_file.DATA if name == "dataset" or "file" in name)
    defaults = {name: value for name, value in config.items() if not (has_data and name in run_file.DATA)}
    return {**defaults, **{name: x for name, x in options.items() if x is not None or name not in defaults}}


def check_folds(settings: Mapping[str, Any], options: Mapping[str, Any], config: str | None = None) -> None:
    """Raise ``ValueError`` for files that a cross-validation would not read.

    Args:
        settings: All that is set.
        options: Those of the command line. The others are of ``config``.
        config: A file such as ``run.toml``, or None.
    """

    def described(name: str) -> str:
        if options.get(name) is not None:
            return f"{as_option(name)} {settings[name]}"
        return f"{name} = {settings[name]!r} of {config}"

    unread = next((name for name in _NOT_OF_FOLDS if settings.get(name) is not None), None)
    if settings.get("folds") is not None and unread is not None:
        raise ValueError(
            f"{described('folds')} divides the training texts and reads no other file; received {described(unread)}. "
            "Leave one of the two out."
        )


def _check(model: str, options: Mapping[str, Any]) -> None:
    """Raise for what ``train`` would refuse, without importing TensorFlow."""
    arguments = {name: value for name, value in options.items() if name not in (*_PROTOCOL, "progress")}
    if options.keys() & set(_PROTOCOL):  # its folder may hold finished runs
        arguments["run_dir"] = files.resolved(arguments["run_dir"]) / ".new"
    run_dir = arguments.pop("run_dir")
    own = {name: arguments.pop(name) for name in ("recipe", "seed", "tensorboard", "overwrite") if name in arguments}
    chosen_folds(options.get("folds"), options.get("only_folds"))
    checks.seed(options.get("seed", 1), checks.integer("seeds", options.get("seeds", 1)))
    run = request.check(model, run_dir, arguments, **own)
    if run.options.init_from is None:
        check_arguments(model, registry.resolve(model, run.arguments, run.recipe, complete=False))


def check_arguments(model: str, arguments: Mapping[str, Any]) -> None:
    """Let a model's factory check its arguments, which it does before it imports Keras.

    Do nothing if Keras is imported already, as the factory would build the model.
    """
    if "keras" in sys.modules:
        return
    with few_texts.hidden(("keras",)):
        try:
            registry.entry(model).factory(**{**arguments, **registry.sizes(model)})
        except ImportError:  # of Keras: no check has failed
            return
