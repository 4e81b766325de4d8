"""The declaration of a table: its rows, where they are run, what is reported, what it takes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import dense_lstm_zoo as zoo
from dense_lstm_zoo import tasks
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.search.budget import parse_count
from dense_lstm_zoo.search.plan import ROW, Sweep, plan
from dense_lstm_zoo.search.table_plan import Row, plan_rows
from dense_lstm_zoo.tasks import Task
from tuning.columns import PAPER_KEY, paper

if TYPE_CHECKING:
    from tuning.columns import Outcome

__all__ = ["Row", "Table"]


@dataclass(frozen=True)
class Table:
    """A table of results. Its rows are one of three things.

    - The points of a ``space`` of ``model``, as for ``tune``, named by ``recipes`` in the order of the grid.
    - The ``recipes`` themselves, each for the model that it names first.
    - ``rows`` of other models and settings.

    The epoch is chosen on dev in all of them.

    Args:
        name: Of the command, and unless ``results`` says otherwise of ``results/NAME.csv``.
        title: What it asks.
        dataset: The corpus it is run on by default.
        minutes: Estimated minutes of one run on two cores: one number for all rows, or one for each.
        texts: The training texts (sentences, lines) that this estimate is for.
        recipes: Of a paper's table: the rows' names, which are those of the recipes with the published figures.
        published: Of a paper's table with ``rows``: the figures of a row, by corpus.
        model: Whose arguments are searched.
        space: Values by argument.
        budget: Parameters of the encoder. The width follows from the depth.
        recipe: Whose settings are fixed beside the space.
        arguments: Arguments of ``train`` for all rows.
        rows: Rows by name.
        seeds: How many seeds by default.
        test: ``"all"``: every row reports its scores on the test texts. ``"none"``: on dev alone.
        columns: Makes a row of the results.
        key: The columns that tell its rows apart.
        results: The name of the results, where several tables share them.
        choices: Further options to choose rows by, each with the property or label of a row that it names.
        after: Called with each row, once it is in ``results/``: draws and the like.
    """

    name: str
    title: str
    dataset: str
    minutes: float | Mapping[str, float]
    texts: int
    recipes: tuple[str, ...] = ()
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    model: str | None = None
    space: Mapping[str, Sequence[Any]] | None = None
    budget: str | None = None
    recipe: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    rows: Mapping[str, Row] = field(default_factory=dict)
    seeds: int = 5
    test: str = "all"
    columns: Callable[[Outcome], dict[str, Any]] = paper
    key: tuple[str, ...] = PAPER_KEY
    results: str | None = None
    choices: Mapping[str, str] = field(default_factory=dict)
    after: Callable[[Outcome], Any] = lambda outcome: None

    @property
    def points(self) -> dict[str, Row]:
        """The rows by name, in their order."""
        if self.rows:
            return dict(self.rows)
        if self.space is None:
            return {name: Row(next(iter(zoo.get_recipe(name).models)), name) for name in self.recipes}
        assert self.model is not None
        combinations = (dict(zip(self.space, each, strict=True)) for each in itertools.product(*self.space.values()))
        rows = [Row(self.model, self.recipe, {**self.arguments, **values}) for values in combinations]
        return dict(zip(self.recipes, rows, strict=True))

    @property
    def task(self) -> Task:
        """The task of its models."""
        return tasks.find(registry.entry(next(iter(self.points.values())).model).task)

    @property
    def file(self) -> str:
        """The name of its results."""
        return self.results or self.name

    @property
    def is_paper(self) -> bool:
        """True of a paper's table, whose figures stand beside ours."""
        return self.columns is paper

    def figures(self, row: str) -> Mapping[str, float]:
        """Return the figures that the paper gives for a row, by corpus."""
        return self.published.get(row, {}) if self.rows else zoo.get_recipe(row).expected

    def minutes_of(self, row: str) -> float:
        """Return the estimated minutes of one run of a row on ``texts`` training texts."""
        return float(self.minutes[row] if isinstance(self.minutes, Mapping) else self.minutes)

    def name_of(self, values: Mapping[str, Any]) -> str:
        """Return which row a trial with these values is."""
        if self.space is None:
            return str(values[ROW])
        choice = {name: values[name] for name in self.space}
        return next(name for name, row in self.points.items() if choice.items() <= row.arguments.items())

    def sweep(
        self, dataset: str, *, row_names: Sequence[str] | None = None, quick: bool = False, **options: Any
    ) -> Sweep:
        """Return the sweep over all its rows, checked.

        Args:
            dataset: A corpus's name.
            row_names: The rows that are to be run: the arguments may be such as other rows' models do not take.
            quick: A tenth of the widths that are not searched, one epoch.
            **options: ``seeds``, ``folds``, ``data`` and arguments of ``train`` that differ from the rows'.
        """
        small = dict(_QUICK) if quick else {}
        if any(arguments.get("vectors") for arguments in (options, *(row.arguments for row in self.points.values()))):
            # they have a width of their own
            small.pop("embedding_dim", None)
        if self.space is None:
            small.pop("epochs", None)  # each row has its own
            rows = {name: _narrow(row) for name, row in self.points.items()} if quick else self.points
            return plan_rows(rows, dataset, row_names=row_names, **{**self.arguments, **small, **options})
        fixed = {**self.arguments, **options}
        budget: str | int | None = self.budget
        if quick:
            full_row = _narrow(Row(str(self.model), self.recipe, self.arguments))
            narrow = {name: value for name, value in full_row.arguments.items() if name not in self.space}
            if budget is not None:  # the layers whose width it does not decide keep theirs
                budget, narrow = parse_count(budget) // 10, dict(self.arguments)
            fixed = {**narrow, **small, **options}
        return plan(
            str(self.model), dataset, tuner="grid", space=self.space, budget=budget, recipe=self.recipe, **fixed
        )


_QUICK = {"epochs": 1, "embedding_dim": 20}
_UNFROZEN = 5  # epochs until the recipe that unfreezes layer by layer trains them all
_WIDTHS = ("units", "dense_units", "top_units", "filters")


def _narrow(row: Row) -> Row:
    """Return a row with a tenth of the widths and one epoch. One that goes on from a model has that model's widths."""
    if "init_from" in row.arguments:
        return Row(row.model, row.recipe, {**row.arguments, "epochs": _UNFROZEN}, row.labels)
    arguments = registry.resolve(row.model, {}, row.recipe, complete=False) | dict(row.arguments)
    widths = {name: max(2, arguments[name] // 10) for name in _WIDTHS if arguments.get(name)}
    return Row(row.model, row.recipe, {**row.arguments, "epochs": _QUICK["epochs"], **widths}, row.labels)
