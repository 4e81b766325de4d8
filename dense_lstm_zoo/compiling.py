"""Compiling models, as all factories do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import keras


def compile_model(
    model: keras.Model, optimizer: keras.optimizers.Optimizer, loss: keras.losses.Loss, metric: keras.metrics.Metric
) -> keras.Model:
    """Compile a model so that ``fit`` traces its step only once, and return it.

    A first trace that creates variables is done twice. Those may be the optimiser's, or those of a metric given by its
    name, so metrics must be objects.
    """
    model.compile(
        optimizer=optimizer,
        loss=loss,
        metrics=[metric],
        jit_compile=False,  # XLA would compile the whole model again for every shape
    )
    model.optimizer.build(model.trainable_variables)
    return model
