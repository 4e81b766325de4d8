"""The arguments, the vectors for new words and the record that a run takes from the model it starts from."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dense_lstm_zoo.data import word_source, word_table
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.tasks.options import Options
from dense_lstm_zoo.tasks.recipes import recipe_arguments
from dense_lstm_zoo.training.job import Job

# Arguments that change how a model is trained or its last layer, but not what its encoder computes.
# fmt: off
_FREE = frozenset((
    "average", "clip_norm", "crf", "dropout_sharing", "dtype", "embedding_learning_rate", "forget_bias",
    "gate_bias", "init_range", "kernel", "l2", "learning_rate", "optimizer", "pooled_words", "pooling_l2",
    "recurrent_initializer", "remat", "softmax_max_norm", "stop_gradient", "trainable_embeddings",
    "unit_forget_bias", "variational_dropout", "weight_decay",
))
# fmt: on


def arguments_of(
    model: str, folder: Path, theirs: Mapping[str, Any], own: Mapping[str, Any], recipe: str | None
) -> dict[str, Any]:
    """Return the arguments of a new model: its source's, with those that were given.

    Args:
        model: The new model's name.
        folder: The source's folder, for the error.
        theirs: The arguments that the source decides, or suggests.
        own: Those that the user set.
        recipe: The name of a recipe, or None.

    Raises:
        ValueError: Arguments for another encoder than the source's.
    """
    settings = {**(recipe_arguments(recipe, model) if recipe else {}), **own}
    other = {
        name: value
        for name, value in settings.items()
        if not is_free(name) and name in theirs and _plain(theirs[name]) != _plain(value)
    }
    if other:
        ours = ", ".join(f"{name}={value!r}" for name, value in other.items())
        source_values = ", ".join(f"{name}={theirs[name]!r}" for name in other)
        raise ValueError(
            f"{folder} has an encoder of another width or kind: {source_values}; received {ours}. Leave these out, and "
            "the source's are used."
        )
    accepted = registry.entry(model).arguments
    inherited = {
        name: value
        for name, value in theirs.items()
        if name in accepted
        and name not in (*registry.FROM_DATA, "kernel")  # which kernel runs is this machine's choice
    }
    return registry.resolve(model, {**inherited, **settings}, complete=False)


def set_words(options: Options, folder: Path, config: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Set the options of a run that say what becomes of words, from its source's config and its own arguments."""
    ever = options.freeze is None or options.unfreeze_after is not None
    options.learns_words = ever and arguments.get("trainable_embeddings", True)
    options.learns_chars = ever or options.freeze != "encoder"
    source_vectors = vectors_of(config)
    if hasattr(options, "vectors"):
        options.vectors = _vectors_for(options.vectors, config)
    vectors = getattr(options, "vectors", None)
    if vectors is not None and Path(vectors).name != source_vectors:
        warnings.warn(
            f"{folder} was trained with the vectors {source_vectors or 'none'}, not {Path(vectors).name}: new words "
            "get vectors of another kind than the words it knows.",
            stacklevel=6,
        )


def origin(
    folder: Path,
    sha256: str,
    config: Mapping[str, Any],
    options: Options,
    job: Job,
    head: str,
    overlap: Mapping[str, int],
) -> dict[str, Any]:
    """Return what a new model's config says about its source, which has this config, and about how it is trained."""
    parent, vectors = config["training"].get("init_from"), vectors_of(config)
    layer_options = {name: getattr(options, name) for name in ("unfreeze", "layer_decay")}
    return {
        "name": folder.resolve().name,
        "model": config["model"],
        "dataset": config["training"]["dataset"],
        "sha256": sha256,
        "freeze": options.freeze,
        "unfreeze_after": options.unfreeze_after,
        **{name: value for name, value in layer_options.items() if value is not None},
        "head": head,
        "new_words": job.new_words,
        **({"vectors": vectors} if vectors else {}),
        **({"overlap": dict(overlap)} if overlap else {}),
        **({"init_from": parent} if parent else {}),
    }


def _vectors_for(vectors: str | None, config: Mapping[str, Any]) -> str | None:
    """Return the vectors for new words: as asked, else the table that the source's words come from, if installed."""
    if vectors is not None:
        return None if vectors == word_source.NONE else vectors
    name = vectors_of(config)
    table = word_source.table(name) if name in word_table.installed_tables() else None
    return name if table and config["training"].get("vectors_sha256", table.sha256) == table.sha256 else None


def vectors_of(config: Mapping[str, Any]) -> str | None:
    """Return the file of vectors that a model's words started from, itself or in the models it comes from."""
    training = config["training"]
    vectors = training.get("vectors") or training.get("init_from", {}).get("vectors")
    return None if vectors is None else str(vectors)


def is_free(name: str) -> bool:
    """Return whether an argument may differ from the source's."""
    return name in _FREE or name.endswith("dropout")


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple | list) else value
