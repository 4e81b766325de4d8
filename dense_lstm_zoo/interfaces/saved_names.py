"""Names that Keras finds in a ``.keras`` file, registered by ``import dense_lstm_zoo`` without importing Keras.

``keras.saving.load_model`` knows only registered classes, and registering the real ones takes seconds: TensorFlow and
every layer. So each name stands for its class until a file asks for it.
"""

from __future__ import annotations

import importlib
import importlib.abc
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import keras

_PACKAGE = "dense_lstm_zoo"
# The classes that a file may hold as its model, by the names they are registered under, with their modules.
CLASSES = {
    "CRFTagger": "tagging.assembly:CRFTagger",
    "ClassifierNetwork": "classification.network:ClassifierNetwork",
    "LanguageModel": "language.assembly:LanguageModel",
    "LanguageModelTask": "interfaces.language_model:LanguageModel",
    "TaggerNetwork": "tagging.assembly:TaggerNetwork",
    "TextClassifier": "interfaces.text_classifier:TextClassifier",
    "TokenClassifier": "interfaces.token_classifier:TokenClassifier",
}


def register_with_keras() -> None:
    """Register the names now, if Keras is imported, else as soon as it is."""
    if hasattr(sys.modules.get("keras"), "saving"):
        _register()
    else:
        sys.meta_path.insert(0, _KerasFinder())


class _KerasFinder(importlib.abc.MetaPathFinder):
    """Finds Keras as the other finders do, and registers the names when it has been imported.

    It stays until then: TensorFlow looks where Keras is before any import of it, and other libraries do as well.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return Keras' spec. None for all other modules."""
        if fullname != "keras":
            return None
        finders = [finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec")]
        specs = (finder.find_spec(fullname, path, target) for finder in finders)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                    _register()

            spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec


def _register() -> None:
    saving = sys.modules["keras"].saving
    for name, place in CLASSES.items():
        saving.register_keras_serializable(package=_PACKAGE, name=name)(_stand_in(name, *place.split(":")))


def _stand_in(name: str, module: str, class_name: str) -> type:
    """Return a class in whose place the one with that name registers itself on import."""

    def from_config(config: dict[str, Any], **options: Any) -> keras.Model:
        importlib.import_module(f"{_PACKAGE}.keras_classes")  # what the config holds
        real = getattr(importlib.import_module(f"{_PACKAGE}.{module}"), class_name)
        return real.from_config(config, **options)

    return type(name, (), {"from_config": staticmethod(from_config), "get_config": lambda self: {}})
