"""Commands that show what there is: list, describe, fetch."""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Callable, Iterator
from typing import Any

import dense_lstm_zoo as zoo
from dense_lstm_zoo import checks, tasks
from dense_lstm_zoo.bundles import presets
from dense_lstm_zoo.cli.arguments import FORMAT
from dense_lstm_zoo.cli.command import argument, command
from dense_lstm_zoo.corpora import loader
from dense_lstm_zoo.data.cells import escape_controls, escape_json
from dense_lstm_zoo.display import notes
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.storage.json_files import to_line

Entries = Iterator[tuple[str, dict[str, Any]]]  # of each: its line, and its fields in JSON


def _models(pattern: str, task: str | None) -> Entries:
    for name in zoo.list_models(pattern, task=task):
        entry = registry.entry(name)
        fields = {"name": name, "task": entry.task, "summary": entry.summary, "paper": entry.paper}
        yield f"{name:<18} {entry.task:<16} {entry.summary}", fields


def _recipes(pattern: str, task: str | None) -> Entries:
    for other in tasks.every():
        for recipe in other.recipes if task in (None, other.name) else ():
            if fnmatch.fnmatchcase(recipe.name, pattern):
                models = list(recipe.models)
                fields = {"name": recipe.name, "task": other.name, "models": models, "source": recipe.source}
                yield f"{recipe.name:<34} {', '.join(models)}: {recipe.source}", fields


def _presets(pattern: str, task: str | None) -> Entries:
    for preset in presets.list_presets(pattern, task):
        yield str(preset), {**dataclasses.asdict(preset), "is_installed": preset.is_installed}


def _corpora(pattern: str, task: str | None) -> Entries:
    for name in loader.list_corpora(task):
        if fnmatch.fnmatchcase(name, pattern):
            titles = [other for other in tasks.names() if name in loader.list_corpora(other)]
            place = _place(name)
            yield f"{name:<14} {', '.join(titles):<42} {place}", {"name": name, "tasks": titles, "place": place}


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


KINDS: dict[str, Callable[[str, str | None], Entries]] = {
    "models": _models,
    "recipes": _recipes,
    "presets": _presets,
    "corpora": _corpora,
}


def show(kind: str, pattern: str | None, task: str | None, form: str) -> None:
    """Print what there is of a kind: a line for each, or an array of JSON objects."""
    if task is not None:
        checks.one_of("task", task, tasks.names())
    entries = KINDS[kind](pattern or "*", task)
    if form == "json":
        notes.show(escape_json(to_line([fields for _, fields in entries])))
        return
    for line, _ in entries:
        notes.show(line)


@command(
    "list",
    "List the models, recipes, presets or corpora.",
    argument("kind", nargs="?", default="models", help=f"{', '.join(KINDS)} (default: models)"),
    argument("pattern", nargs="?", help="a name with wildcards (default: all)"),
    argument("--task", help=f"only this task's: {', '.join(tasks.names())}"),
    FORMAT,
    example=f"list models '*bilstm*' --task {tasks.names()[0]}",
)
def list_kind(kind: str, pattern: str | None, task: str | None, form: str) -> None:
    """Print the names of a kind, one per line. A pattern alone means models."""
    if kind not in KINDS:
        if pattern is not None or not (set(kind) & set("*?[") or kind in zoo.list_models()):
            raise checks.unknown_name("kind to list:", kind, KINDS)
        kind, pattern = "models", kind
    show(kind, pattern, task, form)


@command(
    "describe",
    "Describe a model, a recipe, a preset or a run, with a line for each argument.",
    argument("name", help="a name that list prints, or the folder of a run"),
    FORMAT,
    example="describe dc_bilstm",
)
def describe(name: str, form: str) -> None:
    """Print the description of a model, a recipe, a preset or a run."""
    description = zoo.describe(name)
    if form == "json":
        assert dataclasses.is_dataclass(description)
        notes.show(escape_json(to_line(dataclasses.asdict(description), _json_value)))
    else:
        notes.show(description)


def _json_value(value: object) -> str:
    return "required" if value is registry.REQUIRED else str(value)


@command(
    "fetch",
    "Find a corpus on this machine, or download it.",
    argument("dataset", help=f"a published corpus, one of: {', '.join(loader.published())}"),
    example="fetch trec",
)
def fetch(dataset: str) -> None:
    """Find or download a corpus and print its files."""
    paths = [escape_controls(str(path)) for path in zoo.fetch(dataset)]
    notes.show(*paths or [f"{dataset} is built in: there is nothing to fetch."])
