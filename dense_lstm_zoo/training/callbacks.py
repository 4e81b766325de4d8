"""Callbacks that ``train`` gives to ``fit``."""

from __future__ import annotations

import time

import keras


class EpochSeconds(keras.callbacks.Callback):
    """Add the epoch's wall-clock seconds to the history."""

    def on_epoch_begin(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Start the clock."""
        self._started = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Stop the clock; ``logs`` is the row that ``History`` stores afterwards."""
        if logs is not None:
            logs["seconds"] = round(time.perf_counter() - self._started, 3)
