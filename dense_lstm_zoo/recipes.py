"""Recipes by name; the rows of the papers' tables are in a file a task."""

from __future__ import annotations

from dense_lstm_zoo import checks
from dense_lstm_zoo.classification import recipes as classification_recipes
from dense_lstm_zoo.language import recipes as language_recipes
from dense_lstm_zoo.recipe import Recipe
from dense_lstm_zoo.tagging import recipes as tagging_recipes

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipes in (classification_recipes, language_recipes, tagging_recipes)
    for recipe in recipes.RECIPES
}


def list_recipes(*, model: str | None = None) -> list[str]:
    """Return the recipes' names, or those that have arguments for ``model``.

    Example:
        >>> list_recipes(model="bilstm")
        ['ding2018', 'fixed_vectors']
    """
    return [name for name, recipe in RECIPES.items() if model is None or model in recipe.models]


def get_recipe(name: str, *, model: str | None = None) -> Recipe:
    """Return a recipe by name, else raise ``ValueError`` with near matches among all, or among those of ``model``.

    Example:
        >>> get_recipe("ding2018").expected["trec"]
        95.6
    """
    if name not in RECIPES:
        raise checks.unknown_name("recipe", name, list_recipes(model=model))
    return RECIPES[name]
