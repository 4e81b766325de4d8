"""Score and keep the moving average of the weights while training continues from the weights themselves.

An optimiser with ``use_ema=True`` (a language model's ``average``) updates the average after each step and gives it to
the model at the end of ``fit``. Until then the model has the trained weights.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import keras

from dense_lstm_zoo.models.compiling import inner_optimizer


@contextlib.contextmanager
def averaged(model: keras.Model) -> Iterator[None]:
    """Give a model in training the average of its weights, inside the block only.

    Nothing changes if the optimiser keeps no average or has taken no step. After the block the model has its former
    weights, bit for bit: training continues as if nothing had been scored or saved.

    Not for a model whose training has ended: it has the average already, or weights that were set since.

    Args:
        model: A compiled model, between two of its steps.

    Reference: Polyak & Juditsky 1992; Merity et al. 2018, section 3.
    """
    optimizer = inner_optimizer(model.optimizer)
    if not optimizer.use_ema or not int(optimizer.iterations):
        yield
        return
    pairs = zip(optimizer._trainable_variables, optimizer._model_variables_moving_average, strict=True)
    averages = [(variable, average) for variable, average in pairs if variable.trainable]  # others are frozen
    variables = [variable for variable, _ in averages]
    values = [keras.ops.convert_to_numpy(variable).copy() for variable in variables]
    for variable, average in averages:
        variable.assign(average)
    try:
        yield
    finally:
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)


class EvaluateAverage(keras.callbacks.Callback):
    """Score the average of the weights wherever ``fit`` scores its validation data.

    Its place among the callbacks does not matter: at the end of an epoch the model has the trained weights again. A
    callback that keeps the weights of the best epoch must read them inside ``with averaged(model)``. One that saves the
    state for resuming must read the model and the optimiser outside that block.

    ``keras.callbacks.SwapEMAWeights`` swaps by adding and subtracting, which rounds the trained weights at every
    evaluation. And with ``swap_on_epoch=True``, training that stops early ends with the trained weights.

    Reference: Merity et al. 2018, section 3.
    """

    def __init__(self) -> None:
        super().__init__()
        self._inside = contextlib.ExitStack()

    def on_train_begin(self, logs: dict[str, float] | None = None) -> None:
        """Give the model the trained weights, which an interrupted evaluation has not."""
        self._inside.close()

    def on_test_begin(self, logs: dict[str, float] | None = None) -> None:
        """Give the model the average."""
        self._inside.close()
        self._inside.enter_context(averaged(self.model))

    def on_test_end(self, logs: dict[str, float] | None = None) -> None:
        """Give it the trained weights back."""
        self._inside.close()
