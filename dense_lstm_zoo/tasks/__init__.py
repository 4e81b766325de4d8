"""Tasks: for each, one frozen object with everything the rest of the package needs to know about it.

A fourth task is a folder with a ``task.py`` like the others' and a line in ``_MODULES``.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from dense_lstm_zoo import checks
from dense_lstm_zoo.tasks.answers import AnswerForm
from dense_lstm_zoo.tasks.options import COMMON, RUNNING, TRANSFER, Option, Options
from dense_lstm_zoo.tasks.ranges import Range
from dense_lstm_zoo.tasks.recipe import Recipe

if TYPE_CHECKING:
    from dense_lstm_zoo.data.sources import Source

# Imported when a task is first asked for. None of them loads TensorFlow.
_MODULES = {
    "classification": "dense_lstm_zoo.classification.task",
    "language_model": "dense_lstm_zoo.language.task",
    "tagging": "dense_lstm_zoo.tagging.task",
}


@dataclass(frozen=True)
class Effort:
    """Settings of a training with ``effort`` where its user sets nothing.

    Args:
        model: The model of a command that names none.
        settings: Options of ``train`` and model arguments. Those that a model does not have are left out.
        from_trained: More of them, for a run that goes on from a trained model.
        from_scratch: More of them, for a run that goes on from none.
        few_texts: The number of training texts up to which ``recipe_for_few`` takes the place of all of these, where
            there is no dev part.
        recipe_for_few: The name of that recipe.
        context: A text encoder that a run from scratch has beside its words where that serves its texts better.
    """

    model: str
    settings: Mapping[str, Any]
    from_trained: Mapping[str, Any]
    from_scratch: Mapping[str, Any]
    few_texts: int
    recipe_for_few: str
    context: str = ""


@dataclass(frozen=True)
class Task:
    """A task, as the rest of the package sees it.

    Args:
        name: As in ``list_models(task=...)``.
        title: Its name in prose.
        measure: The score by which epochs, runs and trials are compared.
        set_measure: The score by which runs are compared in its place where texts may have several labels, if any has.
        higher_is_better: Whether a higher score is better.
        digits: Decimals of the score in reports.
        percent: Whether papers give it in percent.
        options: Options of ``train`` for this task, in addition to ``COMMON``.
        defaults: Batch size, schedule and the like without a recipe.
        space: What a sweep searches by default, for models that have the argument.
        own_files: Accepted formats of a user's own files.
        commands: The commands that use its trained models, first the one that answers texts. A bundle has methods of
            their names.
        answers: The form of an answer.
        package: The package its modules are in.
        job: The name of the ``Job`` class in ``job.py``.
        bundle: The name of the ``Bundle`` class in ``bundle.py``.
        keras_task: The name in ``dense_lstm_zoo`` of its Keras model of raw text, if it has one.
        factories: Modules that register the models.
        text_encoder: The name of the class in ``encoder.py`` that takes its trained models as text encoders, if they
            can be that.
        labels_texts: Whether every text of a corpus has one label, by which folds can be divided.
        takes_tokens: Whether its texts may be lists of tokens.
        predicts_words: Whether its classes are its words. Its corpora have no labels, its vocabulary no padding, and
            its words are separated by white space.
        reads_characters: Whether all of its models read characters.
        efforts: What each value of the option ``effort`` sets.
        schedule: Returns options by the number of training texts, where neither the user nor a named recipe sets them.
    """

    name: str
    title: str
    measure: str
    higher_is_better: bool
    digits: int
    percent: bool
    options: tuple[Option, ...]
    defaults: Recipe
    space: Mapping[str, Range | Sequence[Any]]
    own_files: tuple[str, ...]
    commands: tuple[str, ...]
    answers: AnswerForm
    package: str
    job: str
    bundle: str
    keras_task: str = ""
    factories: tuple[str, ...] = ("models",)
    text_encoder: str = ""
    labels_texts: bool = False
    takes_tokens: bool = False
    predicts_words: bool = False
    reads_characters: bool = False
    set_measure: str = ""
    efforts: Mapping[str, Effort] = field(default_factory=dict)
    schedule: Callable[[int], Mapping[str, int]] | None = None

    @property
    def all_options(self) -> tuple[Option, ...]:
        """The options of a training run: those of every task, then those of this one."""
        return (*COMMON, *RUNNING, *TRANSFER, *self.options)

    def module(self, name: str) -> ModuleType:
        """Return a module of the task's folder, imported on first use."""
        return importlib.import_module(f"{self.package}.{name}")

    def register_models(self) -> None:
        """Import the modules that register the task's models."""
        for name in self.factories:
            self.module(name)

    def monitored(self, training: Mapping[str, Any]) -> tuple[str, bool]:
        """Return the dev score in an epoch's row that chooses the best epoch, and whether higher is better."""
        score = training.get("monitor", self.measure)
        return f"val_{score}", self.higher_is_better if score == self.measure else not score.endswith("loss")

    def measure_of(self, metrics: Collection[str], split: str) -> str:
        """Return the name of the score by which runs are compared.

        Args:
            metrics: The names of the metrics that runs have, with the part of the corpus before each.
            split: The part of the corpus.
        """
        return self.set_measure if f"{split}_{self.set_measure}" in metrics else self.measure

    @property
    def recipes(self) -> Sequence[Recipe]:
        """The recipes of its models."""
        own_recipes: Sequence[Recipe] = self.module("recipes").RECIPES
        return own_recipes

    @property
    def sources(self) -> Mapping[str, Source]:
        """The published corpora, and the demo corpus, by name."""
        own_sources: Mapping[str, Source] = self.module("corpora").SOURCES
        return own_sources

    @property
    def read_files(self) -> Callable[..., Any]:
        """Reads a user's own files as a corpus: ``(form, train_file=..., ...)``."""
        reader: Callable[..., Any] = self.module("corpora").read_files
        return reader

    @property
    def read_file(self) -> Callable[..., Any]:
        """Reads one file to score a model on: ``(form, path, ...)`` to what ``evaluate`` takes and the label names."""
        reader: Callable[..., Any] = self.module("corpora").read_file
        return reader

    @property
    def read_tables(self) -> Callable[..., Any]:
        """Makes a corpus of pandas' frames by part: ``(frames, text_column=..., ...)``."""
        reader: Callable[..., Any] = self.module("corpora").read_tables
        return reader

    @property
    def job_class(self) -> type[Any]:
        """The class of its training runs, a ``Job``. Importing it loads TensorFlow."""
        return getattr(self.module("job"), self.job)

    @property
    def bundle_class(self) -> type[Any]:
        """The class of its trained models, a ``Bundle``."""
        return getattr(self.module("bundle"), self.bundle)

    def resolve(self, settings: Mapping[str, Any], *, seed: int, recipe: Recipe | None = None) -> Options:
        """Return the options of a run with its seed and dev fraction: as given, else the recipe's, else the task's.

        Raises:
            ValueError: An option of another task, or a value out of range.
        """
        own = {option.name: option for option in self.all_options}
        for name, value in settings.items():
            if name not in own and value is not None:
                accepted = ", ".join(option.name for option in self.options)
                raise ValueError(f"{name} is not an option for {self.name}; received {value!r}. Accepted: {accepted}.")
        check_options(settings)
        protocol = recipe or self.defaults
        resolved_options: dict[str, Any] = {"seed": seed, "dev_fraction": protocol.dev_fraction}
        for name, option in own.items():
            places = (settings.get(name), getattr(protocol, name, None), getattr(self.defaults, name, None))
            resolved_options[name] = next((value for value in places if value is not None), option.default)
        return Options(**resolved_options)


@functools.cache
def find(name: str) -> Task:
    """Return a task by name, or raise ``ValueError`` with the accepted names.

    Example:
        >>> find("tagging").measure
        'accuracy'
    """
    task: Task = importlib.import_module(_MODULES[checks.one_of("task", name, _MODULES)]).TASK
    return task


def names() -> list[str]:
    """Return the names of all tasks."""
    return list(_MODULES)


def every() -> list[Task]:
    """Return all tasks."""
    return [find(name) for name in _MODULES]


def of_texts_with_labels() -> Task:
    """Return the task whose texts have a label each."""
    return next(task for task in every() if task.labels_texts)


def of_tagged_words() -> Task:
    """Return the task whose words have a tag each."""
    return next(task for task in every() if task.takes_tokens)


def text_encoder_class() -> type[Any]:
    """Return the class of the text encoders that models of other tasks read with."""
    task = next(task for task in every() if task.text_encoder)
    return getattr(task.module("encoder"), task.text_encoder)


def with_output(outputs: Collection[str]) -> Task | None:
    """Return the task of a SavedModel whose default signature has these outputs, or None for a stranger's."""
    return next((task for task in every() if task.answers.output in outputs), None)


@functools.cache
def every_option() -> Mapping[str, Option]:
    """Return the options of all tasks by name, without repeats."""
    return {option.name: option for task in every() for option in task.all_options}


def check_options(values: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` for a value that its option does not accept. Unknown names are ignored.

    Example:
        >>> check_options({"batch_size": 0})
        Traceback (most recent call last):
        ValueError: batch_size must be an integer of at least 1; received 0.
    """
    for name, option in every_option().items():
        option.check(values.get(name))


_Function = TypeVar("_Function", bound=Callable[..., Any])


def with_options(function: _Function) -> _Function:
    """Add all options to the signature and docstring of a function with ``**options``.

    The docstring has ``{options}`` on a line of its own among the arguments. The options take its place.
    """
    signature = inspect.signature(function)
    *parameters, last = signature.parameters.values()
    own = [
        inspect.Parameter(x.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=x.annotation)
        for x in every_option().values()
    ]
    function.__signature__ = signature.replace(parameters=[*parameters, *own, last])  # type: ignore[attr-defined]
    lines = []
    for option in every_option().values():
        only = [task.title for task in every() if option in task.options]
        whose = f"{' and '.join(only).capitalize()}: " if only else ""
        help = f"{whose}{option.help}" if whose else option.help[0].upper() + option.help[1:]
        words = f"{option.name}: {help} (default: {option.default_text})."
        lines += textwrap.wrap(words, 108, initial_indent=" " * 8, subsequent_indent=" " * 12)
    function.__doc__ = (function.__doc__ or "").replace("        {options}", "\n".join(lines))
    return function
