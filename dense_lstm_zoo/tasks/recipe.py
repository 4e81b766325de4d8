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


def learning_rate_factor(epoch: int, *, decay: float, after: int) -> float:
    """Return the factor on the learning rate in an epoch, counted from 1.

    Args:
        epoch: The epoch.
        decay: The factor after each epoch beyond ``after``.
        after: The last epoch with the full learning rate.

    Example:
        >>> [round(learning_rate_factor(epoch, decay=0.95, after=6), 4) for epoch in (1, 6, 7, 8)]
        [1.0, 1.0, 0.95, 0.9025]
    """
    return decay ** max(0, epoch - after)
