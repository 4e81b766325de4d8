"""Callbacks that ``train`` gives to ``fit``."""

from __future__ import annotations

import math
import statistics
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from dense_lstm_zoo.tasks.recipe import learning_rate_factor
from dense_lstm_zoo.training.resumable import Resumable

_LAST_BATCHES = 100  # by whose seconds the time to score is estimated
_FEW_BATCHES = 5
_READ_AGAIN = 0.15  # of the seconds of reading: dev texts once more, and all for the record of what was learned


def check_own(callbacks: object) -> list[keras.callbacks.Callback]:
    """Return a user's callbacks as a list, else raise ``ValueError``."""
    must = "callbacks must be a list of keras.callbacks.Callback; received"
    if not isinstance(callbacks, list | tuple):
        raise ValueError(f"{must} {callbacks!r:.80}.")
    for number, callback in enumerate(callbacks):
        if not isinstance(callback, keras.callbacks.Callback):
            hint = " Create one: write its brackets." if isinstance(callback, type) else ""
            raise ValueError(f"{must} {callback!r:.80} as item {number}, counted from 0.{hint}")
    return list(callbacks)


class DivergenceError(ArithmeticError):
    """The training loss is no longer finite. The message names the epoch, the batch and the likely cause."""


class FiniteLoss(Resumable):
    """Stop with ``DivergenceError`` at the first batch whose loss is not finite."""

    KEY = "loss"

    def on_epoch_begin(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Store the number of the epoch."""
        self._epoch, self._last = epoch + 1, math.nan

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        """Check the epoch's mean loss so far: once one batch's is not finite, neither is the mean."""
        loss = float((logs or {})["loss"])
        if not math.isfinite(loss):
            raise DivergenceError(f"The loss became {loss} at epoch {self._epoch}, batch {batch + 1}. {self._cause()}")
        self._last = loss

    def save(self) -> dict[str, float]:
        """Return the last mean loss."""
        return {"last": self._last}

    def resume(self, state: Mapping[str, float]) -> None:
        """Store the last mean loss."""
        self._last = state["last"]

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Check the dev loss: the last update may have made it infinite."""
        loss = float((logs or {}).get("val_loss", 0.0))
        if not math.isfinite(loss):
            raise DivergenceError(f"The dev loss is {loss} after epoch {self._epoch}. {self._cause()}")

    def _cause(self) -> str:
        before = "" if math.isnan(self._last) else f" The mean loss of the batches before that was {self._last:.3g}."
        low = [layer.name for layer in self.model.layers if layer.compute_dtype == "float16"]
        if low:
            return f"Likely cause: float16 overflows above 65,504 (layer {low[0]}); use mixed_bfloat16.{before}"
        largest = max(float(np.nanmax(np.abs(w))) for w in self.model.get_weights() if w.size and not np.isnan(w).all())
        rate = float(keras.ops.convert_to_numpy(self.model.optimizer.learning_rate))
        return f"Likely cause: a learning rate of {rate:g} is too high (largest weight: {largest:.3g}).{before}"


class EpochSeconds(Resumable):
    """Add the epoch's wall-clock seconds to the history."""

    KEY = "seconds"

    def on_epoch_begin(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Start the clock."""
        self._started = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Stop the clock. ``logs`` is the row that ``History`` stores afterwards."""
        if logs is not None:
            logs["seconds"] = round(time.perf_counter() - self._started, 3)

    def save(self) -> dict[str, float]:
        """Return the seconds so far."""
        return {"elapsed": time.perf_counter() - self._started}

    def resume(self, state: Mapping[str, float]) -> None:
        """Count the seconds before the interruption too, but not those between the two runs."""
        self._started -= state["elapsed"]


class TimeLimit(keras.callbacks.Callback):
    """End a training in time for its last scores. The epoch that it cuts short is scored, and may be the best.

    Args:
        minutes: Minutes that the run may take, with its preparation and its last scores.
        started: The reading of ``time.monotonic`` at its start, less what an interrupted run took before.
        dev_batches: Batches to score an epoch on.
        reading: Seconds that it took to read the texts. Of these, the last scores take a share again.
    """

    def __init__(self, minutes: float, started: float, dev_batches: int, reading: float = 0.0) -> None:
        super().__init__()
        self._minutes, self._end, self._dev_batches = minutes, started + 60 * minutes, dev_batches
        self._last_reading = _READ_AGAIN * reading
        self._batch_seconds: deque[float] = deque(maxlen=_LAST_BATCHES)
        self.reason: str | None = None  # of the end, once the time is over

    @property
    def seconds_left(self) -> float:
        """The seconds until the run must have ended."""
        return max(0.0, self._end - time.monotonic())

    def is_over(self) -> bool:
        """Return whether only the time to score is left: dev, dev again and test, each in a third of a training's."""
        # The first batch is slow, as are others for whose shapes a program is compiled: a few say nothing.
        seconds = [*self._batch_seconds][1:] if len(self._batch_seconds) > _FEW_BATCHES else [0.0]
        typical = statistics.median(seconds) if len(self._batch_seconds) == _LAST_BATCHES else min(seconds)
        scoring = self._dev_batches * typical + self._last_reading
        if time.monotonic() + scoring < self._end:
            return False
        self.reason = f"the time limit of {self._minutes:g} minutes"
        return True

    def on_train_batch_begin(self, batch: int, logs: dict[str, float] | None = None) -> None:
        """Start the batch's clock."""
        self._batch_started = time.monotonic()

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        """Stop the training if it is time to."""
        self._batch_seconds.append(time.monotonic() - self._batch_started)
        if self.is_over():
            self.model.stop_training = True


def schedule(rate: float, training: Mapping[str, Any]) -> keras.callbacks.Callback:
    """Return the callback that sets each epoch's learning rate from the run's ``training`` settings."""
    decay, after = training["learning_rate_decay"], training["decay_after"]
    return keras.callbacks.LearningRateScheduler(
        lambda epoch: rate * learning_rate_factor(epoch + 1, decay=decay, after=after)
    )
