"""The papers' figures for a sweep's model and corpus, next to the matching trials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.models import registry
from dense_lstm_zoo.search.budget import DEPTHS
from dense_lstm_zoo.tasks.recipes import get_recipe, list_recipes

if TYPE_CHECKING:
    import pandas as pd

    from dense_lstm_zoo.search.plan import Sweep

SIZES = (*DEPTHS, "units", "dense_units", "top_units", "filters")


def of_phrases(corpus: str) -> bool:
    """Return whether the papers' figures on a corpus are of training on its phrases, and a run here is on sentences."""
    return corpus in ("sst1", "sst2")


def figure(figures: Mapping[str, float], corpus: str) -> float | str:
    """Return a paper's figure on a corpus, empty if it has none. For sentences of SST, the figure is for
    training on phrases.

    Example:
        >>> figure({"sst2_phrases": 89.7}, "sst2"), figure({"sst2_phrases": 89.7}, "trec")
        (89.7, '')
    """
    return figures.get(corpus, figures.get(f"{corpus}_phrases", ""))


def published(trials: pd.DataFrame, sweep: Sweep) -> pd.DataFrame:
    """Return one row per published figure, in percent or perplexity, with our best trial of the same arguments.

    A trial matches a row if it has its recipe's sizes, and the arguments in which the published rows differ.

    Args:
        trials: The sweep's table.
        sweep: The sweep.

    Returns:
        ``recipe``, the arguments, ``paper`` (on the test texts), ``ours`` (on dev, if there is a trial), ``trial``.
        Empty if no paper has figures for the model on the corpus.
    """
    import pandas as pd

    if sweep.rows:
        return _published_rows(trials, sweep)
    # The model that a recipe names first is the one whose figures it carries.
    own = [r for r in map(get_recipe, list_recipes(model=sweep.model)) if next(iter(r.models)) == sweep.model]
    papers = {recipe.name: paper for recipe in own if (paper := figure(recipe.expected, sweep.dataset)) != ""}
    rows = {name: registry.resolve(sweep.model, {}, name, complete=False) for name in papers}
    defaults = registry.resolve(sweep.model, {}, complete=False)
    differ = {name for name in defaults if len({repr(arguments[name]) for arguments in rows.values()}) > 1}
    compared = [name for name in defaults if name in SIZES or name in differ]
    scale = 100 if sweep.task.percent else 1
    completed = [
        {**defaults, **sweep.arguments, **row} for row in trials.to_dict("records") if row["status"] == "completed"
    ]
    figures: list[dict[str, Any]] = []
    for recipe, arguments in rows.items():
        point = {name: arguments[name] for name in compared}
        alike = [row for row in completed if all(row[name] == value for name, value in point.items())]
        ours = {"ours": round(scale * alike[0]["score"], 2), "trial": alike[0]["trial"]} if alike else {}
        figures.append({"recipe": recipe, **point, "paper": papers[recipe], **ours})
    return pd.DataFrame(figures, columns=["recipe", *compared, "paper", "ours", "trial"])


def _published_rows(trials: pd.DataFrame, sweep: Sweep) -> pd.DataFrame:
    """Return the figures of the recipes that a table's rows are of, where its model is the one they are for."""
    import pandas as pd

    scale = 100 if sweep.task.percent else 1
    scored = trials[trials["status"] == "completed"] if len(trials) else trials
    figures: list[dict[str, Any]] = []
    for name, row in sweep.rows.items():
        recipe = get_recipe(row["arguments"]["recipe"]) if row["arguments"].get("recipe") else None
        if recipe is None or next(iter(recipe.models)) != row["model"]:
            continue
        if (paper := figure(recipe.expected, sweep.dataset)) == "":
            continue
        alike = scored[scored["row"] == name].to_dict("records") if len(scored) else []
        ours = {"ours": round(scale * alike[0]["score"], 2), "trial": alike[0]["trial"]} if alike else {}
        figures.append({"recipe": recipe.name, "row": name, "paper": paper, **ours})
    return pd.DataFrame(figures, columns=["recipe", "row", "paper", "ours", "trial"])
