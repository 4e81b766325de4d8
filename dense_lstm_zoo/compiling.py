"""How every factory compiles its model."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import keras


def compile_model(
    model: keras.Model, optimizer: keras.optimizers.Optimizer, loss: keras.losses.Loss, metric: keras.metrics.Metric
) -> keras.Model:
    """Compile a model so that ``fit`` traces its step once, and return it.

    A first trace that has to make variables is done twice: those of the optimiser, or of a metric that is given by its
    name, which is why it comes as an object.
    """
    model.compile(
        optimizer=optimizer,
        loss=loss,
        metrics=[metric],
        jit_compile=False,  # XLA would compile the whole model again for every shape
    )
    model.optimizer.build(model.trainable_variables)
    return model
