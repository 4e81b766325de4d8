"""Registered models as keras-tuner's hypermodels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
import keras_tuner

from dense_lstm_zoo import checks
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.search.budget import fit_width
from dense_lstm_zoo.search.space import Space, check_space, declare, default_space, ends
from dense_lstm_zoo.tasks import check_options

_LARGEST = 8  # width or depth of a model that is built only to check its arguments


class HyperModel(keras_tuner.HyperModel):
    """A registered model whose arguments are searched, for ``tune`` and for any tuner of keras-tuner.

    Args:
        model: A registered model.
        space: The search space: a ``Range`` or a list of values for each argument. None means the task's default.
        budget: Parameters of the encoder. The width is derived from the depth so as not to exceed it.
        **arguments: Fixed arguments of the model, including those that follow from the data.

    Raises:
        ValueError: An empty space, an argument that the model does not have or that is also fixed, or values of a space
            that are no values.

    Example:
        >>> hypermodel = HyperModel("bilstm", {"units": [4, 8]}, vocab_size=10, num_classes=2)
        >>> hypermodel.build(keras_tuner.HyperParameters()).get_layer("bilstm_1").units
        4
    """

    def __init__(self, model: str, space: Space | None = None, budget: int | None = None, **arguments: Any) -> None:
        super().__init__(name=model)
        self.model, self.fixed, self.budget = model, arguments, budget
        self.space = default_space(model, arguments) if space is None else checks.plain(space)
        check_space(model, self.space, arguments)

    def declare_hyperparameters(self, hp: keras_tuner.HyperParameters) -> None:
        """Add the space to ``hp``."""
        declare(hp, self.space)

    def arguments(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fixed arguments, the chosen values and the width that a budget allows."""
        point = {**self.fixed, **{name: values[name] for name in self.space}}
        if self.budget is None:
            return point
        accepted = registry.entry(self.model).arguments
        own = {name: value for name, value in point.items() if name in accepted}
        return {**point, **fit_width(self.model, own, self.budget)}

    def build(self, hp: keras_tuner.HyperParameters) -> keras.Model:
        """Return the compiled model."""
        self.declare_hyperparameters(hp)
        accepted = registry.entry(self.model).arguments
        arguments = {name: value for name, value in self.arguments(hp.values).items() if name in accepted}
        return registry.build(self.model, **arguments)

    def fit(self, hp: keras_tuner.HyperParameters, model: keras.Model, *args: Any, **kwargs: Any) -> Any:
        """Train a trial's model as its tuner's ``search`` was called.

        Raises:
            ValueError: A space with options of training, which ``tune`` searches.
        """
        accepted = registry.entry(self.model).arguments
        if options := [name for name in self.space if name not in accepted]:
            raise ValueError(
                f"{options[0]} is an option of training, not an argument of {self.model}. zoo.tune searches it. A "
                "tuner of your own trains with the batches that search() is given."
            )
        return super().fit(hp, model, *args, **kwargs)


def check_values(model: str, space: Space, budget: int | None, fixed: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` if training or the model rejects a value in the space.

    A small model is built for every choice, and for both ends of a range, with a vocabulary of a few words.

    Example:
        >>> check_values("bilstm", {"units": [4, 0]}, None, {})
        Traceback (most recent call last):
        ValueError: units must be an integer of at least 1; received 0.
    """
    hypermodel = HyperModel(model, space, budget, **registry.sizes(model), **fixed)
    choices = {name: ends(values) for name, values in space.items()}
    first = {name: values[0] for name, values in choices.items()}
    points = [first, *({**first, name: value} for name, values in choices.items() for value in values[1:])]
    small_models: set[str] = set()
    for values in points:
        check_built(model, hypermodel.arguments(values), small_models)


def check_built(model: str, arguments: Mapping[str, Any], small_models: set[str] | None = None) -> None:
    """Raise ``ValueError`` for arguments that training or the model refuses, of which a small one is built.

    Args:
        model: A registered model.
        arguments: Of ``train``.
        small_models: The small models that were built already.
    """
    check_options(arguments)
    accepted = registry.entry(model).arguments
    arguments = {**registry.sizes(model), **{name: value for name, value in arguments.items() if name in accepted}}
    small = _shrunk(arguments)
    if small_models is not None:
        if repr(small) in small_models:
            return
        small_models.add(repr(small))
    try:
        registry.build(model, **small)
    except ValueError:
        registry.build(model, **arguments)  # says whether, and what, it is without the shrinking


def _shrunk(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with every large number reduced, so that no huge model is built here."""
    return {
        name: min(value, _LARGEST) if isinstance(value, int) and not isinstance(value, bool) else value
        for name, value in arguments.items()
    }
