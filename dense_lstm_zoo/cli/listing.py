"""Commands that show what there is: list, describe, fetch."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator

import dense_lstm_zoo as zoo
from dense_lstm_zoo import checks, tasks
from dense_lstm_zoo.bundles import presets
from dense_lstm_zoo.cli.command import argument, command
from dense_lstm_zoo.corpora import loader
from dense_lstm_zoo.data.cells import escape_controls
from dense_lstm_zoo.display import notes
from dense_lstm_zoo.models import registry


def _models(pattern: str, task: str | None) -> Iterator[str]:
    for name in zoo.list_models(pattern, task=task):
        entry = registry.entry(name)
        yield f"{name:<18} {entry.task:<16} {entry.summary}"


def _recipes(pattern: str, task: str | None) -> Iterator[str]:
    for other in tasks.every():
        for recipe in other.recipes if task in (None, other.name) else ():
            if fnmatch.fnmatchcase(recipe.name, pattern):
                yield f"{recipe.name:<34} {', '.join(recipe.models)}: {recipe.source}"


def _presets(pattern: str, task: str | None) -> Iterator[str]:
    yield from map(str, presets.list_presets(pattern, task))


def _corpora(pattern: str, task: str | None) -> Iterator[str]:
    for name in loader.list_corpora(task):
        if fnmatch.fnmatchcase(name, pattern):
            titles = [other for other in tasks.names() if name in loader.list_corpora(other)]
            yield f"{name:<14} {', '.join(titles):<42} {_place(name)}"


def _place(name: str) -> str:
    if name not in loader.published():
        return "your own files: --train-file"
    if name == "demo":
        return "built in"
    if loader.is_here(name):
        return "on this machine"
    if loader.is_licensed(name):
        return f"licensed: from a copy of your own; fetch {name} says where it goes"
    return f"downloaded when it is first used, or by fetch {name}"


KINDS: dict[str, Callable[[str, str | None], Iterator[str]]] = {
    "models": _models,
    "recipes": _recipes,
    "presets": _presets,
    "corpora": _corpora,
}


@command(
    "list",
    "List the models, recipes, presets or corpora.",
    argument("kind", nargs="?", default="models", help=f"{', '.join(KINDS)} (default: models)"),
    argument("pattern", nargs="?", help="a name with wildcards (default: all)"),
    argument("--task", help=f"only this task's: {', '.join(tasks.names())}"),
    example=f"list models '*bilstm*' --task {tasks.names()[0]}",
)
def list_kind(kind: str, pattern: str | None, task: str | None) -> None:
    """Print the names of a kind, one per line. A pattern alone means models."""
    if kind not in KINDS:
        if pattern is not None or not (set(kind) & set("*?[") or kind in zoo.list_models()):
            raise checks.unknown_name("kind to list:", kind, KINDS)
        kind, pattern = "models", kind
    if task is not None:
        checks.one_of("task", task, tasks.names())
    for line in KINDS[kind](pattern or "*", task):
        notes.show(line)


@command(
    "describe",
    "Describe a model, a recipe, a preset or a run, with a line for each argument.",
    argument("name", help="a name that list prints, or the folder of a run"),
    example="describe dc_bilstm",
)
def describe(name: str) -> None:
    """Print the description of a model, a recipe, a preset or a run."""
    notes.show(zoo.describe(name))


@command(
    "fetch",
    "Find a corpus on this machine, or download it.",
    argument("dataset", help=f"one of: {', '.join(zoo.list_corpora())}"),
    example="fetch trec",
)
def fetch(dataset: str) -> None:
    """Find or download a corpus and print its files."""
    paths = [escape_controls(str(path)) for path in zoo.fetch(dataset)]
    notes.show(*paths or [f"{dataset} is built in: there is nothing to fetch."])
