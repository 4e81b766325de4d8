"""Weights of labels in a training loss, from the option ``class_weights``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dense_lstm_zoo import checks

Weights = str | Mapping[Any, float] | None  # a value of the option


def in_config(option: Weights) -> Weights:
    """Return the option as a config holds it: names are strings."""
    return {str(name): weight for name, weight in option.items()} if isinstance(option, Mapping) else option


def check_loss(option: Weights, arguments: Mapping[str, Any], name: str = "class_weights") -> None:
    """Raise ``ValueError`` for weights in the loss of a conditional random field, which has no part for each tag.

    Args:
        option: The weights, or None.
        arguments: The arguments of the model.
        name: The name of the option.
    """
    if option is not None and arguments.get("crf"):
        raise ValueError(
            f"{name} weighs the loss of each tag, and crf=True has none: it trains on the probability of whole "
            f"sequences of tags. Leave out {name} or crf."
        )


def weights_of(
    option: str | Mapping[Any, float], names: Sequence[str], counts: Sequence[int], kind: str
) -> dict[int, float]:
    """Return the weight of each label's index.

    "balanced" is total / (labels that occur * count of the label), as in scikit-learn. A label that does not occur has
    weight 1.

    Args:
        option: "balanced", or weights by name.
        names: The labels, in the order of their indices.
        counts: How often each occurs in training.
        kind: The word for a label in the error.

    Raises:
        ValueError: A name that is not a label, with near matches.

    Example:
        >>> weights_of("balanced", ["no", "yes"], [3, 1], "label")
        {0: 0.6666666666666666, 1: 2.0}
        >>> weights_of({"yes": 3}, ["no", "yes"], [3, 1], "label")
        {0: 1.0, 1: 3.0}
    """
    if isinstance(option, str):  # "balanced"
        total, present = sum(counts), sum(count > 0 for count in counts)
        return {i: float(total / (present * count)) if count else 1.0 for i, count in enumerate(counts)}
    weights = {str(name): float(weight) for name, weight in option.items()}
    for name in weights:
        if name not in names:
            raise checks.unknown_name(f"{kind} in class_weights:", name, names)
    return {i: weights.get(name, 1.0) for i, name in enumerate(names)}
