"""A recipe: the settings of a published result: model arguments, protocol and expected score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Recipe:
    """The settings and the score of one published result.

    Args:
        name: The name users type.
        source: Paper and table.
        models: Model arguments by model name. The recipe does not apply to other models.
        batch_size: Sentences per step.
        learning_rate_decay: Factor on the learning rate after each epoch beyond ``decay_after``.
        decay_after: The last epoch with the full learning rate.
        num_steps: Length of a language model's windows.
        epochs: Maximum number of epochs.
        patience: Epochs without a better dev accuracy before training stops.
        dev_fraction: Share of the training texts held out for dev if the corpus has no dev set.
        vectors: A language model's word vectors. None means random ones.
        max_words: Size of a language model's vocabulary. None means all words.
        unfreeze: How layers join in training that goes on from a model. See ``train``.
        layer_decay: What the learning rate is divided by from one layer to the next below, likewise.
        head: How a classifier's last layer begins. See ``train``.
        expected: The paper's result for its own model, by corpus: test accuracy in percent, or test perplexity.
    """

    name: str
    source: str
    models: Mapping[str, Mapping[str, Any]]
    batch_size: int = 200
    learning_rate_decay: float = 1.0
    decay_after: int = 1
    num_steps: int | None = None
    epochs: int = 30
    patience: int = 5
    dev_fraction: float = 0.1
    vectors: str | None = None
    max_words: int | None = None
    unfreeze: str | None = None
    layer_decay: float | None = None
    head: str | None = None
    expected: Mapping[str, float] = field(default_factory=dict)

    def learning_rate_factor(self, epoch: int) -> float:
        """Return the factor on the learning rate in an epoch, counted from 1.

        Example:
            >>> from dense_lstm_zoo.tasks.recipes import get_recipe
            >>> [round(get_recipe("godin2017_dense_200x2").learning_rate_factor(k), 4) for k in (1, 6, 7, 8)]
            [1.0, 1.0, 0.95, 0.9025]
        """
        return learning_rate_factor(epoch, decay=self.learning_rate_decay, after=self.decay_after)

    def arguments_for(self, model: str) -> dict[str, Any]:
        """Return the arguments the recipe sets for ``model``, or raise ``ValueError`` if it has none."""
        if model not in self.models:
            raise ValueError(f"Recipe {self.name!r} is for {', '.join(self.models)}, not for {model!r}.")
        return dict(self.models[model])


def learning_rate_factor(epoch: int, *, decay: float, after: int) -> float:
    """Return the factor on the learning rate in an epoch, counted from 1."""
    return decay ** max(0, epoch - after)
