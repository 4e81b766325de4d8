"""Train a registered model on a corpus, from raw text to a bundle."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.bundles.bundle import read_dev_curve
from dense_lstm_zoo.data.cells import escape_controls
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.tasks import with_options
from dense_lstm_zoo.training import run_file, run_folder, starts
from dense_lstm_zoo.training.allocator import keep_large_blocks
from dense_lstm_zoo.training.prepare import Run
from dense_lstm_zoo.training.request import check
from dense_lstm_zoo_runtime.streams import unread_output

if TYPE_CHECKING:
    import keras

    from dense_lstm_zoo.bundles.bundle import Bundle
    from dense_lstm_zoo.corpora.loader import AnyDataset
    from dense_lstm_zoo.training.checkpoint import Checkpoint
    from dense_lstm_zoo.training.run_callbacks import RunCallbacks


class Paused(Exception):  # noqa: N818 - not an error
    """A run that stopped after ``pause_after`` epochs. ``metrics`` are those of the best epoch so far."""

    def __init__(self, checkpoint: Checkpoint, run: Run) -> None:
        assert checkpoint.best_epoch is not None  # at least one epoch has finished
        best, measure = checkpoint.history[checkpoint.best_epoch - 1], run.task.measure
        self.metrics: dict[str, Any] = {f"dev_{measure}": best[f"val_{measure}"], **_facts(checkpoint, run.model)}
        super().__init__(f"paused after epoch {checkpoint.epochs}; call again with a larger pause_after to go on")


@with_options
@unread_output()
def train(
    name: str,
    /,
    dataset: AnyDataset,
    run_dir: str | Path,
    *,
    recipe: str | None = None,
    seed: int = 1,
    pause_after: int | None = None,
    tensorboard: bool = False,
    overwrite: bool = False,
    progress: bool = True,
    callbacks: Sequence[keras.callbacks.Callback] | None = None,
    **arguments: Any,
) -> Bundle:
    """Train a model, keep the best epoch on dev, score the test set once and write a bundle.

    The best epoch has the highest dev accuracy, or for a language model the lowest dev perplexity. If a corpus has no
    dev set, part of its training text becomes one: of labelled texts 10 %, stratified, drawn with ``seed``.

    The run's state is written to ``RUN_DIR.unfinished/`` after every epoch, inside an epoch every
    ``checkpoint_minutes``, and before SIGTERM or SIGHUP ends the process. After a kill or Ctrl-C, the same call resumes
    from there and ends with the same weights as an uninterrupted run. If ``run_dir`` is a link, its target is written.
    A mount point, such as a container's volume, is filled in place, with its state in ``.unfinished`` inside.

    Training continues when its output cannot be written any more (``| head``, a closed terminal, a full log).

    ``run.toml`` in the folder says how the run was trained. ``dense-lstm-zoo train --config`` repeats it.

    Args:
        name: A registered model.
        dataset: A corpus's name (``"demo"``, ``"trec"``, ``"ptb"``), your own file or folder (``"reviews.csv"``), a
            table in memory with the columns ``text`` and ``label`` (pandas, polars, pyarrow, a Hugging Face ``Dataset``
            or ``DatasetDict``), or what ``load_corpus`` returns, such as ``load_corpus(frame, text_column="review")``.
        run_dir: The folder to write the bundle to.
        recipe: A published result's settings, such as ``"ding2018"``. Arguments given here take precedence.
        seed: Seed for the weights, dropout, the order of the batches and the dev split.
        pause_after: Stop with ``Paused`` once this many epochs are finished, unless patience ends the run before. The
            same call with a larger number continues.
        tensorboard: Also write TensorBoard logs, to ``RUN_DIR.tensorboard`` beside the run's folder.
        overwrite: Whether to replace an existing run, or an interrupted one that is damaged or had other settings.
        progress: Whether to print progress: a line per epoch, and on a terminal a bar.
        callbacks: Keras callbacks of your own, called once the epoch's row is complete, before it is saved. One that
            stops training ends the run as patience does. Their own state is not saved: a resumed run starts it anew.
        {options}
        **arguments: Model arguments. See ``describe(name)``.

    Returns:
        The bundle, as ``load(run_dir)`` would return it.

    Raises:
        ValueError: An unknown name or a value out of range, with what is accepted.
        FileExistsError: ``run_dir`` exists and ``overwrite`` is False.
        FileNotFoundError: No such data or vector file.
        DivergenceError: The loss became infinite or NaN. The best epoch so far is still saved.
        Paused: ``pause_after`` epochs are finished, but the run is not.

    Example:
        ``zoo.train("dc_bilstm", "trec", "runs/trec", recipe="ding2018", vectors="glove.42B.300d.zip")``
    """
    started = time.monotonic()
    if pause_after is not None:
        checks.integer("pause_after", pause_after)
    if callbacks is not None:
        from dense_lstm_zoo.training.callbacks import check_own

        callbacks = check_own(callbacks)
    request = check(name, run_dir, arguments, recipe=recipe, seed=seed, tensorboard=tensorboard, overwrite=overwrite)
    run = starts.prepare_best(request, dataset, progress)
    run.callbacks = callbacks or ()
    run.repeat += run_file.note(run.callbacks)

    from dense_lstm_zoo.training.callbacks import DivergenceError
    from dense_lstm_zoo.training.checkpoint import Checkpoint

    monitor, higher_is_better = run.task.monitored(run.config["training"])
    with Checkpoint(
        run_folder.state_folder(run.target.real),
        run.config,
        run.config["training"]["patience"],
        overwrite=overwrite,
        monitor=monitor,
        higher_is_better=higher_is_better,
        at_least=run.freeze.first_whole_epoch(run.model) if run.freeze else 0,
        minutes=run.job.options.checkpoint_minutes,
    ) as checkpoint:
        diverged = None
        if checkpoint.has_begun:
            run.say(f"resuming an interrupted run after {checkpoint.place}")
        try:
            _fit(run, checkpoint, pause_after, started)
        except KeyboardInterrupt:
            run.say(f"\ninterrupted; the same command resumes after {checkpoint.place}")
            raise
        except DivergenceError as error:
            if checkpoint.best_epoch is None:
                checkpoint.remove()
                raise
            diverged = str(error)
        unfinished = checkpoint.epochs < run.config["training"]["epochs"]
        unfinished = unfinished and not (checkpoint.is_done or run.model.stop_training)
        if diverged is None and unfinished and pause_after and checkpoint.epochs >= pause_after:
            raise Paused(checkpoint, run)
        bundle = _finish(run, checkpoint, diverged)
    if diverged:
        raise DivergenceError(f"{diverged} The best epoch so far, {checkpoint.best_epoch}, is saved in {run.target}.")
    run.say(f"{bundle.summary()}\nbundle            {escape_controls(str(run.target))}")
    return bundle


def _fit(run: Run, checkpoint: Checkpoint, pause_after: int | None, started: float) -> None:
    """Train from the checkpoint's epoch to the last, or until patience or the time runs out."""
    import keras

    from dense_lstm_zoo.training.averaging import EvaluateAverage
    from dense_lstm_zoo.training.callbacks import EpochSeconds, FiniteLoss, TimeLimit, schedule
    from dense_lstm_zoo.training.epoch_log import EpochLog
    from dense_lstm_zoo.training.run_callbacks import RunCallbacks

    training = run.config["training"]
    checkpoint.resume(run.model)
    epochs = min(training["epochs"], pause_after or training["epochs"])
    if checkpoint.is_done or checkpoint.epochs >= epochs:
        return
    data = run.job.fit_data(run.model, run.config, checkpoint.folder)
    callbacks = [*data.callbacks, EpochSeconds(), FiniteLoss(), EvaluateAverage()]
    if training["learning_rate_decay"] != 1:
        callbacks.append(schedule(run.config["arguments"]["learning_rate"], training))
    callbacks += [*run.callbacks, checkpoint]  # after the callbacks that add to the epoch's row
    if run.freeze:
        callbacks.append(run.freeze)
    if (minutes := run.job.options.minutes) is not None:
        reading = time.monotonic() - started
        run.limit = TimeLimit(minutes, started - checkpoint.seconds, int(data.dev.cardinality()), reading)
        if checkpoint.epochs and run.limit.is_over():  # an interrupted run whose time is over
            run.model.stop_training = True
            return
    if run.progress:
        callbacks.append(EpochLog(checkpoint, run.limit))
        if data.real_share < 1:
            run.say(f"training batches: {100 * data.real_share:.0f} % of the tokens are real, the others padding")
    if run.limit is not None:
        callbacks.append(run.limit)
    if run.log_dir is not None:
        callbacks.append(keras.callbacks.TensorBoard(run.log_dir, write_graph=False))
    checkpoint.follow(callbacks, data.carried)
    run_callbacks = RunCallbacks(
        callbacks, checkpoint, model=run.model, steps=int(data.training.cardinality()), epochs=epochs
    )
    fit = functools.partial(
        run.model.fit,
        validation_data=data.dev,
        callbacks=run_callbacks,
        verbose=0,
        class_weight=data.class_weight,
        shuffle=False,  # the data already comes in the right order
    )
    with keep_large_blocks(data.batch_tokens), checkpoint.signals:
        if checkpoint.batches:
            run.model.evaluate(data.dev.take(1), verbose=0)  # metrics create their variables with the first batch
            fit(data.start_at(checkpoint.batches), initial_epoch=checkpoint.epochs, epochs=checkpoint.epochs + 1)
            if run.model.stop_training or checkpoint.epochs >= epochs:
                return
            checkpoint.resume(run.model)  # fit ends with the average of the weights
        if not checkpoint.epochs and getattr(run.job.options, "head", None):
            _fit_head(run, run_callbacks)
            if run.model.stop_training or checkpoint.epochs >= epochs:
                return
        fit(data.training, initial_epoch=checkpoint.epochs, epochs=epochs)


def _fit_head(run: Run, callbacks: RunCallbacks) -> None:
    """Train the first epoch: the last layer alone, by the job."""
    run.model.stop_training = False
    callbacks.on_train_begin()
    callbacks.on_epoch_begin(0)
    row = run.job.fit_head(run.model, run.config, run.limit.seconds_left / 2 if run.limit else None)
    penalty = float(sum(run.model.losses))  # as ``fit`` counts it
    callbacks.on_epoch_end(0, {name: x + penalty if name in ("loss", "val_loss") else x for name, x in row.items()})
    if run.limit and run.limit.is_over():
        run.model.stop_training = True
    callbacks.on_train_end()  # unless epochs are left


def _finish(run: Run, checkpoint: Checkpoint, diverged: str | None) -> Bundle:
    """Score the best epoch, write the bundle, and remove what was needed only for training."""
    import pandas as pd

    from dense_lstm_zoo.training.overlap import training_texts

    checkpoint.restore_best(run.model)
    history = pd.DataFrame(checkpoint.history).drop(columns="epoch", errors="ignore")  # logged by a callback
    history.insert(0, "epoch", range(1, checkpoint.epochs + 1))
    # The folder may hold the curve of a run that was overwritten.
    curve = read_dev_curve(checkpoint.folder) if "dev_every" in run.config["training"] else None
    # Beside the settings that a run resumes with: a file may have another name by then.
    own: dict[str, Any] = {}
    if run.origin is not None and run.origin.own_files:
        own["files"] = run.origin.own_files
    if run.origin is not None and run.origin.fold is not None:
        own["fold"] = [run.origin.fold, run.origin.folds]
    config = {**run.config, "training": {**run.config["training"], **own}}
    bundle = run.job.bundle(run.model, config, history, curve)
    bundle.train_texts = training_texts(run.job, run.train_hashes, run.source_hashes)
    bundle.metrics, failure = _facts(checkpoint, run.model), None
    try:
        bundle.metrics = run.job.score(bundle) | bundle.metrics | dict(run.cautions)
    except (OSError, ValueError) as error:  # a file of texts that has changed since the training began
        failure = error
    if diverged:
        bundle.metrics["diverged"] = diverged
    if run.limit and run.limit.reason:
        bundle.metrics["ended_by"] = run.limit.reason
    checkpoint.keep_hold()
    bundle.beside[run_file.NAME] = run.repeat
    try:
        bundle.save(run.target, overwrite=run.overwrite)
    except FileNotFoundError:  # the folder around it was removed meanwhile, and with it the run's state
        bundle.save(run.target, overwrite=run.overwrite)
    checkpoint.remove()
    if failure is not None:
        raise ValueError(f"The model is saved in {run.target}, but could not be scored: {failure}") from failure
    return bundle


def _facts(checkpoint: Checkpoint, model: keras.Model) -> dict[str, Any]:
    return {
        "best_epoch": checkpoint.best_epoch,
        "epochs": checkpoint.epochs,
        "parameters": int(model.count_params()),
        "encoder_parameters": registry.count_encoder_parameters(model),
        "seconds": round(sum(row["seconds"] for row in checkpoint.history), 1),
    }
