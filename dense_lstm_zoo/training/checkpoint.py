"""Saves after every epoch what a run needs to resume, and keeps the epoch with the best dev score."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np

from dense_lstm_zoo import checks, files, leftovers
from dense_lstm_zoo.layers import WordEmbedding
from dense_lstm_zoo.training import state_files
from dense_lstm_zoo.training.averaging import averaged

_OLD_PART = re.compile(r"\..+\.\d+\.part")  # left by versions before state format 2


class Checkpoint(keras.callbacks.Callback):
    """Keep the best epoch's weights, stop when patience runs out, and save the state for resuming after each epoch.

    The folder holds ``state.json`` (settings, history, best epoch, checksums), ``epoch-N.npz`` (weights, optimiser and
    random states after the last epoch) and ``best-N.npz`` (the weights of the best). ``state.json`` is written last, in
    one step, and names the other two: a kill at any moment leaves a complete state.

    Args:
        folder: Where to write; a state that is already there is resumed.
        settings: Everything that affects the result; a run is resumed only with the same settings.
        patience: Epochs without a better ``monitor`` before training stops.
        overwrite: Whether to discard an interrupted run that had other settings, or is damaged.
        monitor: The epoch's score.
        higher_is_better: Whether a higher score is better.
        at_least: The epoch from which patience counts at the earliest.

    Use it as a context manager: it locks the folder against other processes until the block ends.

    Raises:
        BlockingIOError: Another process is training here.
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
    ) -> None:
        super().__init__()
        self.folder, self.patience, self.at_least = folder.resolve(), patience, at_least
        self.monitor, self._sign = monitor, 1 if higher_is_better else -1
        self.settings: dict[str, Any] = json.loads(files.to_json(settings))
        self.history: list[dict[str, float]] = []
        self.best_epoch: int | None = None
        self._best_weights: list[np.ndarray] = []
        self._sums: dict[str, str] = {}
        self._taken = f"Another process is training in {folder}."
        self._begin_anew = f"delete {folder} to start over, or overwrite it."
        self._lock = files.Lock(self.folder / "lock", self._taken)
        try:
            self._read(overwrite)
        except ValueError:
            self._lock.release()
            raise

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *_: object) -> None:
        if not self.history:
            self.remove()  # nothing to resume from
        self._lock.release()

    @property
    def epochs(self) -> int:
        """The number of finished epochs."""
        return len(self.history)

    @property
    def is_done(self) -> bool:
        """Whether patience has run out."""
        return self.best_epoch is not None and self.epochs - max(self.best_epoch, self.at_least) >= self.patience

    def resume(self, model: keras.Model) -> None:
        """Give ``model`` the weights, optimiser state and random states of the last saved epoch."""
        if self.epochs:
            best = self._load(f"best-{self.best_epoch}.npz", _weights(model))
            _assign(_state(model), self._load(f"epoch-{self.epochs}.npz", _state(model)))
            self._best_weights = best

    def restore_best(self, model: keras.Model) -> None:
        """Give ``model`` the weights of the best epoch."""
        _assign(_weights(model), self._best_weights)

    def remove(self) -> None:
        """Delete the folder if it still belongs to this run; called when there is nothing left to resume."""
        if self._lock.is_in_place:
            files.remove_folder(self.folder)

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Save the epoch, and stop training if patience has run out."""
        # The perplexity of a bad epoch may be infinite, which JSON cannot hold.
        row = {name: min(float(value), sys.float_info.max) for name, value in (logs or {}).items()}
        self.history.append(row)
        best = None if self.best_epoch is None else self.history[self.best_epoch - 1][self.monitor]
        if best is None or self._sign * (row[self.monitor] - best) > 0:
            self.best_epoch = self.epochs
            with averaged(self.model):
                self._best_weights = _values(_weights(self.model))
        self._write()
        if self.is_done:
            self.model.stop_training = True

    def keep_hold(self) -> None:
        """Lock the folder again if it was deleted during the run; all of its files are then rewritten.

        Raises:
            BlockingIOError: Another run has started there.
        """
        if self._lock.is_in_place:
            return
        self._lock.release()
        self._lock = files.Lock(self.folder / "lock", self._taken)
        if (self.folder / "state.json").exists():
            self._lock.release()
            raise BlockingIOError(f"{self.folder} was deleted during this run, and another run has started there.")
        self._sums = {}

    def _write(self) -> None:
        self.keep_hold()
        arrays = {
            f"epoch-{self.epochs}.npz": _values(_state(self.model)),
            f"best-{self.best_epoch}.npz": self._best_weights,
        }
        for name in arrays.keys() - self._sums.keys():
            with files.new_file(self.folder / name) as file:
                np.savez(file, *arrays[name])
        self._sums = {name: self._sums.get(name) or files.sha256(self.folder / name) for name in arrays}
        state = {
            "settings": self.settings,
            "history": self.history,
            "best_epoch": self.best_epoch,
            "sha256": self._sums,
        }
        state_files.write_state(self.folder / "state.json", state)
        for left in self.folder.glob("*.npz"):
            if left.name not in self._sums:
                left.unlink()

    def _read(self, overwrite: bool) -> None:
        for left in self.folder.iterdir():
            if leftovers.is_ours(left.name) or _OLD_PART.fullmatch(left.name):
                left.unlink()  # a half-written file; no one else writes here
        path = self.folder / "state.json"
        if not path.exists():
            return
        try:
            found = self._whole_state(path)
        except ValueError:
            if not overwrite:
                raise
            path.unlink()
            return
        if found["settings"] == self.settings:
            self.history, self.best_epoch, self._sums = state_files.read_progress(found, self.monitor)
        elif overwrite:
            path.unlink()
        else:
            differences = checks.difference(found["settings"], self.settings)
            raise ValueError(
                f"{self.folder} holds an interrupted run with other settings: {differences}. "
                f"Repeat its command to finish it, name another run_dir, or overwrite it."
            )

    def _whole_state(self, path: Path) -> dict[str, Any]:
        """Return the state of an interrupted run; raise ``ValueError`` if one of its files is damaged."""
        try:
            state = state_files.read_state(path)
            history, best, sums = state_files.read_progress(state, self.monitor)
            if not isinstance(state.get("settings"), dict):
                raise ValueError("it has no settings")
        except ValueError as error:
            raise ValueError(f"{path} is damaged ({error}): {self._begin_anew}") from None
        for name in (f"epoch-{len(history)}.npz", f"best-{best}.npz"):
            file = self.folder / name
            if not file.is_file() or files.sha256(file) != sums.get(name):
                raise ValueError(f"{file} is missing or damaged: {self._begin_anew}")
        return state

    def _load(self, name: str, variables: list[keras.Variable]) -> list[np.ndarray]:
        path = self.folder / name
        try:
            return state_files.read_arrays(path, variables)
        except ValueError as error:
            raise ValueError(f"{path} is damaged ({error}): {self._begin_anew}") from None


def _weights(model: keras.Model) -> list[keras.Variable]:
    """Return what training changes; frozen word vectors do not change, and are too large to save each epoch."""
    frozen = {id(layer.frozen_table) for layer in model.layers if isinstance(layer, WordEmbedding)}
    return [variable for variable in model.variables if id(variable) not in frozen]


def _state(model: keras.Model) -> list[keras.Variable]:
    return [*_weights(model), *model.optimizer.variables]


def _values(variables: list[keras.Variable]) -> list[np.ndarray]:
    # NumPy's files cannot hold bfloat16; float32 represents it exactly.
    values = [keras.ops.convert_to_numpy(variable) for variable in variables]
    return [value.astype(np.float32) if value.dtype.name == "bfloat16" else value for value in values]


def _assign(variables: list[keras.Variable], values: list[np.ndarray]) -> None:
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)
