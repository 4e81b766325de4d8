"""Recipes: one small frozen object a published result, with its arguments, protocol and expected score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dense_lstm_zoo import checks


@dataclass(frozen=True)
class Recipe:
    """How one published result was made, and what it was.

    Args:
        name: The name users type.
        source: Paper and table.
        models: Model arguments by model name; models that are not named have no such recipe.
        batch_size: Sentences a step.
        learning_rate_decay: What the learning rate is multiplied by after each epoch.
        epochs: Most epochs.
        patience: Epochs without a better dev accuracy before training stops.
        dev_fraction: Share of the training texts held out where a corpus has no dev set.
        expected: Published test accuracy in percent by corpus, of the paper's own model.
    """

    name: str
    source: str
    models: Mapping[str, Mapping[str, Any]]
    batch_size: int = 200
    learning_rate_decay: float = 1.0
    epochs: int = 30
    patience: int = 5
    dev_fraction: float = 0.1
    expected: Mapping[str, float] = field(default_factory=dict)

    def arguments_for(self, model: str) -> dict[str, Any]:
        """Return the arguments the recipe sets for ``model``; ``ValueError`` where it has none for that model."""
        if model not in self.models:
            near = list_recipes(model=model)
            raise ValueError(
                f"Recipe {self.name!r} is for {', '.join(self.models)}, not for {model!r}. "
                f"Recipes for {model}: {', '.join(near) or 'none'}."
            )
        return dict(self.models[model])


def _dc(num_dense_layers: int, dense_units: int, top_units: int = 100) -> dict[str, int]:
    return {"num_dense_layers": num_dense_layers, "dense_units": dense_units, "top_units": top_units}


def _ding_row(table: int, dl: int, dh: int, th: int, sst1: float, sst2: float) -> Recipe:
    return Recipe(
        name=f"ding2018_table{table}_{dl}x{dh}",
        source=f"Ding et al. 2018, Table {table}, row dl={dl} dh={dh} th={th}",
        models={"dc_bilstm": _dc(dl, dh, th)},
        expected={"sst1": sst1, "sst2": sst2},
    )


_RECIPES = (
    Recipe(
        name="ding2018",
        source="Ding et al. 2018, section 4.2 and Table 1",
        models={
            "dc_bilstm": _dc(15, 13),
            "bilstm": {"units": 300},
            "lstm": {"units": 300},
            "stacked_bilstm": {"num_layers": 8, "units": 100},
            "residual_bilstm": {"num_layers": 8, "units": 100},
        },
        expected={"mr": 82.8, "sst1": 51.9, "sst2": 89.7, "subj": 94.5, "trec": 95.6},
    ),
    _ding_row(3, 0, 10, 300, 49.2, 87.2),
    _ding_row(3, 5, 40, 100, 49.6, 88.4),
    _ding_row(3, 10, 20, 100, 51.0, 88.5),
    _ding_row(3, 15, 13, 100, 51.9, 89.7),
    _ding_row(3, 20, 10, 100, 50.2, 88.8),
    _ding_row(4, 0, 10, 100, 48.5, 87.5),
    _ding_row(4, 5, 10, 100, 49.4, 88.1),
    _ding_row(4, 10, 10, 100, 49.5, 88.4),
    _ding_row(4, 15, 10, 100, 50.6, 88.8),
    _ding_row(4, 20, 10, 100, 50.2, 88.8),
    _ding_row(5, 10, 0, 100, 48.5, 87.5),
    _ding_row(5, 10, 5, 100, 49.2, 88.3),
    _ding_row(5, 10, 10, 100, 49.5, 88.4),
    _ding_row(5, 10, 15, 100, 50.2, 88.4),
    _ding_row(5, 10, 20, 100, 51.0, 88.5),
    Recipe(
        name="xie2019",
        source="Xie et al. 2019, section 4 (the DC-Bi-LSTM it compares with: 14 + 1 layers, Table 2)",
        models={"dc_bilstm": {**_dc(14, 13), "recurrent_initializer": "glorot_uniform", "unit_forget_bias": False}},
        expected={"sst1": 50.1, "sst2": 89.3, "trec": 94.8, "subj": 94.8, "mr": 83.3, "cr": 85.3},
    ),
)
RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in _RECIPES}


def list_recipes(*, model: str | None = None) -> list[str]:
    """Return the recipes' names, or those that have arguments for ``model``.

    Example:
        >>> list_recipes(model="bilstm")
        ['ding2018']
    """
    return [name for name, recipe in RECIPES.items() if model is None or model in recipe.models]


def get_recipe(name: str) -> Recipe:
    """Return a recipe by name, else raise ``ValueError`` with near matches.

    Example:
        >>> get_recipe("ding2018").expected["trec"]
        95.6
    """
    if name not in RECIPES:
        raise checks.unknown_name("recipe", name, RECIPES)
    return RECIPES[name]
