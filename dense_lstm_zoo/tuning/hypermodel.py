"""Registered models as keras-tuner's hypermodels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
import keras_tuner

from dense_lstm_zoo import registry
from dense_lstm_zoo.tuning.budget import fit_width
from dense_lstm_zoo.tuning.space import Space, check_space, declare, default_space


class ZooHyperModel(keras_tuner.HyperModel):
    """A registered model whose arguments are searched; for ``tune``, and for any tuner of keras-tuner.

    Args:
        model: A registered model.
        space: What is searched; None is the task's usual.
        budget: The width follows from the depth, so that the encoder has just under so many parameters.
        **arguments: What is fixed: arguments of the model, those that follow from data included.

    Raises:
        ValueError: As ``space.check_space`` tells.

    Example:
        >>> hypermodel = ZooHyperModel("bilstm", {"units": [4, 8]}, vocab_size=10, num_classes=2)
        >>> hypermodel.build(keras_tuner.HyperParameters()).get_layer("bilstm_1").units
        4
    """

    def __init__(self, model: str, space: Space | None = None, budget: int | None = None, **arguments: Any) -> None:
        super().__init__(name=model)
        self.model, self.fixed, self.budget = model, arguments, budget
        self.space = default_space(model, arguments) if space is None else space
        check_space(model, self.space, arguments)

    def declare_hyperparameters(self, hp: keras_tuner.HyperParameters) -> None:
        """Add the space to ``hp``."""
        declare(hp, self.space)

    def arguments(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is fixed with the values that were chosen, and the width that a budget allows."""
        chosen = {**self.fixed, **{name: values[name] for name in self.space}}
        if self.budget is None:
            return chosen
        known = registry.entry(self.model).arguments
        given = {name: value for name, value in chosen.items() if name in known}
        return {**chosen, **fit_width(self.model, given, self.budget)}

    def build(self, hp: keras_tuner.HyperParameters) -> keras.Model:
        """Return the compiled model."""
        self.declare_hyperparameters(hp)
        known = registry.entry(self.model).arguments
        arguments = {name: value for name, value in self.arguments(hp.values).items() if name in known}
        return registry.build(self.model, **arguments)
