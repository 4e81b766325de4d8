"""Recipes by name. Each task lists its own in ``recipes.py``."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from dense_lstm_zoo import checks, tasks
from dense_lstm_zoo.tasks.recipe import Recipe

NONE = "none"  # the name for no recipe, where one would be chosen


@functools.cache
def recipes() -> Mapping[str, Recipe]:
    """Return all recipes by name."""
    return {recipe.name: recipe for task in tasks.every() for recipe in task.recipes}


def list_recipes(*, model: str | None = None) -> list[str]:
    """Return the names of all recipes, or of those for ``model``.

    Example:
        >>> list_recipes(model="bilstm")
        ['ding2018', 'fixed_vectors', 'few_labels']
    """
    return [name for name, recipe in recipes().items() if model is None or model in recipe.models]


def name_or_none(name: str | None) -> str | None:
    """Return a recipe's name, or None where no recipe is named or none is to be used."""
    return None if name == NONE else name


def get_recipe(name: str, *, model: str | None = None) -> Recipe:
    """Return a recipe by name, or raise ``ValueError`` with near matches (only recipes for ``model``, if given).

    Example:
        >>> get_recipe("ding2018").expected["trec"]
        95.6
    """
    if name not in recipes():
        raise checks.unknown_name("recipe", name, list_recipes(model=model))
    return recipes()[name]


def recipe_arguments(name: str, model: str) -> dict[str, Any]:
    """Return the arguments that a recipe sets for a model.

    Raises:
        ValueError: An unknown recipe, or one for other models. The message lists the model's recipes.
    """
    recipe = get_recipe(name, model=model)
    if model not in recipe.models:
        near = ", ".join(list_recipes(model=model)) or "none"
        raise ValueError(
            f"Recipe {name!r} is for {', '.join(recipe.models)}, not for {model!r}. Recipes for {model}: {near}."
        )
    return dict(recipe.models[model])
