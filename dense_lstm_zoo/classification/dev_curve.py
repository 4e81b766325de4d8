"""Dev accuracy after every few batches: learning curves finer than an epoch (Xie et al. 2019, Figs 4 and 5)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import keras
import pandas as pd

from dense_lstm_zoo import checks, files
from dense_lstm_zoo.bundle import DEV_CURVE, read_dev_curve

COLUMNS = ("epoch", "batch", "dev_accuracy")


class DevCurve(keras.callbacks.Callback):
    """Score dev every few training batches, and keep the scores in ``dev_curve.csv``.

    The file is written after every epoch, so that an interrupted run resumes with the curve of its finished epochs.
    Scoring does not affect training.

    Args:
        folder: The folder for the file.
        every: Batches between two scores.
        score: Scores the current model.
    """

    def __init__(self, folder: Path, every: int, score: Callable[[], float]) -> None:
        super().__init__()
        self._path, self._every, self._score = folder / DEV_CURVE, checks.integer("dev_every", every), score
        found = read_dev_curve(folder)
        self._rows: list[tuple[float, ...]] = [] if found is None else list(found.itertuples(index=False, name=None))

    def on_epoch_begin(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Drop the rows that an interrupted run had for this epoch."""
        self._rows = [row for row in self._rows if row[0] <= epoch]
        self._epoch, self._batches = epoch + 1, epoch * self.params["steps"]

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        """Score dev every ``every`` batches."""
        self._batches += 1
        if self._batches % self._every == 0:
            self._rows.append((self._epoch, self._batches, self._score()))

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Write the file."""
        with files.new_file(self._path, "w") as file:
            pd.DataFrame(self._rows, columns=COLUMNS).to_csv(file, index=False)
