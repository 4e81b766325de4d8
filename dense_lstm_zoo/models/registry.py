"""The registry: model names and their factory functions, without importing TensorFlow."""

from __future__ import annotations

import fnmatch
import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks, tasks
from dense_lstm_zoo.models import context
from dense_lstm_zoo.models.docstrings import argument_texts, plain
from dense_lstm_zoo.settings import check_settings

if TYPE_CHECKING:
    import keras

REQUIRED = inspect.Parameter.empty
# Arguments that training derives from the data. Users set them only when they build a model by hand.
# fmt: off
FROM_DATA = (
    "vocab_size", "num_classes", "labels", "num_tags", "num_chars", "embedding_matrix", "num_frozen_words",
    *context.ARGUMENTS,
)
# fmt: on
# Layers outside the encoder: those before it, and those on top of its states.
_WORDS = ("embedding", "static_embedding", "characters", "window", "affixes", "case")
# "standardization" has no weights, but two numbers for each feature.
_NOT_ENCODER = (*_WORDS, *context.LAYERS, "standardization", "softmax", "logits")
# Of a model that is built to check its arguments, before the data says what the sizes are.
SIZES = {"vocab_size": 1000, "num_classes": 2, "num_tags": 2, "num_chars": 100}
_POLICIES = ("float32", "mixed_bfloat16", "mixed_float16", "float64")
_HALVES = ("float16", "bfloat16")
_entries: dict[str, ModelEntry] = {}


@dataclass(frozen=True)
class ModelEntry:
    """One registered model: its factory and what ``describe`` reports."""

    name: str
    task: str
    paper: str
    factory: Callable[..., keras.Model]
    options: tuple[Callable[..., Any], ...]
    encoder_parameters: Callable[..., int]

    @property
    def summary(self) -> str:
        """First line of the factory's docstring."""
        return plain((inspect.getdoc(self.factory) or "").split("\n")[0])

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The arguments by name: the model's own, then the task's."""
        functions = (self.factory, *self.options)
        parameters = [p for function in functions for p in inspect.signature(function).parameters.values()]
        return {p.name: p for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}

    @property
    def arguments(self) -> dict[str, Any]:
        """Argument names with their defaults (``REQUIRED`` where there is none), in the order of ``parameters``."""
        return {name: parameter.default for name, parameter in self.parameters.items()}

    @property
    def texts(self) -> dict[str, str]:
        """The docstrings' text on each argument, on one line."""
        texts: dict[str, str] = {}
        for function in (*reversed(self.options), self.factory):  # the factory's own text wins
            texts |= argument_texts(function)
        return {name: texts[name] for name in self.parameters if name in texts}


def register(
    *,
    task: str,
    paper: str,
    options: tuple[Callable[..., Any], ...],
    encoder_parameters: Callable[..., int],
) -> Callable[[Callable[..., keras.Model]], Callable[..., keras.Model]]:
    """Return a decorator that registers a factory under its function's name.

    Args:
        task: ``"classification"``, ``"language_model"`` or ``"tagging"``.
        paper: The source, with the equations.
        options: The functions whose keyword-only arguments the factories share and pass on.
        encoder_parameters: A closed formula for the count, from the resolved arguments and ``biases``.
    """

    def decorate(factory: Callable[..., keras.Model]) -> Callable[..., keras.Model]:
        name = factory.__name__
        _entries[name] = ModelEntry(name, task, paper, factory, options, encoder_parameters)
        return factory

    return decorate


@functools.cache
def _load() -> None:
    for task in tasks.every():
        task.register_models()


def entry(name: str) -> ModelEntry:
    """Return the model registered under ``name``, or raise ``ValueError`` with near matches."""
    _load()
    if name not in _entries:
        raise checks.unknown_name("model", name, _entries)
    return _entries[name]


def list_models(pattern: str = "*", *, task: str | None = None) -> list[str]:
    """Return the sorted names of the models that match.

    Args:
        pattern: A name with the wildcards ``*``, ``?`` and ``[...]``.
        task: Keep only this task's models.

    Raises:
        ValueError: An unknown task.

    Example:
        >>> list_models("dc_*", task="classification")
        ['dc_bilstm']
    """
    _load()
    if task is not None:
        checks.one_of("task", task, sorted({e.task for e in _entries.values()}))
    return sorted(n for n, e in _entries.items() if fnmatch.fnmatchcase(n, pattern) and task in (None, e.task))


def resolve(
    name: str, arguments: Mapping[str, Any], recipe: str | None = None, *, complete: bool = True
) -> dict[str, Any]:
    """Return every argument of a model: defaults, then the recipe's, then those given.

    Args:
        name: A registered model.
        arguments: Arguments the user set.
        recipe: A recipe's name, or None.
        complete: Whether arguments without a default must be set.

    Raises:
        ValueError: An unknown model, recipe or argument, or a required one that is missing.
    """
    from dense_lstm_zoo.tasks.recipes import recipe_arguments

    defaults = entry(name).arguments
    for argument in arguments:
        if argument not in defaults:
            raise checks.unknown_name(f"argument of {name}:", argument, defaults)
    values = defaults | (recipe_arguments(recipe, name) if recipe else {}) | checks.plain(arguments)
    missing = [argument for argument, value in values.items() if value is REQUIRED]
    if missing and complete:
        raise ValueError(f"{name} needs {' and '.join(missing)}; received {', '.join(arguments) or 'no argument'}.")
    _check_policy(values.get("dtype"))
    return {argument: value for argument, value in values.items() if value is not REQUIRED}


def build(name: str, /, *, recipe: str | None = None, **arguments: Any) -> keras.Model:
    """Return a compiled ``keras.Model``, ready for ``fit`` on ids and labels.

    Args:
        name: A registered model. See ``list_models()``.
        recipe: A published result whose model arguments to use, such as ``"ding2018_table3_10x20"``.
        **arguments: The model's arguments. See ``describe(name)``.

    Raises:
        ValueError: An unknown model, recipe or argument (with near matches), a missing argument, a value out of range.

    Example:
        >>> model = build("dc_bilstm", vocab_size=18_000, num_classes=6)
        >>> model.count_params()
        6807766
    """
    check_settings()
    return entry(name).factory(**resolve(name, arguments, recipe))


def _check_policy(dtype: Any) -> None:
    """Raise ``ValueError`` for a dtype policy that no model can be trained with. A plain name needs no Keras."""
    if dtype is None or dtype in _POLICIES:
        return
    weights = dtype
    if dtype not in _HALVES:
        if isinstance(dtype, str) and "_from_" not in dtype:
            raise checks.unknown_name("dtype policy:", dtype, _POLICIES)
        import keras

        try:
            weights = keras.dtype_policies.get(dtype).variable_dtype
        except (TypeError, ValueError):
            raise checks.unknown_name("dtype policy:", dtype, _POLICIES) from None
    # Updates are smaller than the steps of such weights, so that they learn nothing; and bfloat16 has no QR.
    if weights in _HALVES:
        raise ValueError(f"dtype {weights!r} has weights of two bytes, which do not learn. Use 'mixed_{weights}'.")


def check_arguments(name: str, arguments: Mapping[str, Any], recipe: str | None = None) -> None:
    """Build a model of few words, which raises for arguments of which none can be built.

    Args:
        name: A registered model.
        arguments: Its arguments, without those that training derives from the data.
        recipe: A recipe's name, or None.

    Raises:
        ValueError: As for ``build``.

    Example:
        >>> check_arguments("bilstm", {"kernel": "fast"})
        Traceback (most recent call last):
        ValueError: Unknown value of kernel: 'fast'. Accepted: auto, compiled, cudnn, native, portable.
    """
    build(name, recipe=recipe, **{**arguments, **sizes(name)})


def sizes(name: str) -> dict[str, int]:
    """Return those of ``SIZES`` that a model takes."""
    return {size: value for size, value in SIZES.items() if size in entry(name).arguments}


def count_encoder_parameters(
    model: str | keras.Model, /, *, recipe: str | None = None, biases: bool = True, **arguments: Any
) -> int:
    """Count the weights between the embedding and the softmax, as in the tables of Ding et al. 2018.

    Args:
        model: A model's name (counted by a closed formula, without building it) or a model from ``build`` (its weights
            are counted).
        recipe: A recipe's name. Only with a model's name.
        biases: Whether to count bias vectors. The paper's tables leave them out.
        **arguments: Model arguments. Only with a model's name.

    Raises:
        ValueError: As for ``build``, or arguments given with a built model.

    Example:
        >>> count_encoder_parameters("dc_bilstm", num_dense_layers=10, dense_units=20, biases=False)
        1440000
    """
    if isinstance(model, str):
        values = resolve(model, arguments, recipe, complete=False)
        for argument, default in entry(model).arguments.items():
            if type(default) is int and values.get(argument) is not None:
                checks.integer(argument, values[argument], minimum=0)
        return entry(model).encoder_parameters(biases=biases, **values)
    if arguments or recipe:
        raise ValueError("count_encoder_parameters takes arguments only with a model's name, not with a built model.")
    weights = [w for layer in network(model).layers if layer.name not in _NOT_ENCODER for w in layer.weights]
    return sum(w.shape.num_elements() for w in weights if biases or not w.name.endswith("bias"))


def network(model: keras.Model) -> keras.Model:
    """Return the network inside a language model or CRF tagger, or the model itself for any other."""
    return getattr(model, "core", model)
