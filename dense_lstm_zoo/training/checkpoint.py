"""Saves what a run needs to resume, after every epoch and inside long ones, and keeps the best epoch's weights."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from dense_lstm_zoo import checks
from dense_lstm_zoo.display import notes
from dense_lstm_zoo.storage import files, temporary, work_folders
from dense_lstm_zoo.storage.lock import Lock
from dense_lstm_zoo.training import run_folder, state_files, variables
from dense_lstm_zoo.training.averaging import averaged
from dense_lstm_zoo.training.resumable import Resumable
from dense_lstm_zoo.training.state_files import Inside, Progress
from dense_lstm_zoo.training.stop_signals import StopSignals


class Checkpoint(keras.callbacks.Callback):
    """Keep the best epoch's weights, stop when patience runs out, and save the state for resuming.

    The state is saved after each epoch, and inside an epoch when the last save was ``minutes`` ago. The folder holds
    ``state.json`` (settings, history, best epoch, place inside an epoch, checksums), ``epoch-N.npz`` or
    ``epoch-N-batch-M.npz`` (weights, optimiser and random states after N epochs, or M more batches) and ``best-N.npz``
    (the weights of the best). ``state.json`` is written last, in one step, and names the other two: a kill at any
    moment leaves a complete state.

    Args:
        folder: Where to write. A state that is already there is resumed.
        settings: Everything that affects the result. A run is resumed only with the same settings.
        patience: Epochs without a better ``monitor`` before training stops.
        overwrite: Whether to discard an interrupted run that had other settings, or is damaged.
        monitor: The epoch's score.
        higher_is_better: Whether a higher score is better.
        at_least: The epoch from which patience counts at the earliest.
        minutes: Minutes between two saves inside an epoch.

    Use it as a context manager: it locks the folder against other processes until the block ends.

    Raises:
        BlockingIOError: Another process is training here.
        FileExistsError: The folder holds files that no training has left there.
        ValueError: An interrupted run with other settings, or a damaged one.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, Any],
        patience: int,
        *,
        overwrite: bool = False,
        monitor: str = "val_accuracy",
        higher_is_better: bool = True,
        at_least: int = 0,
        minutes: float = 10,
    ) -> None:
        super().__init__()
        self.folder, self.patience, self.at_least = folder.resolve(), patience, at_least
        self.monitor, self._sign = monitor, 1 if higher_is_better else -1
        self.settings: dict[str, Any] = json.loads(files.to_json(settings))
        self.progress = Progress([])
        self._resumable: list[Resumable] = []
        self._carried: Sequence[tf.Variable] = ()
        self._minutes, self._saved_at = minutes, time.monotonic()
        self.signals = StopSignals()
        self._best_weights: list[np.ndarray] = []
        self._sums: dict[str, str] = {}
        self._resumed: Inside | None = None
        self._busy = f"Another process is training in {folder}."
        self._begin_anew = f"delete {folder} to start over, or overwrite it."
        self._lock = work_folders.lock(self.folder, self._busy)
        try:
            self._read_state(overwrite)
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *_: object) -> None:
        if not self.has_begun:
            self.remove()  # nothing to resume from
        self._lock.release()

    @property
    def history(self) -> list[dict[str, float]]:
        """One row of scores per finished epoch."""
        return self.progress.history

    @property
    def best_epoch(self) -> int | None:
        """The epoch with the best score, from 1, or None before one is finished."""
        return self.progress.best_epoch

    @property
    def has_begun(self) -> bool:
        """True once anything is saved."""
        return bool(self.epochs or self.batches)

    @property
    def place(self) -> str:
        """The place of the last save, in words."""
        return f"batch {self.batches:,} of epoch {self.epochs + 1}" if self.batches else f"epoch {self.epochs}"

    @property
    def epochs(self) -> int:
        """The number of finished epochs."""
        return len(self.history)

    @property
    def batches(self) -> int:
        """The number of saved batches of the next epoch."""
        return self.progress.inside.batches if self.progress.inside else 0

    @property
    def seconds(self) -> float:
        """The seconds of training so far."""
        inside = self.progress.inside.callbacks.get("seconds", {}) if self.progress.inside else {}
        return sum(row["seconds"] for row in self.history) + inside.get("elapsed", 0.0)

    @property
    def is_done(self) -> bool:
        """True once patience has run out."""
        return self.best_epoch is not None and self.epochs - max(self.best_epoch, self.at_least) >= self.patience

    def resume(self, model: keras.Model) -> None:
        """Give ``model`` the weights, optimiser state and random states of the last epoch, if it was saved at its end.

        For a save inside an epoch, ``resume_epoch`` does that when the epoch has begun again.
        """
        if (best := self.progress.best_name()) is not None:
            self._best_weights = self._load(best, variables.weights(model))
            if self.progress.inside is None:
                state = variables.state(model)
                variables.assign(state, self._load(self.progress.state_name(), state))

    def resume_epoch(self) -> int:
        """Restore a state inside the epoch that has begun, and return the number of its batches that are done.

        Beginning an epoch resets metrics and may reset the optimiser, so that this comes after it. The metrics need
        their variables by now, which they create with the first batch they see.
        """
        inside, self._resumed = self._resumed, None
        if inside is None:
            return 0
        changing = self._changing(inside)
        variables.assign(changing, self._load(self.progress.state_name(), changing))
        for callback in self._resumable:
            if callback.KEY in inside.callbacks:
                callback.resume(inside.callbacks[callback.KEY])
        self._saved_at = time.monotonic()
        return inside.batches

    def follow(self, callbacks: Sequence[keras.callbacks.Callback], carried: Sequence[tf.Variable]) -> None:
        """Save inside an epoch the states of callbacks that have one, and what the data carries between batches."""
        self._resumable = [callback for callback in callbacks if isinstance(callback, Resumable)]
        self._carried = carried

    def restore_best(self, model: keras.Model) -> None:
        """Give ``model`` the weights of the best epoch."""
        variables.assign(variables.weights(model), self._best_weights)

    def remove(self) -> None:
        """Delete the folder if it still belongs to this run. Called when there is nothing left to resume."""
        if self._lock.is_in_place:
            run_folder.remove_state(self.folder)

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        """Save the epoch so far, if it is time to. The last batch is saved with the epoch."""
        is_due = self.signals.number is not None or time.monotonic() - self._saved_at >= 60 * self._minutes
        if batch + 1 < self.params["steps"] and is_due:
            self._write(replace(self.progress, inside=Inside(batch + 1, {x.KEY: x.save() for x in self._resumable})))
            self._end_if_signalled()

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Save the epoch, and stop training if patience has run out."""
        row = self._row(logs or {})
        best = None if self.best_epoch is None else self.history[self.best_epoch - 1][self.monitor]
        progress = Progress([*self.history, row], self.best_epoch)
        if best is None or self._sign * (row[self.monitor] - best) > 0:
            progress.best_epoch = len(progress.history)
            with averaged(self.model):
                self._best_weights = variables.values(variables.weights(self.model))
        self._write(progress)
        self._end_if_signalled()
        if self.is_done:
            self.model.stop_training = True

    def _end_if_signalled(self) -> None:
        if self.signals.number is not None:
            notes.show(f"\nstopped by a signal; the same command resumes after {self.place}")
            self.signals.end()

    def _row(self, logs: dict[str, float]) -> dict[str, float]:
        """Return an epoch's row as JSON can hold it, and sorted as it is written.

        The perplexity of a bad epoch may be infinite. What a user's callback logs is left out if it is not a number, or
        has the name of the row's own number.
        """
        row = {}
        for name, value in sorted((name, _number(value)) for name, value in logs.items() if name != "epoch"):
            if math.isnan(value):
                if name != self.monitor:
                    continue
                value = -self._sign * math.inf  # the worst
            row[name] = max(-sys.float_info.max, min(value, sys.float_info.max))
        return row

    def keep_hold(self) -> None:
        """Lock the folder again if it was deleted during the run. All of its files are then rewritten.

        Raises:
            BlockingIOError: Another run has started there.
        """
        if self._lock.is_in_place:
            return
        self._lock.release()
        self._lock = Lock(self.folder / work_folders.LOCK, self._busy)
        if (self.folder / run_folder.STATE).exists():
            self._lock.release()
            raise BlockingIOError(f"{self.folder} was deleted during this run, and another run has started there.")
        self._sums = {}

    def _changing(self, inside: Inside | None) -> list[keras.Variable | tf.Variable]:
        """Return what an epoch leaves to the next one, or inside an epoch, a batch to the next one."""
        state: list[keras.Variable | tf.Variable] = [*variables.state(self.model)]
        return [*state, *self.model.metrics_variables, *self._carried] if inside else state

    def _write(self, progress: Progress) -> None:
        self.keep_hold()
        arrays = {progress.state_name(): variables.values(self._changing(progress.inside))}
        if (best := progress.best_name()) is not None:
            arrays[best] = self._best_weights
        for name in arrays.keys() - self._sums.keys():
            with files.new_file(self.folder / name) as file:
                np.savez(file, *arrays[name])
        sums = {name: self._sums.get(name) or files.sha256(self.folder / name) for name in arrays}
        state = {"settings": self.settings, **progress.to_json(), "sha256": sums}
        state_files.write_state(self.folder / run_folder.STATE, state)
        self.progress, self._sums, self._saved_at = progress, sums, time.monotonic()
        for entry in self.folder.iterdir():
            if run_folder.is_weights(entry.name) and entry.name not in self._sums:
                entry.unlink()

    def _read_state(self, overwrite: bool) -> None:
        for entry in self.folder.iterdir():
            if temporary.is_ours(entry.name):
                entry.unlink()  # a half-written file. No one else writes here
        path = self.folder / run_folder.STATE
        if not path.exists():
            return
        try:
            state = self._whole_state(path)
        except ValueError:
            if not overwrite:
                raise
            path.unlink()
            return
        if state["settings"] == self.settings:
            self.progress, self._sums = state_files.read_progress(state, self.monitor)
            self._resumed = self.progress.inside
        elif overwrite:
            path.unlink()
        else:
            differences = checks.difference(state["settings"], self.settings)
            raise ValueError(
                f"{self.folder} holds an interrupted run with other settings: {differences}. "
                f"Repeat its command to finish it, name another run_dir (--run-dir), or overwrite it."
            )

    def _whole_state(self, path: Path) -> dict[str, Any]:
        """Return the state of an interrupted run, or raise ``ValueError`` if one of its files is damaged."""
        try:
            state = state_files.read_state(path)
            progress, sums = state_files.read_progress(state, self.monitor)
            if not isinstance(state.get("settings"), dict):
                raise ValueError("it has no settings")
        except state_files.OtherVersionError as error:
            raise ValueError(
                f"{self.folder} holds an interrupted run of another version of dense-lstm-zoo ({error}). Finish it "
                f"with that version, or {self._begin_anew}"
            ) from None
        except ValueError as error:
            raise ValueError(f"{path} is damaged ({error}): {self._begin_anew}") from None
        for name in progress.names():
            file = self.folder / name
            if not file.is_file() or files.sha256(file) != sums.get(name):
                raise ValueError(f"{file} is missing or damaged: {self._begin_anew}")
        return state

    def _load(self, name: str, model_variables: Sequence[keras.Variable | tf.Variable]) -> list[np.ndarray]:
        path = self.folder / name
        try:
            return state_files.read_arrays(path, model_variables)
        except ValueError as error:
            raise ValueError(f"{path} is damaged ({error}): {self._begin_anew}") from None


def _number(value: Any) -> float:
    """Return a logged value as a number: NaN for a text, an array and the like."""
    try:
        return math.nan if isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        return math.nan
