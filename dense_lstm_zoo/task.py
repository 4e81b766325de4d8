"""Tasks: for each, one frozen object that says all that the rest of the package needs to know of it.

A fourth task is a folder with a ``task.py`` like the others' and a line in ``_MODULES``.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

from dense_lstm_zoo import checks
from dense_lstm_zoo.ranges import Range
from dense_lstm_zoo.recipe import Recipe

if TYPE_CHECKING:
    from dense_lstm_zoo.data.sources import Source

# Imported when a task is first asked for; none of them loads TensorFlow.
_MODULES = {
    "classification": "dense_lstm_zoo.classification.task",
    "language_model": "dense_lstm_zoo.language.task",
    "tagging": "dense_lstm_zoo.tagging.task",
}


@dataclass(frozen=True)
class Option:
    """An option of ``train``, declared once: the signature, the command line and the search space follow from it.

    Args:
        name: In Python; the command line's has hyphens.
        kind: ``int``, ``float`` (above 0) or ``str``.
        help: What it does, in a few words.
        default: What it is if nobody says; None also for what follows from other settings.
        otherwise: The default in words, where its value does not tell.
        minimum: The smallest integer.
        searched: Whether a sweep may search it.
        metavar: What the command line's help calls the value.
    """

    name: str
    kind: type
    help: str
    default: Any = None
    otherwise: str = ""
    minimum: int = 1
    searched: bool = False
    metavar: str | None = None

    @property
    def told_default(self) -> str:
        """The default as help tells it."""
        return self.otherwise or (f"{self.default:,}" if isinstance(self.default, int) else str(self.default))

    def check(self, value: Any) -> None:
        """Raise ``ValueError`` for a number that is none; None is the default."""
        if value is None:
            return
        if self.kind is int:
            checks.integer(self.name, value, self.minimum)
        elif self.kind is float:
            checks.positive(self.name, value)


# Options of every task; where a recipe, or a task's defaults, has a field of the same name, that is the default.
COMMON = (
    Option("epochs", int, "most epochs", otherwise="the recipe's, else 30"),
    Option(
        "patience", int, "epochs without a better dev score before training stops", otherwise="the recipe's, else 5"
    ),
    Option(
        "batch_size",
        int,
        "texts, or a language model's streams, a step",
        otherwise="the recipe's, else 200, of a tagger 32, of a language model 20",
        searched=True,
    ),
    Option(
        "learning_rate_decay",
        float,
        "what the learning rate is multiplied by after each epoch",
        otherwise="the recipe's, else 1, of a language model 0.85",
        searched=True,
        metavar="FACTOR",
    ),
    Option(
        "decay_after",
        int,
        "the last epoch with the full learning rate",
        otherwise="the recipe's, else 1, of a language model 6",
        searched=True,
        metavar="EPOCH",
    ),
)
# Of tasks whose words may begin with vectors from a file.
WORD_VECTORS = (
    Option(
        "vectors", str, "a file of word vectors: GloVe's or word2vec's text format, plain, .gz or .zip", None, "none"
    ),
    Option(
        "vector_words", int, "how many of the file's first words to know beside the training words", 50_000, minimum=0
    ),
)


class Options(SimpleNamespace):
    """The options of one training run, each with its value, as attributes."""


@dataclass(frozen=True)
class Task:
    """A task, as the rest of the package sees it.

    Args:
        name: As in ``list_models(task=...)``.
        title: What people call it.
        measure: What an epoch, a run and a trial are judged by.
        higher_is_better: Whether more of it is better.
        digits: How many decimals of it people read.
        percent: Whether papers give it in percent.
        options: What ``train`` takes of this task, beside ``COMMON``.
        defaults: Batch size, schedule and the like without a recipe.
        space: What a sweep searches of a model that has the argument and whose user names no space.
        own_files: Formats of a user's own files.
        factories: Modules in which models are registered.
        commands: What the command line has for a trained model.
        package: Where its modules are.
        job: The class of its training runs, in ``job.py``.
        bundle: The class of its trained models, in ``bundle.py``.
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
    commands: str
    package: str
    job: str
    bundle: str
    factories: tuple[str, ...] = ("models",)

    @property
    def all_options(self) -> tuple[Option, ...]:
        """The options of a training run: those of every task, then those of this one."""
        return (*COMMON, *self.options)

    def module(self, name: str) -> Any:
        """Return a module of the task's folder, imported on first use."""
        return importlib.import_module(f"{self.package}.{name}")

    def register_models(self) -> None:
        """Import the modules in which the task's models are registered."""
        for name in self.factories:
            self.module(name)

    @property
    def recipes(self) -> Sequence[Recipe]:
        """The recipes of its models."""
        found: Sequence[Recipe] = self.module("recipes").RECIPES
        return found

    @property
    def sources(self) -> Mapping[str, Source]:
        """The published corpora, and the demo corpus, by name."""
        found: Mapping[str, Source] = self.module("corpora").SOURCES
        return found

    @property
    def read_files(self) -> Callable[..., Any]:
        """Reads a user's own files as a corpus: ``(form, train_file=..., ...)``."""
        read: Callable[..., Any] = self.module("corpora").read_files
        return read

    @property
    def read_file(self) -> Callable[..., Any]:
        """Reads one file to score a model on: ``(form, path, ...)`` to what ``evaluate`` takes, and names of labels."""
        read: Callable[..., Any] = self.module("corpora").read_file
        return read

    @property
    def job_class(self) -> Any:
        """The class of its training runs, a ``Job``; importing it loads TensorFlow."""
        return getattr(self.module("job"), self.job)

    @property
    def bundle_class(self) -> Any:
        """The class of its trained models, a ``Bundle``."""
        return getattr(self.module("bundle"), self.bundle)

    def resolve(self, given: Mapping[str, Any], *, seed: int, recipe: Recipe | None = None) -> Options:
        """Return all options of a run, its seed and its share of dev texts: as given, else the recipe's or the task's.

        Raises:
            ValueError: An option of another task, or a value out of range.
        """
        own = {option.name: option for option in self.all_options}
        for name, value in given.items():
            if name not in own and value is not None:
                accepted = ", ".join(option.name for option in self.options)
                raise ValueError(f"{name} is no option for {self.name}; received {value!r}. Accepted: {accepted}.")
        check_options(given)
        protocol = recipe or self.defaults
        found: dict[str, Any] = {"seed": seed, "dev_fraction": protocol.dev_fraction}
        for name, option in own.items():
            places = (given.get(name), getattr(protocol, name, None), getattr(self.defaults, name, None))
            found[name] = next((value for value in places if value is not None), option.default)
        return Options(**found)


@functools.cache
def find(name: str) -> Task:
    """Return a task by name, else raise ``ValueError`` with the names there are.

    Example:
        >>> find("tagging").measure
        'accuracy'
    """
    found: Task = importlib.import_module(_MODULES[checks.one_of("task", name, _MODULES)]).TASK
    return found


def names() -> list[str]:
    """Return the names of all tasks."""
    return list(_MODULES)


def every() -> list[Task]:
    """Return all tasks."""
    return [find(name) for name in _MODULES]


@functools.cache
def every_option() -> Mapping[str, Option]:
    """Return the options of all tasks by name, each once."""
    return {option.name: option for one in every() for option in one.all_options}


def check_options(given: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` for a value that an option does not take; other names are passed over.

    Example:
        >>> check_options({"batch_size": 0})
        Traceback (most recent call last):
        ValueError: batch_size must be an integer of at least 1; received 0.
    """
    for name, option in every_option().items():
        option.check(given.get(name))


_Function = TypeVar("_Function", bound=Callable[..., Any])


def with_options(function: _Function) -> _Function:
    """Put all options into the signature of a function with ``**options``, and into its docstring in place of one line.

    The line is ``{options}``, among the arguments.
    """
    signature = inspect.signature(function)
    *parameters, rest = signature.parameters.values()
    own = [
        inspect.Parameter(x.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=f"{x.kind.__name__} | None")
        for x in every_option().values()
    ]
    function.__signature__ = signature.replace(parameters=[*parameters, *own, rest])  # type: ignore[attr-defined]
    lines = []
    for option in every_option().values():
        only = [one.title for one in every() if option in one.options]
        whose = f"{' and '.join(only).capitalize()}: " if only else ""
        help = f"{whose}{option.help}" if whose else option.help[0].upper() + option.help[1:]
        words = f"{option.name}: {help} (default: {option.told_default})."
        lines += textwrap.wrap(words, 108, initial_indent=" " * 8, subsequent_indent=" " * 12)
    function.__doc__ = (function.__doc__ or "").replace("        {options}", "\n".join(lines))
    return function
