"""The defaults that ``train`` chooses itself: word vectors and the recipe that goes with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dense_lstm_zoo.data import word_source
from dense_lstm_zoo.tasks import Task
from dense_lstm_zoo.tasks.options import WORD_VECTORS
from dense_lstm_zoo.tasks.recipes import list_recipes, name_or_none

# The recipe of a run with word vectors that stay as they are, and the same one with words that are trained.
RECIPES = {
    "fixed_vectors": "ding2018",
    "kim2014_fixed_vectors": "kim2014",
    "xie2019_fixed_vectors": "xie2019",
    "batched_fixed_vectors": "batched",
}


def choose(
    task: Task, model: str, options: Mapping[str, Any], arguments: Mapping[str, Any], recipe: str | None
) -> tuple[dict[str, Any], str | None, str]:
    """Choose the word vectors of a run that names none, and the recipe of one that names none either.

    Each is chosen for itself: naming the vectors or their width does not switch the recipe off.

    Args:
        task: The model's task.
        model: A registered model.
        options: The options of ``train`` that were given. ``vectors="none"`` means without.
        arguments: The model arguments that were given.
        recipe: The recipe that was given, ``"none"`` for no recipe, or None.

    Returns:
        The options, the recipe, and a line that says what was chosen, if anything was.
    """
    options, names_recipe, recipe = dict(options), recipe is not None, name_or_none(recipe)
    if options.get("init_from") is not None or not set(WORD_VECTORS) <= set(task.options):
        return options, recipe, ""  # the source decides, see ``transfer.read_source``
    source, dim = options.get("vectors"), arguments.get("embedding_dim")
    if source is None:
        options["vectors"] = word_source.default(dim)
        if options["vectors"] is None:
            if not names_recipe and word_source.default(None) is not None:
                recipe = _recipe(model, trains_words=True)  # the width drops the vectors, not the recipe
            return options, recipe, word_source.without(dim)
    elif source == word_source.NONE:
        options["vectors"] = None
    if not names_recipe:
        recipe = _recipe(model, trains_words=options["vectors"] is None)
    addition = f" with the recipe {recipe}" if recipe and not names_recipe else ""
    if source is None:
        return options, recipe, f"word vectors: {options['vectors']}{addition}; --vectors none trains without"
    return options, recipe, f"word vectors: {source}{addition}; --recipe none trains without one" if addition else ""


def trained_words(recipe: str | None) -> str | None:
    """Return the recipe that trains the words where this one keeps word vectors, else the same recipe.

    Example:
        >>> trained_words("fixed_vectors"), trained_words("zhou2016")
        ('ding2018', 'zhou2016')
    """
    return recipe if recipe is None else RECIPES.get(recipe, recipe)


def _recipe(model: str, *, trains_words: bool) -> str | None:
    """Return the recipe of a model whose user names none."""
    fixed = next((name for name in RECIPES if name in list_recipes(model=model)), None)
    return trained_words(fixed) if trains_words else fixed
