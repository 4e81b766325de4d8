"""Train a registered model on a corpus, from raw text to a bundle."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import platform
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks, files, registry
from dense_lstm_zoo.bundle import read_dev_curve
from dense_lstm_zoo.recipes import get_recipe
from dense_lstm_zoo.training import run_folder

if TYPE_CHECKING:
    import keras

    from dense_lstm_zoo.bundle import Bundle
    from dense_lstm_zoo.classification.corpus import Corpus
    from dense_lstm_zoo.job import Job
    from dense_lstm_zoo.language.corpus import LanguageCorpus
    from dense_lstm_zoo.tagging.corpus import TaggingCorpus
    from dense_lstm_zoo.training.checkpoint import Checkpoint

# Imported when a task is trained: they load TensorFlow.
_JOBS = {
    "classification": ("dense_lstm_zoo.classification.job", "ClassificationJob"),
    "language_model": ("dense_lstm_zoo.language.job", "LanguageModelJob"),
    "tagging": ("dense_lstm_zoo.tagging.job", "TaggingJob"),
}


class Paused(Exception):  # noqa: N818 - no error
    """A run that stopped after ``pause_after`` epochs; ``metrics`` are those of its best epoch so far."""

    def __init__(self, checkpoint: Checkpoint, bundle: Bundle) -> None:
        assert checkpoint.best_epoch is not None  # an epoch was done
        best = checkpoint.history[checkpoint.best_epoch - 1]
        self.metrics: dict[str, Any] = {
            f"dev_{bundle.measure}": best[f"val_{bundle.measure}"],
            "best_epoch": checkpoint.best_epoch,
            "epochs": checkpoint.epochs,
            "parameters": int(bundle.model.count_params()),
            "encoder_parameters": registry.count_encoder_parameters(bundle.model),
            "seconds": round(sum(row["seconds"] for row in checkpoint.history), 1),
        }
        super().__init__(f"paused after epoch {checkpoint.epochs}; the same call with a larger pause_after goes on")


def train(
    name: str,
    /,
    dataset: str | Corpus | LanguageCorpus | TaggingCorpus,
    run_dir: str | Path,
    *,
    recipe: str | None = None,
    seed: int = 1,
    epochs: int | None = None,
    patience: int | None = None,
    batch_size: int | None = None,
    learning_rate_decay: float | None = None,
    decay_after: int | None = None,
    vectors: str | Path | None = None,
    vector_words: int | None = None,
    oov: str | None = None,
    num_steps: int | None = None,
    max_words: int | None = None,
    min_count: int | None = None,
    min_tag_count: int | None = None,
    dev_every: int | None = None,
    pause_after: int | None = None,
    tensorboard: bool = False,
    overwrite: bool = False,
    progress: bool = True,
    **arguments: Any,
) -> Bundle:
    """Train a model, keep the epoch that is best on dev, score the test set once, write a bundle.

    Best is the highest accuracy, of a language model the lowest perplexity. A corpus without a dev set
    gives up a share of its training text: of labelled texts 10 %, stratified, by ``seed``.

    After every epoch the run's state is written to ``RUN_DIR.unfinished/``: after a kill or Ctrl-C the same call goes
    on from there and ends with the weights that an uninterrupted run has. Where ``run_dir`` is a link, its target is
    written; a mount point, such as a container's volume, is filled in place and its state is in ``.unfinished`` in it.

    Args:
        name: A registered model.
        dataset: A corpus's name (``"demo"``, ``"trec"``, ``"ptb"``), or what ``load_corpus`` returns, such as
            ``load_corpus("csv", train_file="reviews.csv")``.
        run_dir: The folder to write the bundle to.
        recipe: A published result's settings, such as ``"ding2018"``; what is given here goes before it.
        seed: Seed of the weights, dropout, order of the batches and the dev split.
        epochs: Most epochs (30, or the recipe's).
        patience: Epochs without a better dev score before training stops (5, or the recipe's).
        batch_size: Texts, or a language model's streams, a step (200 or 20, or the recipe's).
        learning_rate_decay: What the learning rate is multiplied by after each epoch (1, for a language model 0.85, or
            the recipe's),
        decay_after: from this epoch on (1, for a language model 6, or the recipe's).
        vectors: Not language models: a file of word vectors (GloVe's or word2vec's text format, plain, .gz or .zip).
        vector_words: How many of the file's first words to know beside the training words (50,000).
        oov: Classifiers: words outside the vocabulary: ``"drop"`` (default with vectors) or ``"unk"``.
        num_steps: Language models: steps of a window (35, or the recipe's).
        max_words: Language models: the most frequent words to know, ``<eos>`` and ``<unk>`` among them (all).
        min_count: Language models: how often a word must occur in the training text to be known (1).
        min_tag_count: Taggers: how often a tag must occur in training; others become one tag, RARE (1).
        dev_every: Classifiers: also score dev every so many batches, for a learning curve by batch (none).
        pause_after: Stop with ``Paused`` after so many epochs in all, unless patience ends the run before; the same
            call with a larger number goes on.
        tensorboard: Also write TensorBoard logs, to ``RUN_DIR.tensorboard`` beside the run's folder.
        overwrite: Whether to replace a run that is there, or an interrupted one that is damaged or had other settings.
        progress: Whether to print progress: a bar a epoch on a terminal, a line a epoch elsewhere.
        **arguments: Model arguments; see ``describe(name)``.

    Returns:
        The bundle, as ``load(run_dir)`` would return it.

    Raises:
        ValueError: An unknown name or a value out of range, with what is accepted.
        FileExistsError: ``run_dir`` is there and ``overwrite`` is False.
        FileNotFoundError: No such data or vector file.
        DivergenceError: The loss became infinite or no number. The best epoch before it is written all the same.
        Paused: ``pause_after`` epochs are done, and more are to come.

    Example:
        ``zoo.train("dc_bilstm", "trec", "runs/trec", recipe="ding2018", vectors="glove.42B.300d.zip")``
    """
    resolved = registry.resolve(name, arguments, recipe, complete=False)
    for argument in registry.FROM_DATA:
        if argument in arguments:
            raise ValueError(f"{argument} follows from the data; train() does not take it.")
    seed = checks.integer("seed", seed, minimum=0)
    run_folder.tidy(files.folder_name(run_dir))
    run_dir = files.check_new_folder(run_dir, overwrite)
    if tensorboard and not _installed("tensorboard"):
        raise ValueError("tensorboard=True needs TensorBoard: pip install dense-lstm-zoo[tensorboard].")
    settings: dict[str, Any] = {
        "batch_size": batch_size,
        "epochs": epochs,
        "patience": patience,
        "decay_after": decay_after,
        "learning_rate_decay": learning_rate_decay,
    }
    check_settings({**settings, "dev_every": dev_every, "pause_after": pause_after})

    from dense_lstm_zoo.data.corpora import load_corpus
    from dense_lstm_zoo.job import check_options
    from dense_lstm_zoo.training.allocator import keep_freed_memory

    if vectors is None and resolved.get("trainable_embeddings") is False:
        warnings.warn("Without vectors=... the word vectors that are not trained are random.", stacklevel=2)
    task = registry.entry(name).task
    corpus = load_corpus(dataset, task) if isinstance(dataset, str) else dataset

    import keras

    job_class = job_for(task)
    given = {"vectors": vectors, "vector_words": vector_words, "oov": oov}
    given |= {"num_steps": num_steps, "max_words": max_words, "min_count": min_count, "min_tag_count": min_tag_count}
    given["dev_every"] = dev_every
    options = check_options(job_class, task, given)
    job_class.check_corpus(corpus)
    protocol = get_recipe(recipe) if recipe else job_class.DEFAULTS
    settings = {setting: getattr(protocol, setting) if v is None else v for setting, v in settings.items()}
    settings["seed"] = seed
    keras.utils.set_random_seed(seed)
    keep_freed_memory()
    job = job_class(corpus, options, settings, protocol)
    say = functools.partial(print, flush=True) if progress else lambda *_: None
    say(job.found())
    resolved |= job.model_arguments(arguments)
    weights = job.weights()
    resolved = {argument: value for argument, value in resolved.items() if argument not in weights}
    model = registry.build(name, **resolved, **weights)
    found = job.config()
    config = {
        "task": task,
        "model": name,
        "arguments": resolved,
        "text": found["text"],
        "training": {
            "dataset": corpus.name,
            "recipe": recipe,
            **settings,
            **found["training"],
        },
        "versions": versions(),
    }
    say(f"{name}: {model.count_params():,} parameters, {resolved['vocab_size']:,} words")

    import pandas as pd

    from dense_lstm_zoo.training import report
    from dense_lstm_zoo.training.callbacks import DivergenceError
    from dense_lstm_zoo.training.checkpoint import Checkpoint

    bundle = job.bundle(model, config)
    log_dir = files.beside(run_dir, ".tensorboard") if tensorboard else None
    state_dir = run_folder.state_folder(run_dir)
    diverged = None
    with Checkpoint(
        state_dir,
        config,
        config["training"]["patience"],
        overwrite=overwrite,
        monitor=f"val_{bundle.measure}",
        higher_is_better=bundle.higher_is_better,
    ) as checkpoint:
        if checkpoint.epochs:
            say(f"going on after epoch {checkpoint.epochs}, which an interrupted run had reached")
        try:
            _fit(bundle, job, checkpoint, pause_after, log_dir, progress)
        except KeyboardInterrupt:
            say(f"\ninterrupted; the same command goes on after epoch {checkpoint.epochs}")
            raise
        except DivergenceError as error:
            if checkpoint.best_epoch is None:
                checkpoint.remove()
                raise
            diverged = str(error)
        if diverged is None and not checkpoint.is_done and checkpoint.epochs < config["training"]["epochs"]:
            raise Paused(checkpoint, bundle)
        checkpoint.restore_best(model)
        bundle.history = pd.DataFrame(checkpoint.history)
        bundle.history.insert(0, "epoch", range(1, checkpoint.epochs + 1))
        bundle.dev_curve = read_dev_curve(checkpoint.folder)
        bundle.metrics = job.score(bundle) | {
            "best_epoch": checkpoint.best_epoch,
            "epochs": checkpoint.epochs,
            "parameters": int(model.count_params()),
            "encoder_parameters": registry.count_encoder_parameters(model),
            "seconds": round(float(bundle.history["seconds"].sum()), 1),
            **({"diverged": diverged} if diverged else {}),
        }
        checkpoint.keep_hold()
        bundle.save(run_dir, overwrite=overwrite)
        checkpoint.remove()
    if diverged:
        raise DivergenceError(f"{diverged} The best epoch before it, {checkpoint.best_epoch}, is kept in {run_dir}.")
    say(f"{report.summary(bundle)}\nbundle            {run_dir}")
    return bundle


def check_settings(settings: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` for numbers of ``train`` that are none; None is what the recipe has.

    Example:
        >>> check_settings({"batch_size": 0})
        Traceback (most recent call last):
        ValueError: batch_size must be an integer of at least 1; received 0.
    """
    for name in ("batch_size", "epochs", "patience", "decay_after", "num_steps", "dev_every", "pause_after"):
        if settings.get(name) is not None:
            checks.integer(name, settings[name])
    if settings.get("learning_rate_decay") is not None:
        checks.positive("learning_rate_decay", settings["learning_rate_decay"])


def job_for(task: str) -> type[Job]:
    """Return the job of a task; its module loads TensorFlow."""
    module, cls = _JOBS[task]
    return getattr(importlib.import_module(module), cls)


def _fit(
    bundle: Bundle, job: Job, checkpoint: Checkpoint, pause_after: int | None, log_dir: Path | None, progress: bool
) -> None:
    import keras

    from dense_lstm_zoo.training.averaging import EvaluateAverage
    from dense_lstm_zoo.training.callbacks import EpochSeconds, FiniteLoss

    training = bundle.config["training"]
    checkpoint.resume(bundle.model)
    if checkpoint.is_done:
        return
    data = job.fit_data(bundle, checkpoint.folder)
    callbacks = [*data.callbacks, EpochSeconds(), FiniteLoss(), EvaluateAverage()]
    if training["learning_rate_decay"] != 1:
        callbacks.append(_schedule(bundle.config["arguments"]["learning_rate"], training))
    callbacks.append(checkpoint)  # after those that add to the epoch's row
    if log_dir is not None:
        callbacks.append(keras.callbacks.TensorBoard(log_dir, write_graph=False))
    bar = 1 if sys.stdout.isatty() else 2
    bundle.model.fit(
        data.training,
        validation_data=data.dev,
        initial_epoch=checkpoint.epochs,
        epochs=min(training["epochs"], pause_after or training["epochs"]),
        callbacks=callbacks,
        verbose=bar if progress else 0,
        shuffle=False,  # the batches come in their order
    )


def _schedule(rate: float, training: dict[str, Any]) -> keras.callbacks.Callback:
    import keras

    from dense_lstm_zoo.recipe import learning_rate_factor

    decay, after = training["learning_rate_decay"], training["decay_after"]
    return keras.callbacks.LearningRateScheduler(
        lambda epoch: rate * learning_rate_factor(epoch + 1, decay=decay, after=after)
    )


def versions() -> dict[str, str]:
    """Return the versions a result depends on."""
    packages = ("dense-lstm-zoo", "keras", "tensorflow", "tensorflow-text", "numpy")
    return {"python": platform.python_version()} | {p: importlib.metadata.version(p) for p in packages}


def _installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None
