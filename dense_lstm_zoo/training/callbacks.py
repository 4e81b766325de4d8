"""Callbacks that ``train`` gives to ``fit``."""

from __future__ import annotations

import math
import time

import keras
import numpy as np


class DivergenceError(ArithmeticError):
    """The training loss is no longer finite; the message names the epoch, the batch and the likely cause."""


class FiniteLoss(keras.callbacks.Callback):
    """Stop with ``DivergenceError`` at the first batch whose loss is not finite."""

    def on_epoch_begin(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Store the number of the epoch."""
        self._epoch, self._last = epoch + 1, math.nan

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        """Check the epoch's mean loss so far: once one batch's is not finite, neither is the mean."""
        loss = float((logs or {})["loss"])
        if not math.isfinite(loss):
            raise DivergenceError(f"The loss became {loss} at epoch {self._epoch}, batch {batch + 1}. {self._cause()}")
        self._last = loss

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


class EpochSeconds(keras.callbacks.Callback):
    """Add the epoch's wall-clock seconds to the history."""

    def on_epoch_begin(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Start the clock."""
        self._started = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Stop the clock; ``logs`` is the row that ``History`` stores afterwards."""
        if logs is not None:
            logs["seconds"] = round(time.perf_counter() - self._started, 3)
