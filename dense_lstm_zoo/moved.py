"""Old import paths: each still works, with a ``DeprecationWarning`` that names the new one."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
import warnings
from collections.abc import Sequence
from typing import Any

_PACKAGE = "dense_lstm_zoo"
# Modules that documentation or notebooks of version 0.1 named, or that users are likely to have found, with their
# current place. An empty name is a package that no longer exists but held such modules; ``models`` is a module now.
_MODULES = {
    "data.corpus": "classification.corpus",
    "data.language": "language.corpus",
    "data.language_vocabulary": "language.vocabulary",
    "data.tagging": "tagging.corpus",
    "data.tagging_files": "tagging.corpora",
    "data.tagging_vocabulary": "tagging.vocabulary",
    "data.vocabulary": "classification.vocabulary",
    "data.windows": "language.batches",
    "explaining": "classification.explain",
    "language_modelling": "language.bundle",
    "models.classifier": "classification.assembly",
    "models.adam": "adam",
    "models.classifiers": "classification.models",
    "models.language_model": "language.assembly",
    "models.language_models": "language.models",
    "models.tagger": "tagging.assembly",
    "models.taggers": "tagging.models",
    "training.recipes": "recipes",
    "tuning": "search",
    "tuning.budget": "search.budget",
    "tuning.report": "search.report",
    "tuning.space": "search.space",
    "tuning.sweep": "search.sweep",
}

# What modules held that are packages now, or that lost a part, and where it is.
_INSIDE = {
    "classification": dict.fromkeys(("ClassificationBundle", "Prediction"), "classification.bundle"),
    "plots": {
        "evaluation": "classification.pictures",
        "explanation": "classification.pictures",
        "gates": "tagging.pictures",
    },
    "tagging": dict.fromkeys(("GateActivations", "TaggedSentence", "TaggingBundle"), "tagging.bundle"),
}


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        package, _, name = fullname.partition(".")
        if package != _PACKAGE or name not in _MODULES:
            return None
        holds = any(other.startswith(f"{name}.") for other in _MODULES)
        return importlib.machinery.ModuleSpec(fullname, self, is_package=holds)

    def exec_module(self, module: types.ModuleType) -> None:
        new = _MODULES[module.__name__.partition(".")[2]]
        if not new:
            return
        today = importlib.import_module(f"{_PACKAGE}.{new}")
        told = f"{module.__name__} is now {today.__name__}."
        if not hasattr(module, "__path__"):
            warnings.warn(told, DeprecationWarning, stacklevel=2)
            module.__dict__["__getattr__"] = lambda name: getattr(today, name)
            return

        def attribute(name: str) -> Any:
            found = getattr(today, name)
            if not name.startswith("__"):  # a package is also imported for a module in it, which has its own warning
                warnings.warn(told, DeprecationWarning, stacklevel=2)
            return found

        module.__dict__["__getattr__"] = attribute


def install() -> None:
    """Make the old paths importable."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())  # ahead of a folder left behind by an older version


def attribute(package: str, name: str) -> Any:
    """Return a name that a module used to hold; its ``__getattr__`` calls this."""
    module = _INSIDE[package.partition(".")[2]].get(name)
    if module is None:  # Python also asks for modules of a package that are not imported yet
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{_PACKAGE}.{module}"), name)
    warnings.warn(f"{package}.{name} is now {_PACKAGE}.{module}.{name}.", DeprecationWarning, stacklevel=3)
    return found
