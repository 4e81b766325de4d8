"""The plan of a sweep: everything that defines its trials, checked before any work."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dense_lstm_zoo import checks, tasks
from dense_lstm_zoo.bundles import presets
from dense_lstm_zoo.corpora.dataset import Dataset, as_argument
from dense_lstm_zoo.data import word_source
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.search import TUNERS
from dense_lstm_zoo.search.budget import check_budget, parse_count, width_argument
from dense_lstm_zoo.search.space import Range, Space, check_space, declare, default_space, describe_space, space_from
from dense_lstm_zoo.storage import files, pipes
from dense_lstm_zoo.storage.json_files import Kind
from dense_lstm_zoo.tasks import Task
from dense_lstm_zoo.tasks.options import Options

if TYPE_CHECKING:
    from dense_lstm_zoo.search.durable import Durable

ROW = "row"  # the axis of a table whose points have models of their own

# Options of ``train`` that a sweep sets for its trials.
_OWN = {"recipe", "seed", "epochs", "pause_after", "tensorboard", "overwrite", "progress", "callbacks"}


@dataclass(frozen=True, eq=False)
class Sweep:
    """Everything that defines a sweep's trials. Stored in ``sweep.json``.

    Args:
        model: A registered model.
        dataset: A corpus's name, or the format of your own files.
        data: Options of ``load_corpus``, such as files of one's own.
        tuner: How values are proposed.
        space: What is searched.
        arguments: What is fixed: arguments of ``train``, those of the model among them.
        budget: The encoder's parameters that the width follows from, or None.
        seeds: Seeds of each trial.
        folds: Cross-validate with this number of folds. None takes the corpus's dev set.
        seed: Of the search.
        epochs: Most epochs of a run.
        rows: Of a table of results: by name, the model and the arguments of each point of the axis ``row``, which is
            then all that is searched. ``model`` is the first row's.
        test: Which trials' test texts are scored, each run's once: ``"best"``, ``"all"`` or ``"none"``.
        only_folds: Run these of the folds only.
        texts: Use only the first texts of each part of the corpus, such as ``{"train": 400}``.
        data_sha256: A checksum of the corpus. No trial is trained on another, now or later, here or elsewhere.
        scored_on: By what trials are compared: ``"dev"``, or ``"cross_validation"`` of a last layer that is fitted
            without dev texts.
    """

    model: str
    dataset: str
    data: Mapping[str, Any]
    tuner: str
    space: Space
    arguments: Mapping[str, Any]
    budget: int | None
    seeds: tuple[int, ...]
    folds: int | None
    seed: int
    epochs: int
    rows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    test: str = "best"
    only_folds: tuple[int, ...] | None = None
    texts: Mapping[str, int] = field(default_factory=dict)
    data_sha256: str = ""
    scored_on: str = "dev"

    # The fields as JSON holds them, except those that came later, which are left out where they have their defaults.
    FIELDS: ClassVar[dict[str, Kind]] = {
        **dict.fromkeys(("model", "dataset", "tuner"), str),
        **dict.fromkeys(("data", "space", "arguments"), dict),
        **dict.fromkeys(("budget", "folds"), (int, type(None))),
        **dict.fromkeys(("seed", "epochs"), int),
        "seeds": list,
    }

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        fields |= {"space": describe_space(self.space), "seeds": list(self.seeds)}
        later: dict[str, Any] = {"rows": {}, "test": "best", "only_folds": None, "texts": {}, "scored_on": "dev"}
        fields = {name: value for name, value in fields.items() if name not in later or value != later[name]}
        described: dict[str, Any] = json.loads(files.to_json(fields))
        return described

    @classmethod
    def from_json(cls, described: Mapping[str, Any]) -> Sweep:
        """Return the sweep that ``to_json`` described."""
        lists = {name: tuple(described[name]) for name in ("seeds", "only_folds") if name in described}
        return cls(**{**described, "space": space_from(described["space"]), **lists})

    @property
    def task(self) -> Task:
        """The model's task."""
        return tasks.find(registry.entry(self.model).task)

    @property
    def resolved(self) -> Dataset:
        """The dataset."""
        return Dataset(self.dataset, self.task.name, self.data)

    @property
    def corpus(self) -> str:
        """The corpus as a title names it: by its name, or by the name of one's own file."""
        return self.resolved.title

    @property
    def score(self) -> str:
        """The score by which trials are compared."""
        return f"{self.scored_on}_{self.task.measure}"

    @property
    def test_score(self) -> str:
        """The same of the test texts."""
        return f"test_{self.task.measure}"

    @property
    def higher_is_better(self) -> bool:
        """True if a higher score is better."""
        return self.task.higher_is_better

    def spec(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a trial with the values of a proposal has to train."""
        if self.rows:
            row = self.rows[values[ROW]]
            model, arguments, point = row["model"], dict(row["arguments"]), {ROW: values[ROW]}
        else:
            from dense_lstm_zoo.search.hypermodel import HyperModel

            model = self.model
            arguments = HyperModel(model, self.space, self.budget, **self.arguments).arguments(values)
            fixed = self.arguments
            point = {n: value for n, value in arguments.items() if n not in fixed or value != fixed[n]}
        return {
            "model": model,
            "dataset": self.dataset,
            "data": dict(self.data),
            "values": point,
            "arguments": {"epochs": self.epochs, **arguments},
            "seeds": list(self.seeds),
            "folds": self.folds,
            "pause_after": values.get("tuner/epochs"),
            "only_folds": None if self.only_folds is None else list(self.only_folds),
            "texts": dict(self.texts),
            "test": self.test == "all",
            "data_sha256": self.data_sha256,
        }


def plan(
    name: str,
    dataset: str | Path | Dataset,
    *,
    tuner: str = "random",
    space: Space | None = None,
    budget: int | str | None = None,
    seeds: int = 1,
    folds: int | None = None,
    seed: int = 1,
    epochs: int | None = None,
    data: Mapping[str, Any] | None = None,
    recipe: str | None = None,
    **arguments: Any,
) -> Sweep:
    """Return a sweep after checking every value. See ``tune``."""
    from dense_lstm_zoo.corpora.names import list_corpora
    from dense_lstm_zoo.tasks.recipes import get_recipe, name_or_none

    entry, recipe = registry.entry(name), name_or_none(recipe)
    space, data, arguments = checks.plain(space), checks.plain(data), checks.plain(arguments)
    checks.one_of("tuner", tuner, TUNERS)
    parameters = None if budget is None else parse_count(budget)
    fixed, space = _with_budget(name, arguments, recipe, space, parameters)  # by formula, so before anything is read
    accepted = list_corpora(entry.task)
    if not isinstance(dataset, (str, Path, Dataset)):
        raise ValueError(
            "Trials run in processes of their own, which read their texts: dataset must be a corpus's name, a file or "
            f"a frame; received a {type(dataset).__name__}. Accepted: {', '.join(accepted)}, or the path of your own."
        )
    resolved = Dataset.resolve(dataset, data or {}, entry.task, spelling=as_argument)
    if resolved.name not in accepted:
        raise checks.unknown_name("corpus", resolved.name, accepted)
    check_rereadable(resolved.options, arguments)
    checks.integer("seeds", seeds)
    checks.seed(seed, seeds)
    check_folds(folds, tasks.find(entry.task))
    options_of(tasks.find(entry.task), arguments, epochs, recipe)
    check_space(name, space, fixed)
    if epochs is None:
        epochs = get_recipe(recipe).epochs if recipe else 30
    checks.integer("epochs", epochs)
    if "vectors" in fixed:
        fixed["vectors"] = word_source.name_or_path(fixed["vectors"])
        _check_width(space, fixed)
    for option in {"init_from", "context"} & fixed.keys():
        fixed[option] = str(presets.locate(fixed[option]).resolve())  # however its path is written
    # Last, as it loads TensorFlow.
    from dense_lstm_zoo.search.hypermodel import check_values

    if "init_from" in fixed:
        from dense_lstm_zoo.training.transfer import check_searched

        check_searched(name, space)
    check_values(name, space, parameters, fixed)
    if recipe is not None:
        fixed["recipe"] = recipe
    return Sweep(
        model=name,
        dataset=resolved.name,
        data=dict(resolved.options),
        tuner=tuner,
        space=space,
        arguments=fixed,
        budget=parameters,
        seeds=tuple(range(1, seeds + 1)),
        folds=folds,
        seed=seed,
        epochs=epochs,
    )


def check_extent(
    tuner: str | None = None,
    trials: int | None = None,
    keep: int | None = None,
    workers: int | None = None,
    silence: float | None = None,
    oracle: str | None = None,
) -> None:
    """Raise ``ValueError`` for numbers of trials or workers that there cannot be, or an address that is none."""
    for name, value, least in (("keep", keep, 1), ("workers", workers, 0 if oracle else 1), ("trials", trials, 1)):
        if value is not None:
            checks.integer(name, value, minimum=least)
    if silence is not None:
        checks.positive("silence", silence)
    if oracle is not None:
        from dense_lstm_zoo.search.chief import parse_address

        parse_address(oracle)
    if tuner == "hyperband" and trials is not None:
        raise ValueError("hyperband derives the number of trials from epochs; it takes no trials.")


def check_rereadable(data: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` for a file of texts or word vectors that can be read only once, such as a pipe."""
    paths = [value for name, value in data.items() if name.endswith("_file") and value is not None]
    vectors = arguments.get("vectors")
    if vectors not in (None, word_source.NONE) and word_source.table(vectors) is None:
        paths.append(word_source.name_or_path(vectors))
    for path in paths:
        pipes.regular(files.existing_file(path), "every trial of a sweep reads it")


def _with_budget(
    model: str, arguments: Mapping[str, Any], recipe: str | None, space: Space | None, budget: int | None
) -> tuple[dict[str, Any], Space]:
    """Return the fixed arguments and the space of a sweep, without the width that a budget sets.

    Raises:
        ValueError: Arguments that cannot be given, or a budget that a point of the space exceeds.
    """
    from dense_lstm_zoo.tasks.recipes import recipe_arguments

    check_arguments(model, arguments)
    fixed = dict(arguments)
    if recipe is not None:
        searched = set(space or ())
        fixed = {k: v for k, v in recipe_arguments(recipe, model).items() if k not in searched} | fixed
    if space is None:
        space = default_space(model, fixed)
    if budget is None:
        return fixed, space
    _count_vectors(model, fixed)
    width = width_argument(model, fixed)
    if space == default_space(model, fixed):
        space = {key: values for key, values in space.items() if key != width}
    if recipe is not None and width not in arguments:
        fixed.pop(width, None)  # the budget replaces the recipe's width
    check_space(model, space, fixed)
    check_budget(model, fixed, arguments, space, budget)
    return fixed, space


def check_folds(folds: int | None, task: Task) -> None:
    """Raise ``ValueError`` for fewer than 2 folds, and for a task whose texts have no labels to divide them by."""
    if folds is None:
        return
    checks.integer("folds", folds, minimum=2)
    if not task.labels_texts:
        raise ValueError(
            f"folds divide texts with labels, and those of a {task.name} model have none; received {folds}."
        )


def _check_width(space: Space, fixed: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` if word vectors are to have another length than those given."""
    dims = [fixed["embedding_dim"]] if "embedding_dim" in fixed else space.get("embedding_dim")
    if dims is None or fixed["vectors"] in (None, word_source.NONE):
        return
    dim = word_source.dim(fixed["vectors"])
    if isinstance(dims, Range) or any(width != dim for width in dims):
        raise ValueError(f"embedding_dim cannot be another than {dim}, the length of the vectors {fixed['vectors']}.")


def check_arguments(model: str, arguments: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` for arguments that neither the task nor the model has, or that a sweep decides."""
    entry = registry.entry(model)
    options = {option.name for option in tasks.find(entry.task).all_options}
    accepted = set(entry.arguments) | options - _OWN
    for argument in arguments:
        if argument in registry.FROM_DATA:
            raise ValueError(f"{argument} is derived from the data; a sweep does not accept it.")
        if argument not in accepted:
            raise checks.unknown_name(f"argument of {model}:", argument, accepted - set(registry.FROM_DATA))


def _count_vectors(model: str, fixed: dict[str, Any]) -> None:
    """Let a budget count the weights for vectors of their own length, where it is not the model's default."""
    usual, source = registry.entry(model).arguments.get("embedding_dim"), fixed.get("vectors")
    if source in (None, word_source.NONE) or "embedding_dim" in fixed or usual is None:
        return
    dim = word_source.dim(source)
    if dim != usual:
        fixed["embedding_dim"] = dim


def options_of(task: Task, arguments: Mapping[str, Any], epochs: int | None, recipe: str | None) -> Options:
    """Return the options of a sweep's trials.

    Raises:
        ValueError: Options that every trial would refuse: out of range, or in need of others.
    """
    from dense_lstm_zoo.tasks.recipes import get_recipe
    from dense_lstm_zoo.training.request import check_transfer

    own = {option.name for option in task.all_options}
    settings = {name: value for name, value in arguments.items() if name in own}
    settings |= {} if epochs is None else {"epochs": checks.integer("epochs", epochs)}
    options = task.resolve(settings, seed=1, recipe=get_recipe(recipe) if recipe else None)
    check_transfer(options)
    return options


def make_oracle_of(sweep: Sweep, trials: int | None) -> Durable:
    """Return the oracle of a sweep. ``trials`` is None for all, and on a worker, which asks the chief's oracle."""
    import keras_tuner

    from dense_lstm_zoo.search.oracles import make_oracle

    hyperparameters = keras_tuner.HyperParameters()
    declare(hyperparameters, sweep.space)
    return make_oracle(
        sweep.tuner,
        objective=keras_tuner.Objective(sweep.score, "max" if sweep.higher_is_better else "min"),
        trials=trials,
        epochs=sweep.epochs,
        seed=sweep.seed,
        hyperparameters=hyperparameters,
    )
