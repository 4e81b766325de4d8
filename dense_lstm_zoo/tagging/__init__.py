"""Tagging: factories, recipes, corpora, training runs, trained models."""

from typing import Any

from dense_lstm_zoo import moved


def __getattr__(name: str) -> Any:
    """Return a name of the former module ``tagging``, with a warning."""
    return moved.attribute(__name__, name)
