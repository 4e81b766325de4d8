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
        learning_rate_decay: What the learning rate is multiplied by after each epoch,
        decay_after: from this one on.
        num_steps: Length of a language model's windows.
        epochs: Most epochs.
        patience: Epochs without a better dev accuracy before training stops.
        dev_fraction: Share of the training texts held out where a corpus has no dev set.
        expected: Published result by corpus, of the paper's own model: test accuracy in percent, or test perplexity.
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
    expected: Mapping[str, float] = field(default_factory=dict)

    def learning_rate_factor(self, epoch: int) -> float:
        """Return what the learning rate of an epoch, counted from 1, is multiplied by.

        Example:
            >>> [round(get_recipe("godin2017_dense_200x2").learning_rate_factor(k), 4) for k in (1, 6, 7, 8)]
            [1.0, 1.0, 0.95, 0.9025]
        """
        return self.learning_rate_decay ** max(0, epoch - self.decay_after)

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


def _language_model(
    name: str, source: str, model: str, expected: float, arguments: Mapping[str, Any], **protocol: Any
) -> Recipe:
    """Return a language model's recipe: Godin's protocol (G3-G8) where nothing else is said."""
    settings: dict[str, Any] = {"batch_size": 20, "num_steps": 35, "epochs": 100, "patience": 100}
    settings |= {"learning_rate_decay": 0.95, "decay_after": 6}
    return Recipe(name, source, {model: arguments}, expected={"ptb": expected}, **{**settings, **protocol})


def _godin_row(wiring: str, units: int, layers: int, perplexity: float, variant: str = "", **options: Any) -> Recipe:
    return _language_model(
        f"godin2017_{wiring}_{units}x{layers}{variant}",
        f"Godin et al. 2017, Table 1, {wiring}, {units} units, {layers} layers{variant.replace('_', ', ')}",
        f"{wiring}_lstm_lm",
        perplexity,
        {"num_layers": layers, "units": units, **{name: o for name, o in options.items() if name not in _MEDIUM}},
        **{name: option for name, option in options.items() if name in _MEDIUM},
    )


# Zaremba et al. 2014 (G12).
_MEDIUM = {"learning_rate_decay": 1 / 1.2, "decay_after": 6, "epochs": 39}
_LARGE = {"learning_rate_decay": 1 / 1.15, "decay_after": 14, "epochs": 55}

_DING: dict[str, dict[str, Any]] = {
    "dc_bilstm": _dc(15, 13),
    "bilstm": {"units": 300},
    "lstm": {"units": 300},
    "stacked_bilstm": {"num_layers": 8, "units": 100},
    "residual_bilstm": {"num_layers": 8, "units": 100},
}
_RECIPES = (
    Recipe(
        name="ding2018",
        source="Ding et al. 2018, section 4.2 and Table 1",
        models=_DING,
        expected={"mr": 82.8, "sst1": 51.9, "sst2": 89.7, "subj": 94.5, "trec": 95.6},
    ),
    Recipe(
        name="fixed_vectors",
        source="this project: ding2018 with word vectors that are not trained, chosen on SST-2's dev texts",
        models={model: {**arguments, "trainable_embeddings": False} for model, arguments in _DING.items()},
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
    _godin_row("stacked", 200, 2, 100.4, "_medium", dropout=0.5, clip_norm=5.0, **_MEDIUM),
    _godin_row("stacked", 200, 2, 100.9),
    _godin_row("stacked", 200, 3, 108.8),
    _godin_row("stacked", 350, 2, 87.9),
    _language_model(
        "zaremba2014_medium",
        "Zaremba et al. 2014, Table 1, medium, as in Godin et al. 2017, Table 1",
        "stacked_lstm_lm",
        82.7,
        {"num_layers": 2, "units": 650, "dropout": 0.5, "clip_norm": 5.0},
        **_MEDIUM,
    ),
    _language_model(
        "zaremba2014_large",
        "Zaremba et al. 2014, Table 1, large, as in Godin et al. 2017, Table 1",
        "stacked_lstm_lm",
        78.4,
        {"num_layers": 2, "units": 1500, "dropout": 0.65, "clip_norm": 10.0, "init_range": 0.04},
        **_LARGE,
    ),
    _godin_row("dense", 200, 2, 80.4),
    _godin_row("dense", 200, 3, 78.5),
    _godin_row("dense", 200, 4, 76.8),
    _godin_row("dense", 200, 5, 76.9),
    _godin_row("dense", 650, 2, 78.9, dropout=0.75),
    _godin_row("dense", 650, 2, 78.3, "_variational", dropout=0.5, variational_dropout=True, recurrent_dropout=0.5),
)
RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in _RECIPES}


def list_recipes(*, model: str | None = None) -> list[str]:
    """Return the recipes' names, or those that have arguments for ``model``.

    Example:
        >>> list_recipes(model="bilstm")
        ['ding2018', 'fixed_vectors']
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
