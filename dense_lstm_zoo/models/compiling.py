"""Compiling models, as all factories do."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import keras

_settings: ContextVar[dict[str, Any] | None] = ContextVar("_settings", default=None)


@contextlib.contextmanager
def uncompiled() -> Iterator[dict[str, Any]]:
    """Leave the models that are built in this block without loss, metrics and optimiser: enough for predictions.

    An optimiser that is never used takes as long to create as the rest of a deep model, and Adam's moments take twice
    the memory of the weights.

    Yields:
        A dictionary that gets the arguments with which the last model would have been compiled.
    """
    settings: dict[str, Any] = {}
    token = _settings.set(settings)
    try:
        yield settings
    finally:
        _settings.reset(token)


def compile_model(
    model: keras.Model, optimizer: keras.optimizers.Optimizer, loss: keras.losses.Loss, metric: keras.metrics.Metric
) -> keras.Model:
    """Compile a model so that ``fit`` traces its step only once, and return it.

    A first trace that creates variables is done twice. Those may be the optimiser's, or those of a metric given by its
    name, so metrics must be objects. Inside ``uncompiled``, the model is returned as it is.
    """
    import keras

    settings = {
        "optimizer": loss_scaled(model, optimizer),
        "loss": loss,
        "metrics": [metric],
        # XLA would compile the whole model again for every shape. JAX runs op by op without it.
        "jit_compile": keras.config.backend() == "jax",
    }
    if (into := _settings.get()) is not None:
        into.update(settings)
        return model
    model.compile(**settings)
    if not model.optimizer.built:  # a scaled one would begin anew
        model.optimizer.build(model.trainable_variables)
    return model


def loss_scaled(
    model: keras.Model, optimizer: keras.optimizers.Optimizer | str | None
) -> keras.optimizers.Optimizer | None:
    """Return an optimiser for a model, of a model in float16 one that scales the loss: small gradients would be zero.

    Keras looks at the policy of the model, and here it is that of the layers.
    """
    import keras

    from dense_lstm_zoo.models import registry

    optimizer = keras.optimizers.get(optimizer)
    in_float16 = any(layer.compute_dtype == "float16" for layer in registry.network(model).layers)
    if not in_float16 or optimizer is None or isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
        return optimizer
    return keras.optimizers.LossScaleOptimizer(optimizer)


def inner_optimizer(optimizer: keras.optimizers.Optimizer) -> Any:
    """Return the optimiser inside one that scales the loss, or the optimiser itself."""
    return getattr(optimizer, "inner_optimizer", optimizer)
