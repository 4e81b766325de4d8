"""The log of a training: a line per epoch, for the person who watches it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import keras

from dense_lstm_zoo.data.progress import Progress
from dense_lstm_zoo.display import notes

if TYPE_CHECKING:
    from dense_lstm_zoo.training.callbacks import TimeLimit
    from dense_lstm_zoo.training.checkpoint import Checkpoint

_ROW = "{:>9}  {:>8}  {:>8}  {:>8} {:1}  {:>7}  {:>7}"


class EpochLog(keras.callbacks.Callback):
    """Print an aligned line per epoch, and how far the epoch is: a bar on a terminal, else a line once a minute.

    A line has the loss, the scores on the training and the dev texts, a star if dev is better than ever before, the
    epoch's seconds, and the time left if all epochs are trained, but no more than the limit leaves. Where the dev
    loss chooses the epoch, the star is the loss's, and the scores are accuracies.

    Args:
        checkpoint: The run's checkpoint, which is called before.
        limit: The run's time limit, if it has one.
    """

    SECONDS = 60.0

    def __init__(self, checkpoint: Checkpoint, limit: TimeLimit | None = None) -> None:
        super().__init__()
        self._checkpoint, self._limit, self._has_header = checkpoint, limit, False

    def on_epoch_begin(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Begin the bar. The first line has the names of the columns."""
        if not self._has_header:
            notes.show(_ROW.format("epoch", "loss", "train", "dev", "", "time", "left"))
            self._has_header = True
        self._progress = Progress(f"epoch {epoch + 1}", unit="batches", seconds=self.SECONDS)
        self._has_begun = False

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        """Move the bar. A resumed epoch begins where it was."""
        if not self._has_begun:
            self._progress.start(batch, self.params["steps"])
            self._has_begun = True
        self._progress.update(batch + 1)

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Print the epoch's line."""
        history, monitor = self._checkpoint.history, self._checkpoint.monitor
        row, epochs = history[-1], self.params["epochs"]
        if monitor.endswith("loss") and "val_accuracy" in row:  # the training loss is there already
            monitor = "val_accuracy"
        self._progress.clear()
        seconds_left = sum(each["seconds"] for each in history) / len(history) * (epochs - len(history))
        if self._limit is not None:
            seconds_left = min(seconds_left, self._limit.seconds_left)
        notes.show(
            _ROW.format(
                f"{len(history)}/{epochs}",
                f"{row['loss']:.4f}",
                score(monitor, row.get(monitor.removeprefix("val_"))),
                score(monitor, row[monitor]),
                "*" if self._checkpoint.best_epoch == len(history) else "",
                duration(row["seconds"]),
                duration(seconds_left),
            )
        )


def score(name: str, value: float | None) -> str:
    """Return a score as a log shows it: shares in per cent, losses and perplexities as they are.

    >>> score("val_accuracy", 0.8713), score("val_perplexity", 91.04), score("val_f1", None)
    ('87.1 %', '91.04', '')
    """
    if value is None:
        return ""
    return f"{value:.4g}" if name.endswith(("loss", "perplexity")) else f"{100 * value:.1f} %"


def duration(seconds: float) -> str:
    """Return seconds in two digits or so.

    >>> duration(4.26), duration(75), duration(3 * 60), duration(2.5 * 3600)
    ('4.3 s', '75 s', '3 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
