"""Sweeps over the rows of a table: points that have little in common, each a model and arguments of its own.

keras-tuner's grid searches one axis, ``row``, whose values are the rows' names. All else is as in any sweep.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from dense_lstm_zoo import checks, tasks
from dense_lstm_zoo.bundles import presets
from dense_lstm_zoo.data import word_source
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.search.plan import ROW, Sweep, check_arguments, check_folds, check_rereadable


@dataclass(frozen=True)
class Row:
    """A point of a table.

    Args:
        model: A registered model.
        recipe: Its recipe.
        arguments: Arguments of ``train`` that differ from the recipe's.
        labels: Columns of the table that name the row, for who chooses rows by them.
    """

    model: str
    recipe: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of ``train``, the recipe's name among them."""
        return {**({"recipe": self.recipe} if self.recipe else {}), **self.arguments}


def plan_rows(
    rows: Mapping[str, Row],
    dataset: str,
    *,
    seeds: int = 1,
    folds: int | None = None,
    data: Mapping[str, Any] | None = None,
    row_names: Collection[str] | None = None,
    **arguments: Any,
) -> Sweep:
    """Return the sweep over rows, every value of which was checked.

    Args:
        rows: The rows by name, of models of one task.
        dataset: A corpus's name.
        seeds: Runs per row, with the seeds 1, 2, ...
        folds: Cross-validate with this number of folds.
        data: Options of ``load_corpus``.
        row_names: The rows to run. The others are not checked. None means all.
        **arguments: Arguments of ``train`` for all rows, before their own.

    Raises:
        ValueError: An unknown name, or a value that training or a row's model refuses.
    """
    from dense_lstm_zoo.corpora.loader import list_corpora
    from dense_lstm_zoo.search.hypermodel import check_built  # loads TensorFlow
    from dense_lstm_zoo.tasks.recipes import get_recipe, recipe_arguments

    models = {name: registry.entry(row.model) for name, row in rows.items()}
    (task,) = {entry.task for entry in models.values()}
    if dataset not in list_corpora(task):
        raise checks.unknown_name("corpus", dataset, list_corpora(task))
    check_rereadable(data or {}, arguments)
    checks.integer("seeds", seeds)
    check_folds(folds, tasks.find(task))
    if arguments.get("vectors") is not None:
        arguments["vectors"] = word_source.name_or_path(arguments["vectors"])
    points: dict[str, dict[str, Any]] = {}
    for name, row in rows.items():
        settings = {**row.settings, **arguments}
        for option in ("init_from", "context"):
            if settings.get(option) is not None:
                settings[option] = str(presets.locate(settings[option]).resolve())
        epochs = settings.pop("epochs", None)
        own_arguments = {key: value for key, value in settings.items() if key != "recipe"}
        recipe = get_recipe(row.recipe, model=row.model) if row.recipe else None
        of_recipe = recipe_arguments(row.recipe, row.model) if row.recipe else {}
        if row_names is None or name in row_names:
            check_arguments(row.model, own_arguments)
            check_built(row.model, {**of_recipe, **own_arguments})
        if epochs is None:
            epochs = recipe.epochs if recipe else 30
        checks.integer("epochs", epochs)
        points[name] = {"model": row.model, "arguments": {**settings, "epochs": epochs}}
    return Sweep(
        model=next(iter(rows.values())).model,
        dataset=dataset,
        data=dict(data or {}),
        tuner="grid",
        space={ROW: list(rows)},
        arguments={},
        budget=None,
        seeds=tuple(range(1, seeds + 1)),
        folds=folds,
        seed=1,
        epochs=max(row["arguments"]["epochs"] for row in points.values()),
        rows=points,
    )
