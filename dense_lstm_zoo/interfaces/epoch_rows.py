"""The epochs of ``fit`` as a table: which values each has, as not all are there in every epoch."""

from __future__ import annotations

from typing import Any

import keras
import pandas as pd


class EpochRows(keras.callbacks.History):
    """The history that ``fit`` returns, with a row for each epoch beside Keras' columns.

    Keras' columns do not say which epochs they are of: ``validation_freq`` leaves some out, and so may callbacks.
    """

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Begin without rows."""
        super().on_train_begin(logs)
        self.rows: list[dict[str, Any]] = []

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Add the row of an epoch."""
        super().on_epoch_end(epoch, logs)
        self.rows.append({"epoch": epoch + 1, **(logs or {})})


def rows_of(history: keras.callbacks.History | None, measure: str) -> pd.DataFrame:
    """Return the epochs of a history, with gaps where an epoch has no value. None has no epochs.

    It has the columns that every bundle has, the losses and scores by ``measure`` among them. Of Keras' own history,
    which a ``CallbackList`` brings along, only columns with a value of every epoch are taken.
    """
    if isinstance(history, EpochRows):
        rows = pd.DataFrame(history.rows)
    else:
        epochs = [] if history is None else history.epoch
        columns = {} if history is None else history.history
        whole = {name: values for name, values in columns.items() if len(values) == len(epochs)}
        rows = pd.DataFrame({"epoch": [epoch + 1 for epoch in epochs], **whole})
    scores = ["loss", "val_loss", measure, f"val_{measure}"]
    return rows.reindex(columns=list(dict.fromkeys(["epoch", *rows.columns, *scores])))
