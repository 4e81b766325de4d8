"""Training that goes on from a trained model: its words, its encoder and, for the same labels, its last layer."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keras
import numpy as np

from dense_lstm_zoo import bundle_checks, files, manifest, presets, registry
from dense_lstm_zoo.bundle import Bundle, load
from dense_lstm_zoo.data import text_hashes, word_source, word_table
from dense_lstm_zoo.data.carried_words import with_new_rows
from dense_lstm_zoo.job import Job
from dense_lstm_zoo.layers import AffixEmbedding, CharacterCNN, TiedEmbedding, WordEmbedding, WordScores
from dense_lstm_zoo.recipes import recipe_arguments
from dense_lstm_zoo.task import Options
from dense_lstm_zoo.training.freezing import head_layers

# Arguments that change how a model is trained or its last layer, but not what its encoder computes.
# fmt: off
_FREE = frozenset((
    "average", "clip_norm", "crf", "dropout_sharing", "dtype", "embedding_learning_rate", "forget_bias",
    "gate_bias", "init_range", "kernel", "l2", "learning_rate", "optimizer", "pooling_l2",
    "recurrent_initializer", "remat", "softmax_max_norm", "stop_gradient", "trainable_embeddings",
    "unit_forget_bias", "variational_dropout", "weight_decay",
))
# fmt: on


def check_options(options: Options) -> None:
    """Raise ``ValueError`` for options of transfer that need others."""
    for name, needed in {"freeze": "init_from", "force_overlap": "init_from", "unfreeze_after": "freeze"}.items():
        if getattr(options, name) and not getattr(options, needed):
            raise ValueError(f"{name}={getattr(options, name)!r} needs {needed}.")
    if options.unfreeze_after is not None and options.unfreeze_after >= options.epochs:
        raise ValueError(
            f"unfreeze_after must be below epochs={options.epochs}, or nothing is ever trained with the rest; received "
            f"{options.unfreeze_after}."
        )


@dataclass(eq=False)
class Source:
    """A trained model that a run goes on from.

    Args:
        folder: Its folder.
        sha256: The checksum of its manifest, and so of all of its files.
        bundle: The model.
        arguments: The arguments of the new model, except those that follow from its data.
        options: The options of the new run.
        forced: How many texts of each part it was trained on, if that was accepted.
    """

    folder: Path
    sha256: str
    bundle: Bundle
    arguments: dict[str, Any]
    options: Options
    forced: dict[str, int] = field(default_factory=dict)

    def check_overlap(self, job: Job) -> None:
        """Raise ``ValueError`` if the source was trained on texts that the run is scored on."""
        if self.bundle.train_texts is None:
            warnings.warn(
                f"{self.folder} does not record the texts it was trained on: whether the dev and test texts are among "
                "them cannot be checked.",
                stacklevel=5,
            )
            return
        forced = bool(self.options.force_overlap)
        self.forced = check_overlap(self.bundle.train_texts, self.folder, type(job), job.corpus, forced=forced)

    def give(self, job: Job, model: keras.Model) -> None:
        """Give a new model the weights of the source; its words have their vectors already."""
        rng = np.random.default_rng(job.options.seed)
        source = self.bundle.model
        heads = {layer.name: layer for layer in head_layers(source)}
        own_head = {layer.name for layer in head_layers(model)}
        theirs = {layer.name: layer for layer in registry.network(source).layers}
        for layer in registry.network(model).layers:
            if not layer.weights or layer.name in own_head:
                continue
            other = theirs[layer.name]
            if isinstance(layer, WordEmbedding):
                if layer.name != "embedding":
                    _give_static(layer, other, self.bundle, job)
            else:
                grows = isinstance(layer, TiedEmbedding | AffixEmbedding | CharacterCNN)
                _give_rows(layer, other, rng, axis=0 if grows else None)
        if self._head_goes_on(job):
            order = [self.bundle.labels.index(label) for label in job.labels]
            for layer in head_layers(model):
                if order:
                    _give_labels(layer, heads[layer.name], order)
                else:
                    by_word = isinstance(layer, WordScores)
                    _give_rows(layer, heads[layer.name], rng, axis=0 if by_word else -1)

    def _head_goes_on(self, job: Job) -> bool:
        same_layers = self.arguments.get("crf") == self.bundle.config["arguments"].get("crf")
        return same_layers and sorted(job.labels) == sorted(self.bundle.labels)

    def provenance(self, job: Job) -> dict[str, Any]:
        """Return what the new model's config says about the source, for its ``training``."""
        config, options = self.bundle.config, self.options
        parent, vectors = config["training"].get("init_from"), _vectors_of(config)
        origin = {
            "name": self.folder.resolve().name,
            "model": config["model"],
            "dataset": config["training"]["dataset"],
            "sha256": self.sha256,
            "freeze": options.freeze,
            "unfreeze_after": options.unfreeze_after,
            "head": "kept" if self._head_goes_on(job) else "new",
            "new_words": job.new_words,
            **({"vectors": vectors} if vectors else {}),
            **({"overlap": self.forced} if self.forced else {}),
            **({"init_from": parent} if parent else {}),
        }
        return {"init_from": origin}


def read_source(model: str, task: str, options: Options, given: Mapping[str, Any], recipe: str | None) -> Source | None:
    """Read the trained model that a run goes on from, or return None for a run from scratch.

    Args:
        model: The new model's name.
        task: Its task.
        options: The run's options; gets ``learns_words`` and ``learns_chars``, whether those are ever trained.
        given: The model arguments that the user set.
        recipe: The name of a recipe, or None.

    Raises:
        ValueError: A source of another model, or arguments for another encoder than its own.
    """
    check_options(options)
    if options.init_from is None:
        return None
    folder = presets.find(options.init_from)
    manifest.check(folder)
    config = bundle_checks.read_config(folder / "config.json")
    if config["task"] != task or config["model"] != model:
        raise ValueError(
            f"{folder} is a {config['model']} for {config['task']}; received {model} for {task}. init_from takes a "
            "trained model of the same name."
        )
    theirs = registry.saved_arguments(model, config["arguments"])
    asked = {**(recipe_arguments(recipe, model) if recipe else {}), **given}
    other = {
        name: value
        for name, value in asked.items()
        if not _is_free(name) and name in theirs and _plain(theirs[name]) != _plain(value)
    }
    if other:
        received = ", ".join(f"{name}={value!r}" for name, value in other.items())
        found = ", ".join(f"{name}={theirs[name]!r}" for name in other)
        raise ValueError(
            f"{folder} has an encoder of another width or kind: {found}; received {received}. Leave these out, and the "
            "source's are used."
        )
    known = registry.entry(model).arguments
    kept = {
        name: value
        for name, value in theirs.items()
        if name in known and name not in (*registry.FROM_DATA, "kernel")  # which kernel runs is this machine's choice
    }
    arguments = registry.resolve(model, {**kept, **asked}, complete=False)
    ever = options.freeze is None or options.unfreeze_after is not None
    options.learns_words = ever and arguments.get("trainable_embeddings", True)
    options.learns_chars = ever or options.freeze != "encoder"
    used = _vectors_of(config)
    if hasattr(options, "vectors"):
        options.vectors = _vectors_for(options.vectors, config)
    vectors = getattr(options, "vectors", None)
    if vectors is not None and Path(vectors).name != used:
        warnings.warn(
            f"{folder} was trained with the vectors {used or 'none'}, not {Path(vectors).name}: new words get vectors "
            "of another kind than the words it knows.",
            stacklevel=5,
        )
    return Source(folder, files.sha256(folder / "manifest.json"), load(folder), arguments, options)


def _vectors_for(asked: str | None, config: Mapping[str, Any]) -> str | None:
    """Return the vectors for new words: as asked, else the table that the source's words come from, if installed."""
    if asked is not None:
        return None if asked == word_source.NONE else asked
    name = _vectors_of(config)
    table = word_source.table(name) if name in word_table.installed_tables() else None
    return name if table and config["training"].get("vectors_sha256", table.sha256) == table.sha256 else None


def _vectors_of(config: Mapping[str, Any]) -> str | None:
    """Return the file of vectors that a model's words started from, itself or in the models it comes from."""
    training = config["training"]
    found = training.get("vectors") or training.get("init_from", {}).get("vectors")
    return None if found is None else str(found)


def _is_free(name: str) -> bool:
    return name in _FREE or name.endswith("dropout")


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple | list) else value


def check_overlap(
    hashes: np.ndarray, source: str | Path, job_class: type[Job], corpus: Any, *, forced: bool = False
) -> dict[str, int]:
    """Check that a trained model has not seen a corpus's dev and test texts; return how many it has seen, if any.

    Raises:
        ValueError: It was trained on ten of them, or on 1 %, and that is not ``forced``.
    """
    found = {}
    for part in ("test", "dev"):
        if getattr(corpus, part) is not None:
            seen = text_hashes.overlap(hashes, job_class.token_rows(getattr(corpus, part)))
            if seen.is_too_much and not forced:
                raise ValueError(
                    f"{source} was trained on {part} texts of {corpus.name}: {seen}. Scores on them would say nothing "
                    "about new texts. Choose another source or corpus, or accept it with force_overlap=True "
                    "(--force-overlap), which the model's card will say."
                )
            if seen.is_too_much:
                found[part] = seen.count
    return found


def check_test_texts(job_class: type[Job], options: Mapping[str, Any], corpus: Any) -> None:
    """Check a corpus that is scored after training, apart from it; without ``init_from`` nothing is checked."""
    if options.get("init_from") is None:
        return
    folder = presets.find(options["init_from"])
    if text_hashes.FILE in manifest.listed(folder):
        hashes = text_hashes.read_hashes(folder / text_hashes.FILE)
        check_overlap(hashes, folder, job_class, corpus, forced=bool(options.get("force_overlap")))


def training_texts(job: Job, seen: np.ndarray | None) -> np.ndarray:
    """Return the hashes of all texts that a model was trained on; ``seen`` are those of its source."""
    hashes = text_hashes.hash_texts(job.token_rows(job.corpus.train))
    return hashes if seen is None else np.union1d(hashes, seen)


def check_searched(model: str, names: Collection[str]) -> None:
    """Raise ``ValueError`` if a sweep would search an argument that the source decides."""
    known = registry.entry(model).arguments
    fixed = [name for name in names if name in known and not _is_free(name)]
    if fixed:
        free = ", ".join(sorted(name for name in known if _is_free(name)))
        raise ValueError(f"init_from decides {', '.join(fixed)}: a sweep cannot search them. It can search: {free}.")


def resolved_path(name: str | Path) -> str:
    """Return a source's name in a form that does not depend on the current folder."""
    return str(presets.find(name).resolve())


def _give_static(layer: WordEmbedding, other: WordEmbedding, source: Bundle, job: Any) -> None:
    """Give a frozen copy of the initial word vectors the source's; new words have theirs."""
    rows = {word: row for row, word in enumerate(source.vocabulary.words, start=2)}
    matrix, theirs = layer.get_matrix(), other.get_matrix()
    matrix[:2] = theirs[:2]
    for row, word in enumerate(job.words.vocabulary.words, start=2):
        if word in rows:
            matrix[row] = theirs[rows[word]]
    layer.set_matrix(matrix)


def _give_rows(
    layer: keras.layers.Layer, other: keras.layers.Layer, rng: np.random.Generator, axis: int | None
) -> None:
    """Give a layer another's weights; along ``axis``, if it is not None, a weight may have more rows."""
    for variable, theirs in zip(layer.weights, other.weights, strict=True):
        value = keras.ops.convert_to_numpy(theirs)
        if axis is not None and variable.shape[axis] > value.shape[axis]:
            value = with_new_rows(value, variable.shape[axis] - value.shape[axis], rng, axis)
        variable.assign(value)


def _give_labels(layer: keras.layers.Layer, other: keras.layers.Layer, order: list[int]) -> None:
    """Give a layer another's weights with the labels in another order."""
    for variable, theirs in zip(layer.weights, other.weights, strict=True):
        value = keras.ops.convert_to_numpy(theirs)
        value = value[..., order]
        square = variable.name == "transitions"  # from each tag to each
        variable.assign(value[order] if square else value)
