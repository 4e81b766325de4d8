"""Calls a run's callbacks. An epoch that is resumed inside looks to them like any other."""

from __future__ import annotations

from collections.abc import Sequence

import keras

from dense_lstm_zoo.training.checkpoint import Checkpoint


class RunCallbacks(keras.callbacks.CallbackList):
    """The callbacks of a run.

    ``fit`` cannot begin inside an epoch. Such an epoch is a ``fit`` of its own, on the rest of its batches. The other
    epochs follow in a second one. The callbacks see a single training, in which the rest of the batches have the
    numbers that they have in a whole epoch.

    Args:
        callbacks: The callbacks, in order.
        checkpoint: The one among them that resumes the epoch.
        model: The model that is trained.
        steps: The number of batches in a whole epoch.
        epochs: The last epoch of the training.
    """

    def __init__(
        self,
        callbacks: Sequence[keras.callbacks.Callback],
        checkpoint: Checkpoint,
        *,
        model: keras.Model,
        steps: int,
        epochs: int,
    ) -> None:
        params = {"model": model, "steps": steps, "epochs": epochs, "verbose": 0}
        super().__init__(list(callbacks), add_history=True, **params)
        self._checkpoint = checkpoint
        self._has_begun, self._first_batch = False, 0

    def on_train_begin(self, logs: dict[str, float] | None = None) -> None:
        """Begin the training, once."""
        if not self._has_begun:
            super().on_train_begin(logs)
        self._has_begun = True

    def on_epoch_begin(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Begin the epoch, and restore the state inside it if there is one."""
        super().on_epoch_begin(epoch, logs)
        self._first_batch = self._checkpoint.resume_epoch()

    def on_train_batch_begin(self, batch: int, logs: dict[str, float] | None = None) -> None:
        """Begin a batch, with its number in the whole epoch."""
        super().on_train_batch_begin(self._first_batch + batch, logs)

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        """End a batch, with its number in the whole epoch."""
        super().on_train_batch_end(self._first_batch + batch, logs)

    def on_train_end(self, logs: dict[str, float] | None = None) -> None:
        """End the training, unless epochs are left."""
        if self.model.stop_training or self._checkpoint.epochs >= self.params["epochs"]:
            super().on_train_end(logs)
