"""Answers as the keys and columns that ``dense-lstm-zoo predict --file`` writes, in every format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# The keys that a row gains, by task; they are those of the answers.
KEYS = {
    "classification": ("label", "probability", "probabilities"),
    "tagging": ("tokens", "tags", "probabilities"),
    "language_model": ("log_probability", "perplexity", "tokens", "unknown_words"),
}


def fields(answer: Any) -> dict[str, Any]:
    """Return an answer's keys and values, without its text.

    Example:
        >>> from dense_lstm_zoo_runtime import Prediction
        >>> fields(Prediction("fine", "yes", 0.75, {"no": 0.25, "yes": 0.75}))
        {'label': 'yes', 'probability': 0.75, 'probabilities': {'no': 0.25, 'yes': 0.75}}
    """
    return {name: value for name, value in vars(answer).items() if name != "text"}


def columns(task: str, labels: Sequence[str]) -> list[str]:
    """Return the names of the columns of a table; a classifier has one for each label.

    Example:
        >>> columns("classification", ["no", "yes"])
        ['label', 'probability', 'p_no', 'p_yes']
    """
    if task == "classification":
        return ["label", "probability", *(f"p_{label}" for label in labels)]
    return list(KEYS[task])


def values(found: dict[str, Any], task: str, labels: Sequence[str]) -> list[Any]:
    """Return the values of those columns, from an answer's ``fields``."""
    if task == "classification":
        return [found["label"], found["probability"], *(found["probabilities"][label] for label in labels)]
    return [found[name] for name in KEYS[task]]


def line(found: dict[str, Any], task: str, text: str) -> list[str]:
    """Return the strings that a line of text joins with tabs, from an answer's ``fields``."""
    if task == "classification":
        return [found["label"], f"{found['probability']:.4f}", text]
    if task == "language_model":
        return [f"{found['log_probability']:.4f}", f"{found['perplexity']:.2f}", text]
    return [" ".join(f"{token}/{tag}" for token, tag in zip(found["tokens"], found["tags"], strict=True))]
