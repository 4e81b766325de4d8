"""The registered models as functions, whose arguments editors and notebooks complete.

``zoo.models.dc_bilstm(vocab_size=18_000, num_classes=6)`` is ``zoo.build("dc_bilstm", vocab_size=18_000,
num_classes=6)``. A name is looked up when it is used, and TensorFlow is imported when a model is built.
"""

from __future__ import annotations

import inspect
import pkgutil
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.models import registry

if TYPE_CHECKING:
    import keras

_MODULES = {module.name for module in pkgutil.iter_modules(__path__)}
_RECIPE = inspect.Parameter("recipe", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="str | None")


def __getattr__(name: str) -> Callable[..., keras.Model]:
    """Return the function that builds a model."""
    if name.startswith("__") or name in _MODULES:  # whoever imports a module of this package asks for it here first
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name not in registry.list_models():
        raise AttributeError(str(checks.unknown_name("model", name, registry.list_models())))
    return _function(registry.entry(name))


def __dir__() -> list[str]:
    return registry.list_models()


def _function(entry: registry.ModelEntry) -> Callable[..., keras.Model]:
    def model(*, recipe: str | None = None, **arguments: Any) -> keras.Model:
        return registry.build(entry.name, recipe=recipe, **arguments)

    model.__name__ = model.__qualname__ = entry.name
    model.__module__ = __name__
    parameters = sorted(
        [*entry.parameters.values(), _RECIPE], key=lambda parameter: parameter.default is not registry.REQUIRED
    )
    model.__signature__ = inspect.Signature(parameters, return_annotation="keras.Model")  # type: ignore[attr-defined]
    model.__doc__ = _docstring(entry)
    return model


def _docstring(entry: registry.ModelEntry) -> str:
    head = (inspect.getdoc(entry.factory) or "").partition("\nArgs:")[0].strip()
    texts = {**entry.texts, "recipe": "A published result whose arguments to use; those given here take precedence."}
    lines = [
        line
        for name, text in texts.items()
        for line in textwrap.wrap(f"{name}: {text}", 112, initial_indent=" " * 4, subsequent_indent=" " * 8)
    ]
    return "\n".join(
        [
            head,
            "",
            f"Paper: {entry.paper}",
            "",
            "Args:",
            *lines,
            "",
            "Returns:",
            "    A compiled ``keras.Model``, ready for ``fit`` on ids and labels.",
        ]
    )
