"""The arguments of ``compile`` of the Keras tasks: optimisers, losses on logits and metrics, and their configs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import keras
import tensorflow as tf

# As Keras' ``compile`` takes them.
Optimizer: TypeAlias = "keras.optimizers.Optimizer | str"
Loss: TypeAlias = "keras.losses.Loss | Callable[[tf.Tensor, tf.Tensor], tf.Tensor] | str | None"
Metric: TypeAlias = "keras.metrics.Metric | Callable[[tf.Tensor, tf.Tensor], tf.Tensor] | str"
Metrics: TypeAlias = "Sequence[Metric] | Mapping[str, Metric | Sequence[Metric]] | str | None"
AUTO = "auto"
# Keras' losses on probabilities, in lower case.
_PROBABILITIES = "((sparse_?)?(categorical|binary)_?(focal_?)?)?crossentropy|b?ce|kl_?divergence|kld"


def defaults_of(model: keras.Model) -> dict[str, Any]:
    """Return how a model is compiled, as configs, or nothing for one that is not."""
    config = model.get_compile_config() if model.compiled else None
    return dict(config or {})


def serialized(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return optimiser, loss and metrics as configs, of which each ``compile`` makes its own."""
    names = [name for name in ("optimizer", "loss", "metrics") if name in settings]
    return {name: keras.saving.serialize_keras_object(settings[name]) for name in names}


def check_loss(loss: object) -> None:
    """Raise ``ValueError`` for a loss of Keras on probabilities, alone or in a list or a dictionary."""
    for each in keras.tree.flatten(loss):
        _check_one_loss(each)


def _check_one_loss(loss: object) -> None:
    source: Any = loss if hasattr(loss, "__name__") else type(loss)  # a function, or a class
    name = loss if isinstance(loss, str) else source.__name__
    is_of_keras = isinstance(loss, str) or str(source.__module__).startswith("keras.")
    from_logits = getattr(loss, "from_logits", None)
    if is_of_keras and re.fullmatch(_PROBABILITIES, name.lower()) and not from_logits:
        kind = "Binary" if name.lower().startswith("b") else "SparseCategorical"
        raise ValueError(
            f"The model's outputs are logits; {name} takes probabilities. Use from_logits=True, such as "
            f"keras.losses.{kind}Crossentropy(from_logits=True), or leave the loss out."
        )
