"""The command list: models, recipes, presets and corpora, one per line."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator

import dense_lstm_zoo as zoo
from dense_lstm_zoo import checks, tasks
from dense_lstm_zoo.bundles import presets
from dense_lstm_zoo.corpora import loader
from dense_lstm_zoo.display import notes
from dense_lstm_zoo.models import registry


def list_kind(kind: str, pattern: str | None, task: str | None) -> None:
    """Print what there is of a kind, one per line; a pattern alone means models."""
    if kind not in KINDS:
        if pattern is not None or not (set(kind) & set("*?[") or kind in zoo.list_models()):
            raise checks.unknown_name("kind to list:", kind, KINDS)
        kind, pattern = "models", kind
    if task is not None:
        checks.one_of("task", task, tasks.names())
    for line in KINDS[kind](pattern or "*", task):
        notes.show(line)


def _models(pattern: str, task: str | None) -> Iterator[str]:
    for name in zoo.list_models(pattern, task=task):
        found = registry.entry(name)
        yield f"{name:<18} {found.task:<16} {found.summary}"


def _recipes(pattern: str, task: str | None) -> Iterator[str]:
    for one in tasks.every():
        for recipe in one.recipes if task in (None, one.name) else ():
            if fnmatch.fnmatchcase(recipe.name, pattern):
                yield f"{recipe.name:<34} {', '.join(recipe.models)}: {recipe.source}"


def _presets(pattern: str, task: str | None) -> Iterator[str]:
    yield from map(str, presets.list_presets(pattern, task))


def _corpora(pattern: str, task: str | None) -> Iterator[str]:
    for name in loader.list_corpora(task):
        if fnmatch.fnmatchcase(name, pattern):
            having = [one.name for one in tasks.every() if name in loader.list_corpora(one.name)]
            yield f"{name:<14} {', '.join(having):<42} {_place(name)}"


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
