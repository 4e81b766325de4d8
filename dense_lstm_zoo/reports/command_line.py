"""The command that trains a bundle again, from the bundle's config."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from dense_lstm_zoo import tasks
from dense_lstm_zoo.corpora.dataset import as_option, fold_of
from dense_lstm_zoo.data import word_source
from dense_lstm_zoo.data.endings import ENDINGS, ending
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.tasks.recipes import NONE, get_recipe

_TRANSFER = ("freeze", "unfreeze_after", "unfreeze", "layer_decay")
# Told apart, or not recorded.
_ELSEWHERE = ("vectors", "vector_words", "context", "init_from", "force_overlap", *_TRANSFER)


def of(config: Mapping[str, Any]) -> str:
    """Return the command of a run, or an empty string for a model, task or recipe that this version does not know.

    Files are named without their folders, a corpus that was made in Python as ``YOUR_FILE``, and soft labels that were
    as ``YOUR_SOFT_LABELS``.
    """
    try:
        return shlex.join(["dense-lstm-zoo", "train", *_words(config)])
    except (ValueError, TypeError, KeyError, AttributeError):
        return ""


def _words(config: Mapping[str, Any]) -> Iterator[str]:
    model, training = config["model"], config["training"]
    task, recipe = tasks.find(config["task"]), training["recipe"]
    yield model
    if training["dataset"] in task.sources:
        yield from ("--dataset", training["dataset"])
        soft_labels = {"train_file": "YOUR_SOFT_LABELS"} if training.get("taught_by") else {}
        yield from options_of({**soft_labels, **training.get("files", {})})
    else:
        own_files = {"train_file": "YOUR_FILE", **training.get("files", {})}
        if "files" in training and ENDINGS.get(ending(own_files["train_file"])) != training["dataset"]:
            yield from ("--dataset", training["dataset"])  # the name of the file does not show its format
        yield from options_of(own_files)
    if fold := fold_of(training):
        yield from ("--folds", str(fold[1]), "--only-folds", str(fold[0]))
    origin = training.get("init_from")
    has_vectors = any(option.name == "vectors" for option in task.all_options) and not origin
    if recipe is not None or has_vectors:  # with word vectors, a recipe would be chosen
        yield from ("--recipe", recipe or NONE)
    yield from ("--seed", str(training["seed"]))
    if origin:
        yield from ("--init-from", origin["name"])
        yield from options_of({name: origin[name] for name in _TRANSFER if origin.get(name) is not None})
    if has_vectors:
        yield from ("--vectors", training.get("vectors") or word_source.NONE)
    if training.get("context") and not origin:
        yield from ("--context", training["context"]["name"])
    usual = task.resolve({}, seed=0, recipe=get_recipe(recipe) if recipe else None)
    own = [option.name for option in task.all_options if option.name not in _ELSEWHERE]
    yield from options_of({x: training[x] for x in own if x in training and training[x] != getattr(usual, x)})
    most = config.get("text", {}).get("max_tokens")
    yield from options_of({**training.get("columns", {}), **({} if most is None else {"max_tokens": most})})
    if not origin:  # else the source's
        yield from options_of(_arguments(model, recipe, config["arguments"], bool(training.get("vectors"))))
    yield from ("--run-dir", "runs/mine")


def _arguments(model: str, recipe: str | None, arguments: Mapping[str, Any], has_vectors: bool) -> dict[str, Any]:
    """Return the model's arguments that differ from the recipe's and do not follow from the data."""
    usual = registry.resolve(model, {}, recipe, complete=False)
    derived = {*registry.FROM_DATA, *(["embedding_dim"] if has_vectors else [])}
    changed = {name: _plain(value) for name, value in arguments.items() if name not in derived}
    return {name: value for name, value in changed.items() if name not in usual or _plain(usual[name]) != value}


def options_of(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words of options with these values."""
    for name, value in sorted(values.items()):
        yield as_option(name)
        if name == "label_columns":  # a word for each
            yield from value
            continue
        if value is not True or name not in {*tasks.every_option(), "skip_empty"}:  # a switch takes no value
            word = value if isinstance(value, str) else json.dumps(value)
            yield word.replace("\t", "\\t")  # as a separator is written


def _plain(value: object) -> Any:
    """Return a value as JSON reads it."""
    return json.loads(json.dumps(value))
