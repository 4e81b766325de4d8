"""Preparation of a training run: the data is read and the model built, but nothing is written yet."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import machine
from dense_lstm_zoo.backend import check_tensorflow
from dense_lstm_zoo.data import word_source
from dense_lstm_zoo.data.words import UncoveredError
from dense_lstm_zoo.display import notes
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.storage.snapshots import Target
from dense_lstm_zoo.tasks import Task
from dense_lstm_zoo.tasks.options import COMMON, RANDOM_WORDS
from dense_lstm_zoo.training import run_file
from dense_lstm_zoo.training.request import Request

if TYPE_CHECKING:
    import keras
    import numpy as np

    from dense_lstm_zoo.corpora.corpus import AnyCorpus
    from dense_lstm_zoo.corpora.dataset import Dataset
    from dense_lstm_zoo.corpora.loader import AnyDataset
    from dense_lstm_zoo.training.callbacks import TimeLimit
    from dense_lstm_zoo.training.freezing import Freeze
    from dense_lstm_zoo.training.job import Job, Source


@dataclass(eq=False)
class Run:
    """A training run that is ready to begin."""

    task: Task
    job: Job
    model: keras.Model
    config: dict[str, Any]
    target: Target
    overwrite: bool
    log_dir: Path | None
    progress: bool
    source_hashes: np.ndarray | None  # hashes of the texts that its source was trained on
    freeze: Freeze | None  # what is not trained at first, or at all
    origin: Dataset | None  # what the corpus was loaded from
    repeat: str  # the text of run.toml
    train_hashes: np.ndarray | None  # those of its own training texts, if the texts are single ones
    cautions: Mapping[str, str]  # sentences about the data, by their names in the metrics
    callbacks: Sequence[keras.callbacks.Callback] = ()
    limit: TimeLimit | None = None

    def say(self, text: str) -> None:
        """Print a line, if progress is wanted."""
        if self.progress:
            notes.show(text)


def prepare(request: Request, dataset: AnyDataset, progress: bool) -> Run:
    """Read the data and build the model of a request that has been checked.

    Args:
        request: What ``check`` returned.
        dataset: A corpus's name, a file or folder of one's own, tables in memory, or a corpus.
        progress: Whether to print progress.

    Raises:
        ValueError, FileNotFoundError: As ``train`` does.
    """
    name, task, arguments, seed = request.model, request.task, request.arguments, request.seed
    check_tensorflow("Trainings by zoo.train")

    from dense_lstm_zoo.bundles import text_hashes
    from dense_lstm_zoo.bundles.checks import check_arguments
    from dense_lstm_zoo.corpora.loader import as_corpus
    from dense_lstm_zoo.training import transfer
    from dense_lstm_zoo.training.allocator import keep_freed_memory
    from dense_lstm_zoo.training.freezing import train_by_layers
    from dense_lstm_zoo.training.overlap import repeated_texts

    if request.options.init_from is None and getattr(request.options, "vectors", None) in (None, word_source.NONE):
        settings = registry.resolve(name, arguments, request.recipe, complete=False)
        if settings.get("trainable_embeddings") is False:
            warnings.warn(
                f"{RANDOM_WORDS} trainable_embeddings=True (--trainable-embeddings true) trains them.",
                stacklevel=3,
            )
    if arguments and request.options.init_from is None and _reads_files(request, dataset):
        registry.check_arguments(name, arguments, request.recipe)  # now, and not after the files are read
    corpus = as_corpus(dataset, task.name)
    task.job_class.check_corpus(corpus)
    request = request.for_corpus(corpus)
    source = transfer.read_source(name, task.name, request.options, arguments, request.recipe)

    import keras

    keras.utils.set_random_seed(seed)
    keep_freed_memory()
    request, job = _covered(request, corpus, source)
    options, recipe = request.options, request.recipe
    model_arguments = source.arguments if source else registry.resolve(name, arguments, recipe, complete=False)
    if source:
        source.check_overlap(job)
    say = notes.show if progress else lambda *_: None
    if request.notice:
        say(request.notice)
    say(job.summary())
    cautions = job.cautions()
    hashes = None if task.predicts_words else text_hashes.hash_texts(job.token_rows(job.corpus.train))
    if hashes is not None:
        cautions |= repeated_texts(job, hashes)
    for sentence in cautions.values():
        say(f"warning: {sentence}")
    model_arguments |= job.model_arguments(arguments)
    if job.is_unspaced and not model_arguments.get("char_filters"):
        _warn_unspaced("char_filters" in registry.entry(name).arguments)
    accepted = registry.entry(name).arguments
    weights = {argument: value for argument, value in job.weights().items() if argument in accepted}
    model_arguments = {argument: value for argument, value in model_arguments.items() if argument not in weights}
    if model_arguments.get("dtype") == "mixed_bfloat16" and _lacks_bfloat16():
        warnings.warn(
            "dtype='mixed_bfloat16' saves no time on this processor, which has no instructions for it: the model "
            "trains in float32.",
            stacklevel=3,
        )
        model_arguments["dtype"] = "float32"
    model = registry.build(name, **model_arguments, **weights)
    check_arguments("The model could not be saved", model_arguments, [tuple(each.shape) for each in model.weights])
    freeze = None
    if source:
        source.give(job, model)
        freeze = train_by_layers(model, options)
    say(f"{name}: {model.count_params():,} parameters, {model_arguments['vocab_size']:,} words")
    job_config = job.config(model_arguments)
    config = {
        "task": task.name,
        "model": name,
        "arguments": model_arguments,
        "text": job_config["text"],
        "training": {
            "dataset": corpus.name,
            "recipe": recipe,
            **{option.name: getattr(options, option.name) for option in COMMON},
            "seed": seed,
            **job_config["training"],
            **(source.provenance(job) if source else {}),
        },
        "versions": machine.versions(),
    }
    log_dir = files.beside(request.target.real, ".tensorboard") if request.tensorboard else None
    source_hashes = source.trained.train_texts if source else None
    repeat = run_file.text_of(request, corpus)
    return Run(
        task=task,
        job=job,
        model=model,
        config=config,
        target=request.target,
        overwrite=request.overwrite,
        log_dir=log_dir,
        progress=progress,
        source_hashes=source_hashes,
        freeze=freeze,
        origin=corpus.origin,
        repeat=repeat,
        train_hashes=hashes,
        cautions=cautions,
    )


def _reads_files(request: Request, dataset: AnyDataset) -> bool:
    """Return whether a run reads its texts or its word vectors from files, which may take long."""
    return isinstance(dataset, str | os.PathLike) or getattr(request.options, "vectors", None) is not None


def _lacks_bfloat16() -> bool:
    """Return whether bfloat16 would be emulated here. A GPU has it."""
    from dense_lstm_zoo.layers.recurrence.machine import has_gpu

    return not has_gpu() and not machine.has_bfloat16()


def _covered(request: Request, corpus: AnyCorpus, source: Source | None) -> tuple[Request, Job]:
    """Return the request and its job. Words that vectors which nobody named hardly cover are trained themselves."""
    job_class, trained = request.task.job_class, [source.trained] if source else []
    try:
        job: Job = job_class(corpus, request.options, *trained)
    except UncoveredError as error:
        if not request.chooses_vectors or request.arguments.get("trainable_embeddings") is False:
            raise
        reason = str(error).partition(". ")[0]
    else:
        if job.coverage is None or not job.coverage.is_little:
            return request, job
        words, covered = job.coverage.words, job.coverage.words_with_vector
        reason = f"vectors cover {covered:,} of the {words:,} words with letters of the training texts"
        if not request.chooses_vectors or request.arguments.get("trainable_embeddings") is False:
            if source and request.options.learns_words:
                advice = (
                    f"The source knows {covered:,} of the {words:,} words with letters of the training texts. "
                    "The others start from the mean of its words; check that both texts have the same language and the "
                    "same tokens (dense-lstm-zoo tokenize)."
                )
            elif source:
                advice = f"The {reason}. Other words are hardly read: train without init_from."
            else:
                way = 'train the words themselves with vectors="none" (--vectors none)'
                advice = f"The {reason}. Other words are hardly read: {way}."
            return dataclasses.replace(request, notice="\n".join(filter(None, (request.notice, advice)))), job
    request = request.with_trained_words()
    recipe = f" with the recipe {request.recipe}" if request.recipe else ""
    settings = registry.resolve(request.model, request.arguments, request.recipe, complete=False)
    is_head_alone = getattr(request.options, "head", None) is not None and request.options.epochs == 1
    outcome = "The words themselves are trained"
    if is_head_alone or settings.get("trainable_embeddings") is False:
        outcome = "Random vectors take their place, which stay as they are"
    notice = f"no word vectors: {reason}. {outcome}{recipe}; --vectors NAME names others"
    request = dataclasses.replace(request, notice=notice)
    return request, job_class(corpus, request.options, *trained)


def _warn_unspaced(has_characters: bool) -> None:
    """Warn that the words of a script without spaces are whole phrases."""
    way = "let the model read characters with char_filters=50 (--char-filters 50), or " if has_characters else ""
    warnings.warn(
        "The texts have no spaces between words, so that whole phrases are words, which other texts hardly repeat: "
        f"{way}put spaces between words, with a segmenter, in these texts and in those to predict.",
        stacklevel=4,
    )
