"""Settings of a training with ``effort``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dense_lstm_zoo import checks, tasks
from dense_lstm_zoo.bundles import presets
from dense_lstm_zoo.models import registry

# Options that also say where a run begins. A user who sets one of them leaves no choice.
_STARTS = ("vectors", "context")


def with_settings(model: str, values: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the values of a run from scratch with the settings of its effort, and those of runs from trained models.

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

    def complete(*defaults: Mapping[str, Any]) -> dict[str, Any]:
        accepted = {*entry.arguments, *tasks.every_option()}
        settings = {name: x for each in defaults for name, x in each.items() if name in accepted}
        own = {name: x for name, x in values.items() if x is not None or name in entry.arguments}
        return {**settings, **own}

    if values.get("init_from") is not None:
        return complete(effort.settings), []
    starts = []
    if not any(values.get(name) is not None for name in _STARTS):
        sources = (x for x in presets.list_presets(task=task.name) if x.model == model and x.is_installed)
        starts = [{**complete(effort.settings), "init_from": preset.name} for preset in sources]
    return complete(effort.settings, effort.from_scratch), starts


def model_of(effort: str | None) -> str | None:
    """Return the model of a command that names an effort alone, or None without one, or for one that there is not.

    Example:
        >>> model_of("quick")
        'bilstm'
    """
    efforts = (task.efforts[effort] for task in tasks.every() if effort is not None and effort in task.efforts)
    return next((each.model for each in efforts), None)
