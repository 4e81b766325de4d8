"""Search spaces: the arguments that a sweep searches, and their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks, tasks
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.tasks.options import json_or_text
from dense_lstm_zoo.tasks.ranges import Range

if TYPE_CHECKING:
    import keras_tuner


Space = Mapping[str, Range | Sequence[Any]]


def default_space(model: str, fixed: Iterable[str] = ()) -> dict[str, Range | Sequence[Any]]:
    """Return a model's default search space, without fixed arguments.

    Example:
        >>> list(default_space("bilstm", fixed=["dropout"]))
        ['units', 'embedding_dropout', 'learning_rate']
    """
    entry, fixed = registry.entry(model), set(fixed)
    return {
        name: x for name, x in tasks.find(entry.task).space.items() if name in entry.arguments and name not in fixed
    }


def check_space(model: str, space: Space, fixed: Iterable[str]) -> None:
    """Raise ``ValueError`` for an empty space, an argument that the model does not have, or one that is also fixed."""
    if not space:
        raise ValueError("The search space is empty: name arguments to search, such as units=Range(50, 300).")
    entry = registry.entry(model)
    arguments = set(entry.arguments) - set(registry.FROM_DATA)
    options = [option.name for option in tasks.find(entry.task).all_options if option.searched]
    for name, values in space.items():
        if name not in arguments and name not in options:
            raise checks.unknown_name(f"argument of {model} to search:", name, [*arguments, *options])
        if name in set(fixed):
            raise ValueError(f"{name} is both fixed and searched; leave one out.")
        if isinstance(values, Range):
            continue
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise ValueError(f"{name} needs a Range or a list of values; received {values!r}.")
        if len({type(value) for value in values}) > 1 or not isinstance(values[0], str | int | float | bool):
            raise ValueError(f"The values of {name} must be numbers, names or booleans, all of one kind: {values!r}.")


def ends(values: Range | Sequence[Any]) -> tuple[Any, ...]:
    """Return the values that show whether a model accepts all of them: every choice, or both ends of a range."""
    return (values.low, values.high) if isinstance(values, Range) else tuple(values)


def parse_space(words: Iterable[str]) -> dict[str, Range | Sequence[Any]]:
    """Parse a space as written on the command line: ``name=low:high``, ``low:high:step``, ``low:high:log``, ``a,b,c``.

    Raises:
        ValueError: A word that is none of these.

    Example:
        >>> parse_space(["units=50:300:log", "pooling=mean,max"])
        {'units': Range(low=50, high=300, step=None, log=True), 'pooling': ['mean', 'max']}
    """
    space: dict[str, Range | Sequence[Any]] = {}
    for word in words:
        name, equals, values = word.partition("=")
        name = name.replace("-", "_")
        if not equals or not values:
            raise ValueError(f"Write a search as NAME=LOW:HIGH, NAME=LOW:HIGH:log or NAME=A,B; received {word!r}.")
        if name in space:
            raise ValueError(f"{name} is searched twice; give all its values at once, such as {name}=A,B.")
        if ":" not in values:
            space[name] = [json_or_text(value) for value in values.split(",")]
            continue
        low, *ends = (json_or_text(part) for part in values.split(":"))
        log = ends[-1] == "log"
        numbers = [low, *(ends[:-1] if log else ends)]
        if not 2 <= len(numbers) <= 3 or any(isinstance(x, str) for x in numbers):
            raise ValueError(f"Write a range as LOW:HIGH, LOW:HIGH:STEP or LOW:HIGH:log; received {word!r}.")
        space[name] = Range(numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else None, log)
    return space


def declare(hp: keras_tuner.HyperParameters, space: Space) -> None:
    """Declare a space to keras-tuner.

    Its ``Choice`` would make integers of booleans, and its ``Float`` with a step leaves out the upper end: 0.3 // 0.1
    is 2.
    """
    for name, values in space.items():
        if isinstance(values, Range):
            sampling = "log" if values.log else "linear"
            if values.is_integer:
                hp.Int(name, int(values.low), int(values.high), step=values.step, sampling=sampling)
            elif values.step is not None:
                hp.Choice(name, values.steps)
            else:
                hp.Float(name, float(values.low), float(values.high), sampling=sampling)
        elif not isinstance(values[0], bool):
            hp.Choice(name, list(values))
        elif len(set(values)) == 1:
            hp.Fixed(name, values[0])
        else:
            hp.Boolean(name, default=values[0])


def describe_space(space: Space) -> dict[str, Any]:
    """Return a space as JSON values."""
    return {name: vars(values).copy() if isinstance(values, Range) else list(values) for name, values in space.items()}


def space_from(described: Mapping[str, Any]) -> dict[str, Range | Sequence[Any]]:
    """Return the space that ``describe_space`` described."""
    return {name: Range(**values) if isinstance(values, dict) else values for name, values in described.items()}
