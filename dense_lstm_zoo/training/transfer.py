"""Training that goes on from a trained model: its words, its encoder and, for the same labels, its last layer."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keras
import numpy as np

from dense_lstm_zoo import tasks
from dense_lstm_zoo.bundles import presets
from dense_lstm_zoo.bundles.bundle import Bundle, load
from dense_lstm_zoo.data.carried_words import with_new_rows
from dense_lstm_zoo.layers import AffixEmbedding, CharacterCNN, TiedEmbedding, WordEmbedding, WordScores
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.tasks.options import Options
from dense_lstm_zoo.training.job import Job, Source
from dense_lstm_zoo.training.layer_order import head_layers
from dense_lstm_zoo.training.origin import arguments_of, is_free, origin, set_words
from dense_lstm_zoo.training.overlap import check_overlap

_OF_HEAD = ("crf", "pooled_words")  # arguments that change the last layer


@dataclass(eq=False)
class ModelSource(Source):
    """A trained model of the same name that a run goes on from.

    Args:
        folder: Its folder.
        sha256: The checksum of its manifest, and so of all of its files.
        trained: The model, a bundle.
        arguments: The arguments of the new model, except those that follow from its data.
        options: The options of the new run.
        forced: How many texts of each part it was trained on, if that was accepted.
    """

    folder: Path
    sha256: str
    trained: Bundle
    arguments: dict[str, Any]
    options: Options
    forced: dict[str, int] = field(default_factory=dict)

    def check_overlap(self, job: Job) -> None:
        """Raise ``ValueError`` if the source was trained on texts that the run is scored on."""
        if self.trained.train_texts is None:
            warnings.warn(
                f"{self.folder} does not record the texts it was trained on: whether the dev and test texts are among "
                "them cannot be checked.",
                stacklevel=5,
            )
            return
        forced = bool(self.options.force_overlap)
        self.forced = check_overlap(self.trained.train_texts, self.folder, type(job), job.corpus, forced=forced)

    def give(self, job: Job, model: keras.Model) -> None:
        """Give a new model the weights of the source. Its words have their vectors already."""
        rng = np.random.default_rng(job.options.seed)
        source = self.trained.model
        heads = {layer.name: layer for layer in head_layers(source)}
        own_head = {layer.name for layer in head_layers(model)}
        theirs = {layer.name: layer for layer in registry.network(source).layers}
        for layer in registry.network(model).layers:
            if not layer.weights or layer.name in own_head:
                continue
            if layer.name not in theirs:  # ``pooled_words``, which the source is without
                continue
            other = theirs[layer.name]
            if isinstance(layer, WordEmbedding):
                if layer.name != "embedding":
                    _give_static(layer, other, self.trained, job)
            else:
                grows = isinstance(layer, TiedEmbedding | AffixEmbedding | CharacterCNN)
                _give_rows(layer, other, rng, axis=0 if grows else None)
                if isinstance(layer, TiedEmbedding):
                    _give_new_words(layer, job)
        if self._head_goes_on(job):
            order = [self.trained.labels.index(label) for label in job.labels]
            for layer in head_layers(model):
                if order:
                    _give_labels(layer, heads[layer.name], order)
                else:
                    by_word = isinstance(layer, WordScores)
                    _give_rows(layer, heads[layer.name], rng, axis=0 if by_word else -1)

    def _head_goes_on(self, job: Job) -> bool:
        theirs = self.trained.config["arguments"]
        same_layers = all((self.arguments.get(name) or None) == (theirs.get(name) or None) for name in _OF_HEAD)
        same_layers = same_layers and job.labels_per_text == theirs.get("labels", "one")
        return same_layers and sorted(job.labels) == sorted(self.trained.labels)

    def provenance(self, job: Job) -> dict[str, Any]:
        """Return what the new model's config says about the source, for its ``training``."""
        head = "kept" if self._head_goes_on(job) else "new"
        return {
            "init_from": origin(self.folder, self.sha256, self.trained.config, self.options, job, head, self.forced)
        }


def read_source(
    model: str, task: str, options: Options, own_arguments: Mapping[str, Any], recipe: str | None
) -> Source | None:
    """Read the trained model that a run goes on from, or return None for a run from scratch.

    Args:
        model: The new model's name.
        task: Its task.
        options: The run's options. Gets ``learns_words`` and ``learns_chars``, whether those are ever trained.
        own_arguments: The model arguments that the user set.
        recipe: The name of a recipe, or None.

    Raises:
        ValueError: A source of another model, or arguments for another encoder than its own.
    """
    if options.init_from is None:
        return None
    folder = presets.open_folder(options.init_from)
    config = folder.read_config()
    if config["task"] != task or config["model"] != model:
        job_class: type[Job] = tasks.find(task).job_class
        if (source := job_class.read_other_source(model, folder, config, options, own_arguments, recipe)) is not None:
            return source
        raise ValueError(
            f"{folder} is a {config['model']} for {config['task']}; received {model} for {task}. init_from takes a "
            f"trained model of the same name{job_class.OTHER_SOURCES}."
        )
    arguments = arguments_of(model, folder.path, config["arguments"], own_arguments, recipe)
    set_words(options, folder.path, config, arguments)
    return ModelSource(folder.path, folder.sha256, load(folder), arguments, options)


def check_searched(model: str, names: Collection[str]) -> None:
    """Raise ``ValueError`` if a sweep would search an argument that the source decides."""
    arguments = registry.entry(model).arguments
    fixed = [name for name in names if name in arguments and not is_free(name)]
    if fixed:
        free = ", ".join(sorted(name for name in arguments if is_free(name)))
        raise ValueError(f"init_from decides {', '.join(fixed)}: a sweep cannot search them. It can search: {free}.")


def resolved_path(name: str | Path) -> str:
    """Return a source's name in a form that does not depend on the current folder."""
    return str(presets.locate(name).resolve())


def _give_static(layer: WordEmbedding, other: WordEmbedding, source: Bundle, job: Any) -> None:
    """Give a frozen copy of the initial word vectors the source's. New words have theirs."""
    rows = {word: row for row, word in enumerate(source.vocabulary.words, start=2)}
    matrix, theirs = layer.get_matrix(), other.get_matrix()
    matrix[:2] = theirs[:2]
    for row, word in enumerate(job.words.vocabulary.words, start=2):
        if word in rows:
            matrix[row] = theirs[rows[word]]
    layer.set_matrix(matrix)


def _give_new_words(layer: TiedEmbedding, job: Any) -> None:
    """Give a language model's new words the vectors that were read for them."""
    matrix = np.array(layer.embeddings)
    for row, word in enumerate(job.vocabulary.words):
        if word in job.new_vectors:
            matrix[row] = job.new_vectors[word]
    layer.set_matrix(matrix)


def _give_rows(
    layer: keras.layers.Layer, other: keras.layers.Layer, rng: np.random.Generator, axis: int | None
) -> None:
    """Give a layer another's weights. Along ``axis``, if it is not None, a weight may have more rows."""
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
