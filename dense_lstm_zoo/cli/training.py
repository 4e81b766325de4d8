"""The commands train and tune: everything that can be checked is, before TensorFlow is imported."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import dense_lstm_zoo as zoo
from dense_lstm_zoo import tasks
from dense_lstm_zoo.cli import few_texts
from dense_lstm_zoo.corpora import forms as datasets
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.tasks import recipes
from dense_lstm_zoo.training import request, run_file

_PROTOCOL = ("seeds", "folds", "only_folds")
# Any sizes of data: a factory checks its other arguments whatever they are.
_SIZES = {"vocab_size": 1000, "num_classes": 2, "num_tags": 2, "num_chars": 100}


def prepared(model: str | None, config: str | None, options: Mapping[str, Any]) -> tuple[str, Any, dict[str, Any]]:
    """Return the model, the corpus and the options of a run, all of them checked.

    Args:
        model: The model's name; None takes that of ``config``.
        config: A file such as ``run.toml``, or None; options take precedence.
        options: Those of the command line; None where there is none.

    Raises:
        ValueError: Something is missing or wrong; the message says what is accepted.
        OSError: A file that is missing, or a folder that cannot be written.
    """
    found = _with_config(run_file.read(config), options) if config is not None else dict(options)
    _check_folds(found.get("folds"), options)
    named = found.pop("model", None)
    model = named if model is None else model
    if model is None:
        raise ValueError(
            "Name a model, such as dc_bilstm (dense-lstm-zoo list names all), or a run.toml with --config."
        )
    entry = registry.entry(model)  # reports a misspelt model before anything else
    data = {name: found.pop(name, None) for name in run_file.DATA}
    # None is a value of a model's argument, but stands for an option that was not given.
    found = {name: value for name, value in found.items() if value is not None or name in entry.arguments}
    if "run_dir" not in found:
        raise ValueError("Name the folder to write with --run-dir, such as --run-dir runs/mine.")
    _check(model, found)
    name, options = datasets.resolve(data.pop("dataset"), data, entry.task)
    return model, zoo.load_corpus(name, entry.task, **options), found


def _with_config(config: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with those of a file where the command line has none; a corpus is taken whole."""
    own_data = any(options.get(name) is not None for name in run_file.DATA if name == "dataset" or "file" in name)
    rest = {name: value for name, value in config.items() if not (own_data and name in run_file.DATA)}
    given = {name: value for name, value in options.items() if value is not None or name not in rest}
    return {**rest, **given}


def _check_folds(folds: int | None, given: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` for files that a cross-validation would not read."""
    unread = [name for name in ("dev_file", "test_file") if given.get(name) is not None]
    if folds is not None and unread:
        raise ValueError(
            f"--folds {folds} divides the training texts and reads no other file; received "
            f"{datasets.as_option(unread[0])} {given[unread[0]]}. Leave one of the two out."
        )


def _check(model: str, options: Mapping[str, Any]) -> None:
    """Raise for what ``train`` would refuse, without importing TensorFlow."""
    arguments = {name: value for name, value in options.items() if name not in (*_PROTOCOL, "progress")}
    several = bool(options.keys() & set(_PROTOCOL))
    if several:  # its folder may hold finished runs
        arguments = {**arguments, "run_dir": files.resolved(arguments["run_dir"]) / ".new"}
    own = ("run_dir", "recipe", "seed", "tensorboard", "overwrite")
    rest = {name: value for name, value in arguments.items() if name not in own}
    checked = request.check(
        model, arguments["run_dir"], rest, **{name: arguments[name] for name in own[1:] if name in arguments}
    )
    if checked.options.init_from is None:
        check_arguments(model, registry.resolve(model, checked.arguments, checked.recipe, complete=False))


def check_arguments(model: str, arguments: Mapping[str, Any]) -> None:
    """Let a model's factory check its arguments, which it does before it imports Keras.

    Nothing if Keras is imported already: then the factory would build the model.
    """
    if "keras" in sys.modules:
        return
    sizes = {name: size for name, size in _SIZES.items() if name in registry.entry(model).arguments}
    with few_texts.hidden(("keras",)):
        try:
            registry.entry(model).factory(**{**arguments, **sizes})
        except ImportError:  # of Keras: no check has failed
            return


def check_sweep(model: str, dataset: str | None, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the corpus's name and the options of its files for a sweep, after checking the request."""
    _check_folds(options.get("folds"), options)
    task, recipe = tasks.find(registry.entry(model).task), recipes.named(options.get("recipe"))
    every = {name for other in zoo.list_models() for name in registry.entry(other).arguments}
    arguments = {name: value for name, value in options.items() if name in every}
    check_arguments(model, registry.resolve(model, arguments, recipe, complete=False))
    tasks.check_options(options)
    given = {name: options.get(name) for name in run_file.DATA if name != "dataset"}
    return datasets.resolve(dataset, given, task.name)
