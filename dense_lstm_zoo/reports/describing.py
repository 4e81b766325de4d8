"""Descriptions of a model, a recipe, a preset or a run: one line per argument, ready to print."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import tasks
from dense_lstm_zoo.bundles import checks, presets
from dense_lstm_zoo.bundles.folder import BundleFolder
from dense_lstm_zoo.data.cells import escape_controls
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.models.docstrings import first_sentence
from dense_lstm_zoo.models.registry import REQUIRED
from dense_lstm_zoo.tasks.recipe import Recipe
from dense_lstm_zoo.tasks.recipes import list_recipes, recipes
from dense_lstm_zoo_runtime.paths import user_path

if TYPE_CHECKING:
    import keras

_PROTOCOL = ("epochs", "patience", "batch_size", "learning_rate_decay", "decay_after", "num_steps", "max_words")


class _Page:
    """Text that ``print`` and a notebook show as it is."""

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, repr=False)
class ModelDescription(_Page):
    """The description of a model, which ``print`` shows as a page."""

    name: str
    task: str
    summary: str
    paper: str
    arguments: dict[str, Any]
    encoder_parameters: int
    encoder_parameters_without_biases: int
    recipes: tuple[str, ...]

    def __str__(self) -> str:
        required = [a for a, default in self.arguments.items() if default is REQUIRED]
        defaults = {a: repr(default) for a, default in self.arguments.items() if default is not REQUIRED}
        texts = registry.entry(self.name).texts
        lines = [
            f"{self.name} ({self.task})",
            f"  {self.summary}",
            f"  Paper: {self.paper}",
            f"  Encoder parameters with the defaults: {self.encoder_parameters:,} "
            f"({self.encoder_parameters_without_biases:,} without biases)",
            "  Arguments, with their defaults:",
            *_lines({**dict.fromkeys(required, "required"), **defaults}, texts),
            "  Recipes: " + (", ".join(self.recipes) or "none"),
        ]
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class RecipeDescription(_Page):
    """The description of a recipe, which ``print`` shows as a page."""

    recipe: Recipe

    def __str__(self) -> str:
        recipe, helps = self.recipe, {name: option.help for name, option in tasks.every_option().items()}
        values: dict[str, dict[str, list[str]]] = {}  # of each argument: the models that have it, by value
        texts: dict[str, str] = {}
        for model, arguments in recipe.models.items():
            texts = {**registry.entry(model).texts, **texts}
            for name, value in arguments.items():
                values.setdefault(name, {}).setdefault(repr(value), []).append(model)
        protocol = {name: getattr(recipe, name) for name in _PROTOCOL}
        expected = ", ".join(f"{corpus} {score:g}" for corpus, score in recipe.expected.items())
        lines = [
            f"{recipe.name} (recipe)",
            f"  Source: {recipe.source}",
            f"  Models: {', '.join(recipe.models)}",
            f"  Published scores: {expected or 'none'}",
            "  Training:",
            *_lines({name: repr(value) for name, value in protocol.items() if value is not None}, helps),
            "  Arguments; others have the model's defaults:",
            *_lines({name: _by_model(by_value, len(recipe.models)) for name, by_value in values.items()}, texts),
        ]
        return "\n".join(lines)


def _by_model(values: Mapping[str, list[str]], models: int) -> str:
    """Return a value, or each value with its models where they differ or not all models have the argument."""
    parts = [value if len(names) == models else f"{value} ({', '.join(names)})" for value, names in values.items()]
    return "; ".join(parts)


@dataclass(frozen=True, repr=False)
class BundleDescription(_Page):
    """The description of a preset or a run, which ``print`` shows as a page."""

    folder: Path
    config: dict[str, Any]
    metrics: dict[str, Any]

    def __str__(self) -> str:
        model, task, training = self.config["model"], tasks.find(self.config["task"]), self.config["training"]
        entry = registry.entry(model)
        helps = {name: option.help for name, option in tasks.every_option().items()}
        scores = [
            f"{split} {task.measure} {value:.4f}"
            for split in ("dev", "test")
            if isinstance(value := self.metrics.get(f"{split}_{task.measure}"), int | float)
        ]
        size = sum(file.stat().st_size for file in self.folder.iterdir() if file.is_file())
        options = {name: training[name] for name in helps if training.get(name) is not None}
        trained = (
            f"Trained on {training['dataset']}, seed {training.get('seed', 'unknown')}, "
            f"recipe {training.get('recipe') or 'none'}"
        )
        lines = [
            f"{escape_controls(str(self.folder))} ({'text encoder' if self.encoder else task.name})",
            f"  {model}: {entry.summary}",
            *self._of_encoder(),
            f"  {escape_controls(trained)}",
            *self._of_teacher(training.get("taught_by")),
            f"  Scores: {', '.join(scores) or 'none'}",
            f"  Size: {size / 2**20:.1f} MB" + _count(self.metrics),
            "  Training:",
            *_lines({name: _short(value) for name, value in options.items()}, helps),
            "  Arguments; those with a * differ from the model's defaults:",
            *_lines(dict(_marked(self.config["arguments"], entry.arguments)), entry.texts),
        ]
        return "\n".join(lines)

    def _of_teacher(self, taught_by: object) -> list[str]:
        """Return the line about those whose probabilities the model learnt from, if there are any."""
        if not isinstance(taught_by, Mapping):
            return []
        teachers = ", ".join(map(str, taught_by.get("teachers", ()))) or "unknown"
        return [f"  {escape_controls(f'Taught by: {teachers}')}"]

    @property
    def encoder(self) -> dict[str, Any]:
        """The language models that a text encoder was joined from. Empty for a trained model."""
        return dict(self.config.get("encoder", {}))

    def _of_encoder(self) -> list[str]:
        """Return the lines that only a text encoder has."""
        if not self.encoder:
            return []
        lines = ["  Predicts nothing by itself: train --context or --init-from reads with it"]
        for direction, source in self.encoder["models"].items():
            perplexity = source.get("dev_perplexity")
            score = f", dev perplexity {perplexity:.2f}" if isinstance(perplexity, int | float) else ""
            line = f"Reads {direction}: {source['model']}, epochs {source.get('epochs', 'unknown')}{score}"
            lines.append(f"  {escape_controls(line)}")
        return lines


def _count(metrics: Mapping[str, Any]) -> str:
    count = metrics.get("parameters")
    return f", {count:,} parameters" if isinstance(count, int) else ""


def _marked(arguments: Mapping[str, Any], defaults: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Return the arguments in the order of the model's, each with its value and a mark if that is not the default."""
    for name in [*(name for name in defaults if name in arguments), *arguments.keys() - defaults.keys()]:
        value, default = arguments[name], defaults.get(name, REQUIRED)
        same = value == (list(default) if isinstance(default, tuple) else default)
        yield name, _short(value) + ("" if same or name in registry.FROM_DATA else " *")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:36]} ..."


def _lines(values: Mapping[str, str], texts: Mapping[str, str]) -> Iterable[str]:
    """Return a line for each argument: name, value, the first sentence of what the docstring says."""
    if not values:
        return ["    none"]
    values = {escape_controls(name): escape_controls(value) for name, value in values.items()}
    width = max(map(len, values))
    wide = max((len(value) for value in values.values() if len(value) <= 16), default=0)
    return [
        f"    {name:<{width}}  {value:<{wide}}  {first_sentence(texts.get(name, ''))}".rstrip()
        for name, value in values.items()
    ]


@dataclass(frozen=True, repr=False)
class KernelDescription(_Page):
    """The kernel each recurrent layer of a built model runs, and why. ``print`` shows it as a page."""

    kernels: dict[str, str]

    def __str__(self) -> str:
        return "\n".join(f"{layer}: {kernel}" for layer, kernel in self.kernels.items()) or "no recurrent layer"


Description = ModelDescription | RecipeDescription | BundleDescription | KernelDescription


def describe(name: str | os.PathLike[str] | keras.Model) -> Description:
    """Describe a model, a recipe, a preset or a run: what it is, and each argument with a line of help.

    Args:
        name: A registered model, a recipe, a preset, the folder of a run or another bundle, or a built model, to see
            which kernel each of its layers runs on this machine, and why.

    Returns:
        An object with what is known as attributes. ``print`` shows it as a page.

    Raises:
        ValueError: An unknown name, with near matches, or a damaged bundle.

    Example:
        >>> describe("dc_bilstm").encoder_parameters
        1406560
    """
    if not isinstance(name, str | os.PathLike):
        return _kernels(name)
    text = os.fspath(name)
    if text in registry.list_models():
        return _model(text)
    if text in recipes():
        return RecipeDescription(recipes()[text])
    preset_names = presets.names()
    if text in preset_names or "://" in text or user_path(text).exists() or os.sep in text:
        return _bundle(presets.open_folder(text))
    near = difflib.get_close_matches(text, [*registry.list_models(), *recipes(), *preset_names])
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise ValueError(
        f"Unknown model, recipe, preset or run {text!r}.{hint} dense-lstm-zoo list models, list recipes and list "
        "presets name them; a run is a folder that train wrote."
    )


def _model(name: str) -> ModelDescription:
    entry = registry.entry(name)
    return ModelDescription(
        name=name,
        task=entry.task,
        summary=entry.summary,
        paper=entry.paper,
        arguments=entry.arguments,
        encoder_parameters=registry.count_encoder_parameters(name),
        encoder_parameters_without_biases=registry.count_encoder_parameters(name, biases=False),
        recipes=tuple(list_recipes(model=name)),
    )


def _bundle(folder: BundleFolder) -> BundleDescription:
    metrics = checks.read_metrics(folder.path / "metrics.json")
    return BundleDescription(folder.path, folder.read_config(), metrics)


def _kernels(model: keras.Model) -> KernelDescription:
    from dense_lstm_zoo.layers.kernel_layer import KernelLayer

    recurrent = [layer for layer in registry.network(model).layers if isinstance(layer, KernelLayer)]
    return KernelDescription({f"{layer.name} ({type(layer).__name__})": layer.explain_kernel() for layer in recurrent})
