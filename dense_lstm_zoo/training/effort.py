"""Settings of a training with ``effort``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dense_lstm_zoo import checks, tasks
from dense_lstm_zoo.bundles import presets
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.tasks.recipes import list_recipes

# Options that also say where a run begins. A user who sets one of them leaves no choice.
_STARTS = ("vectors", "context")
# Options of a training of more than the last layer. A user who sets one of them has that.
_TRAINING = (
    *("epochs", "head", "monitor", "calibrate", "dev_every", "temperature"),
    *("unfreeze", "unfreeze_after", "layer_decay"),
    *("patience", "batch_size", "learning_rate", "learning_rate_decay", "decay_after"),
)


@dataclass(frozen=True)
class Choice:
    """The settings among which a run with ``effort`` chooses, once its texts are read.

    Args:
        from_scratch: Those of a run from scratch, or from the trained model that its user names.
        from_trained: Those of runs from installed presets, each with its ``init_from``.
        with_context: Those of runs from scratch with the states of a text encoder, each with its ``context``.
        few_texts: The number of texts up to which the recipe for few texts takes their place.
        recipe_for_few: The name of that recipe, or None for a model or for settings that it is not for.
    """

    from_scratch: dict[str, Any]
    from_trained: list[dict[str, Any]]
    with_context: list[dict[str, Any]]
    few_texts: int
    recipe_for_few: str | None


def choice(model: str, values: Mapping[str, Any]) -> Choice:
    """Return the settings among which a run chooses.

    Args:
        model: A registered model.
        values: Options of ``train`` and model arguments, ``effort`` among them. They take precedence.

    Raises:
        ValueError: An effort that the model's task does not have.
    """
    entry = registry.entry(model)
    task = tasks.find(entry.task)
    if not task.efforts:
        with_effort = ", ".join(each.name for each in tasks.every() if each.efforts)
        raise ValueError(f"effort is not an option for {task.name}; only for {with_effort}.")
    effort = task.efforts[checks.one_of("effort", values["effort"], task.efforts)]
    trains = any(values.get(name) is not None for name in _TRAINING)
    has_recipe = effort.recipe_for_few in list_recipes(model=model) and not trains
    few = effort.few_texts, effort.recipe_for_few if has_recipe else None

    def complete(*defaults: Mapping[str, Any]) -> dict[str, Any]:
        accepted = {*entry.arguments, *tasks.every_option()}
        settings = {name: x for each in defaults for name, x in each.items() if name in accepted}
        own = {name: x for name, x in values.items() if x is not None or name in entry.arguments}
        return {**settings, **own}

    from_trained = complete(effort.settings, effort.from_trained)
    if values.get("init_from") is not None:
        return Choice(from_trained, [], [], *few)
    from_scratch = complete(effort.settings, effort.from_scratch)
    with_context = []
    if effort.context and values.get("context") is None:
        with_context = [{**from_scratch, "context": effort.context}]
    starts = []
    if not any(values.get(name) is not None for name in _STARTS):
        sources = (x for x in presets.list_presets(task=task.name) if x.model == model and x.is_installed)
        starts = [{**from_trained, "init_from": preset.name} for preset in sources]
    return Choice(from_scratch, starts, with_context, *few)


def model_of(effort: str | None) -> str | None:
    """Return the model of a command that names an effort alone, or None without one, or for one that there is not.

    Example:
        >>> model_of("quick")
        'bilstm'
    """
    efforts = (task.efforts[effort] for task in tasks.every() if effort is not None and effort in task.efforts)
    return next((each.model for each in efforts), None)
