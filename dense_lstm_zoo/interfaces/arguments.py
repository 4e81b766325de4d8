"""The arguments with which a Keras task is made: those of its model, and where its words come from."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.tasks.options import RANDOM_WORDS


def resolve_own(
    task: str, model: str, arguments: dict[str, Any], recipe: str | None, vectors: object
) -> dict[str, Any]:
    """Return the arguments of a model that do not follow from the data, with their defaults.

    Word vectors that would stay random, because none are given and they are frozen, are warned of.

    Raises:
        ValueError: A model for another task, an unknown argument (with near matches), or one that the data decide.
    """
    models = registry.list_models(task=task)
    if model not in models:
        raise checks.unknown_name("model", model, models)
    if own := [name for name in arguments if name in registry.FROM_DATA]:
        raise ValueError(f"{', '.join(own)}: the words and labels of a task decide this; leave it out.")
    resolved: dict[str, Any] = registry.resolve(model, arguments, recipe, complete=False)
    if vectors is None and resolved.get("trainable_embeddings") is False:
        warnings.warn(f"{RANDOM_WORDS} trainable_embeddings=True trains them.", stacklevel=3)
    return resolved


def check_source(owner: object, texts: object, vocabulary: object, **of_texts: object) -> None:
    """Raise ``ValueError`` unless the words of a task come from one place.

    Args:
        owner: The task.
        texts: Its argument of this name.
        vocabulary: Its argument of this name.
        **of_texts: Its arguments that say which words of ``texts`` there are.
    """
    name = type(owner).__name__
    if (texts is None) == (vocabulary is None):
        raise ValueError(f"{name} takes its words from texts=..., the training texts, or from vocabulary=...")
    defaults = inspect.signature(type(owner).__init__).parameters
    wrong = [argument for argument, value in of_texts.items() if value != defaults[argument].default]
    if vocabulary is not None and wrong:
        raise ValueError(
            f"{', '.join(wrong)} would choose the words of texts=...; those of {name} are given by vocabulary=... "
            "Leave one of them out."
        )
