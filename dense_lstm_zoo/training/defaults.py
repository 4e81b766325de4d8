"""What ``train`` chooses when it is not told: word vectors and the recipe that goes with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dense_lstm_zoo.data import word_source
from dense_lstm_zoo.options import WORD_VECTORS
from dense_lstm_zoo.recipes import list_recipes
from dense_lstm_zoo.task import Task

# The recipe of a run with the zoo's vectors, for the models that have one of these.
RECIPES = ("fixed_vectors", "kim2014_fixed_vectors", "xie2019_fixed_vectors", "batched_fixed_vectors")


def choose(
    task: Task, model: str, options: Mapping[str, Any], arguments: Mapping[str, Any], recipe: str | None
) -> tuple[dict[str, Any], str | None, str]:
    """Choose the word vectors of a run that names none, and the recipe of one that names none either.

    Args:
        task: The model's task.
        model: A registered model.
        options: The options of ``train`` that were given; ``vectors="none"`` means without.
        arguments: The model arguments that were given.
        recipe: The recipe that was given, or None.

    Returns:
        The options, the recipe, and a line that says which vectors are used, if the user did not say.
    """
    options = dict(options)
    if options.get("init_from") is not None:  # the source decides, see ``transfer.read_source``
        return options, recipe, ""
    if not set(WORD_VECTORS) <= set(task.options):
        return options, recipe, ""
    if options.get("vectors") == word_source.NONE:
        return {**options, "vectors": None}, recipe, ""
    if options.get("vectors") is not None:
        return options, recipe, ""
    found = None if options.get("vector_words") == 0 else word_source.default(arguments.get("embedding_dim"))
    if found is None:
        return options, recipe, "" if arguments.get("embedding_dim") else word_source.COST
    options["vectors"], said = found, ""
    if recipe is None:
        recipe = next((name for name in RECIPES if name in list_recipes(model=model)), None)
        said = f" with the recipe {recipe}" if recipe else ""
    return options, recipe, f"word vectors: {found}{said}; --vectors none trains without"
