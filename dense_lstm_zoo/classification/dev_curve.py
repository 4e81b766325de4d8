"""Dev accuracy after every few batches: learning curves finer than an epoch (Xie et al. 2019, Figs 4 and 5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from dense_lstm_zoo import checks
from dense_lstm_zoo.bundles.bundle import DEV_CURVE, read_dev_curve
from dense_lstm_zoo.bundles.reading import CURVE_COLUMNS
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.training.resumable import Resumable


class DevCurve(Resumable):
    """Score dev every few training batches, and keep the scores in ``dev_curve.csv``.

    The file is written whenever the run's state is saved, so that an interrupted run resumes with the curve so far.
    Scoring does not affect training.

    Args:
        folder: The folder for the file.
        every: Batches between two scores.
        score: Scores the current model.
    """

    KEY = "dev_curve"

    def __init__(self, folder: Path, every: int, score: Callable[[], float]) -> None:
        super().__init__()
        self._path, self._every, self._score = folder / DEV_CURVE, checks.integer("dev_every", every), score
        self._rows = self._read()

    def _read(self) -> list[tuple[float, ...]]:
        curve = read_dev_curve(self._path.parent)
        return [] if curve is None else list(curve.itertuples(index=False, name=None))

    def on_epoch_begin(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Drop the rows that an interrupted run had for this epoch."""
        self._rows = [row for row in self._rows if row[0] <= epoch]
        self._epoch, self._batches = epoch + 1, epoch * self.params["steps"]

    def save(self) -> dict[str, float]:
        """Write the file, and return the number of batches so far."""
        self._write()
        return {"batches": self._batches}

    def resume(self, state: Mapping[str, float]) -> None:
        """Take the rows up to the saved batch from the file, which may have been written after the state."""
        self._batches = int(state["batches"])
        self._rows = [row for row in self._read() if row[1] <= self._batches]

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        """Score dev every ``every`` batches."""
        self._batches += 1
        if self._batches % self._every == 0:
            self._rows.append((self._epoch, self._batches, self._score()))

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Write the file."""
        self._write()

    def _write(self) -> None:
        with files.new_file(self._path, "w") as file:
            pd.DataFrame(self._rows, columns=CURVE_COLUMNS).to_csv(file, index=False)
