"""Parameter budgets: the largest width for a depth, by the closed formula for the model's parameters."""

from __future__ import annotations

import itertools
import re
from collections.abc import Container, Mapping, Sequence
from typing import Any

from dense_lstm_zoo.models import registry
from dense_lstm_zoo.search.space import Range, Space

DEPTHS = ("num_layers", "num_dense_layers", "depth")  # the models' names for depth
_LARGEST = 1 << 16


def parse_count(text: str | int) -> int:
    """Read a number of parameters, such as ``"1.44M"``.

    Example:
        >>> parse_count("1.44M"), parse_count("300k"), parse_count(5000)
        (1440000, 300000, 5000)
    """
    match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([kKmM]?)", str(text).replace(",", "").strip())
    count = round(float(match[1]) * {"": 1, "k": 1e3, "m": 1e6}[match[2].lower()]) if match else 0
    if count < 1:
        raise ValueError(f"A budget is a number of parameters, such as 1.44M or 300k; received {text!r}.")
    return count


def width_argument(model: str, arguments: Mapping[str, Any]) -> str:
    """Return the argument that a budget sets: the width of the narrow layers, or the only width.

    Example:
        >>> width_argument("dc_bilstm", {"num_dense_layers": 10}), width_argument("dc_bilstm", {"num_dense_layers": 0})
        ('dense_units', 'top_units')
    """
    defaults = registry.entry(model).arguments
    if "dense_units" in defaults:
        return "dense_units" if arguments.get("num_dense_layers", defaults["num_dense_layers"]) else "top_units"
    return "units" if "units" in defaults else "filters"


def fit_width(model: str, arguments: Mapping[str, Any], budget: int) -> dict[str, int]:
    """Return the largest width whose encoder has at most ``budget`` parameters, not counting biases, as in the papers.

    Args:
        model: A registered model.
        arguments: Its other arguments, including the depth.
        budget: The number of parameters.

    Raises:
        ValueError: Even the smallest width has more parameters.

    Example:
        >>> fit_width("dc_bilstm", {"num_dense_layers": 10, "top_units": 100}, 1_440_000)
        {'dense_units': 20}
    """
    name = width_argument(model, arguments)
    fixed = {key: value for key, value in arguments.items() if key != name}

    def count(width: int) -> int:
        return registry.count_encoder_parameters(model, biases=False, **{**fixed, name: width})

    if count(1) > budget:
        raise ValueError(
            f"The budget of {budget:,} parameters is below the smallest {model}: with {name}=1"
            f"{''.join(f', {key}={value}' for key, value in sorted(fixed.items()) if 'layers' in key)} it has "
            f"{count(1):,}."
        )
    low, high = 1, _LARGEST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if count(middle) <= budget else (low, middle)
    return {name: low}


def check_budget(
    model: str, arguments: Mapping[str, Any], fixed_names: Container[str], space: Space, budget: int
) -> None:
    """Raise ``ValueError`` if a point of the space exceeds the budget, or the width is also searched or given.

    Args:
        model: A registered model.
        arguments: Its other arguments, a recipe's among them.
        fixed_names: The names of those that are not a recipe's, which a budget replaces.
        space: What is searched.
        budget: The number of parameters.
    """
    names = set(registry.entry(model).arguments)
    fixed = {name: value for name, value in arguments.items() if name in names}
    axes = {name: _ends(name, values) for name, values in space.items() if name in names}
    depths = {name: values for name, values in axes.items() if name in DEPTHS}
    for point in itertools.product(*depths.values()):
        at = {**fixed, **dict(zip(depths, point, strict=True))}
        width = width_argument(model, at)
        if width in space or width in fixed_names:
            raise ValueError(f"A budget sets {width}, which can be neither searched nor given.")
        for name in axes.keys() - depths.keys():  # the value with the most weights, so that no trial is refused later
            sizes = {_count_narrowest(model, width, {**at, name: value}): value for value in axes[name]}
            at[name] = sizes[max(sizes)]
        fit_width(model, at, budget)


def _ends(name: str, values: Range | Sequence[Any]) -> list[Any]:
    """Return the values of an axis, of a range its ends."""
    if not isinstance(values, Range):
        return list(values)
    return [int(end) if name in DEPTHS else end for end in (values.low, values.high)]


def _count_narrowest(model: str, width: str, arguments: Mapping[str, Any]) -> int:
    return registry.count_encoder_parameters(model, biases=False, **{**arguments, width: 1})
