"""Checks of user input: each raises before any work and says what was received and what is accepted."""

from __future__ import annotations

import codecs
import numbers
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from dense_lstm_zoo_runtime.checks import chunks as chunks
from dense_lstm_zoo_runtime.checks import integer as integer
from dense_lstm_zoo_runtime.checks import is_writable as is_writable
from dense_lstm_zoo_runtime.checks import not_text as not_text
from dense_lstm_zoo_runtime.checks import positive as positive
from dense_lstm_zoo_runtime.checks import sequence as sequence
from dense_lstm_zoo_runtime.checks import text_chunks as text_chunks
from dense_lstm_zoo_runtime.checks import threads as threads
from dense_lstm_zoo_runtime.checks import threshold as threshold
from dense_lstm_zoo_runtime.checks import unknown_name as unknown_name

Item = TypeVar("Item")
_LARGEST_SEED = 2**32 - 1


def one_of(name: str, value: Item, accepted: Iterable[Item]) -> Item:
    """Return ``value`` if it is one of ``accepted``, else raise ``ValueError``."""
    accepted = list(accepted)
    if value not in accepted:
        raise unknown_name(f"value of {name}:", value, map(str, accepted))
    return value


def seed(value: object, runs: int = 1) -> int:
    """Return a seed as an ``int`` from 0 to 2**32 - 1, the largest that NumPy takes, else raise ``ValueError``.

    Args:
        value: The seed.
        runs: The number of runs with it and those that follow.

    Example:
        >>> seed(2**32)
        Traceback (most recent call last):
        ValueError: seed must be an integer from 0 to 4,294,967,295; received 4294967296.
    """
    number, largest = integer("seed", value, minimum=0), _LARGEST_SEED + 1 - runs
    if number > largest:
        of_all = f" for {runs} runs" if runs > 1 else ""
        raise ValueError(f"seed must be an integer from 0 to {largest:,}{of_all}; received {value!r}.")
    return number


def plain(value: Any) -> Any:
    """Return a value with numbers of NumPy, also those in lists and dictionaries, as Python's. Keys become strings.

    Example:
        >>> import numpy as np
        >>> plain({"units": np.int64(3), "sizes": (np.int32(2), 3), "rate": 0.1})
        {'units': 3, 'sizes': (2, 3), 'rate': 0.1}
    """
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(plain, value))
    return value.item() if hasattr(value, "item") and getattr(value, "shape", None) == () else value


def fraction(name: str, value: object) -> float:
    """Return ``value`` as a ``float`` in [0, 1), the range of a dropout rate, else raise ``ValueError``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 <= float(value) < 1:
        raise ValueError(f"{name} must be a number from 0 up to, not including, 1; received {value!r}.")
    return float(value)


def share(name: str, value: object) -> float:
    """Return ``value`` as a ``float`` in [0, 1], else raise ``ValueError``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 <= float(value) <= 1:
        raise ValueError(f"{name} must be a number from 0 to 1; received {value!r}.")
    return float(value)


def encoding(value: str) -> str:
    """Return the codec of a text encoding, else raise ``ValueError``. For utf-8, one that drops a byte order mark.

    Example:
        >>> encoding("UTF-8"), encoding("latin-1")
        ('utf-8-sig', 'iso8859-1')
    """
    try:
        "".encode(value)
        codec = codecs.lookup(value).name
    except (LookupError, TypeError):
        raise ValueError(f"encoding must be a text encoding such as 'utf-8' or 'cp1252'; received {value!r}.") from None
    return "utf-8-sig" if codec == "utf-8" else codec


def writable(kind: str, texts: Iterable[str]) -> None:
    """Raise ``ValueError`` for a text that cannot be written to a file.

    Example:
        >>> writable("The label", ["caf\\u00e9", "\\ud800"])
        Traceback (most recent call last):
        ValueError: The label '\\ud800' holds a lone surrogate; use valid Unicode, which can be written to a file.
    """
    for text in texts:
        if not is_writable(text):
            raise ValueError(
                f"{kind} {text!r} holds a lone surrogate; use valid Unicode, which can be written to a file."
            )


def num_features(layer: object, shape: tuple[int | None, ...]) -> int:
    """Return the features of a layer's input shape (batch, time, features), else raise ``ValueError``."""
    if len(shape) != 3 or shape[-1] is None:
        raise ValueError(
            f"{type(layer).__name__} takes inputs of shape (batch, time, features) with a known number of "
            f"features; received shape {tuple(shape)}."
        )
    return shape[-1]


def cell_width(shape: tuple[int | None, ...], second: str, width: int, input_dim: int | None) -> int:
    """Return the features of x in a cell's input [x; ``second``], where ``second`` has ``width`` features.

    Args:
        shape: The input's shape.
        second: The name of the part after x, for the error.
        width: The features of that part, or 0 if there is none.
        input_dim: The expected features of x. None means any.

    Raises:
        ValueError: An input whose width does not fit both.
    """
    features = None if shape[-1] is None else shape[-1] - width
    if features is None or features < 1 or features != (input_dim or features):
        x = "x" if input_dim is None else f"x of {input_dim} features"
        holds = f"{x} followed by {width} features of {second}" if width else x
        raise ValueError(f"The input must hold {holds}; received shape {tuple(shape)}.")
    return features


def layer_states(initial_state: Iterable[Any], num_layers: int, each: int, units: int) -> list[Any]:
    """Return the initial states of each layer of a recurrent stack: ``each`` tensors (batch, units) per layer.

    Raises:
        ValueError: The wrong number of tensors, or a tensor of the wrong shape.
    """
    states = list(initial_state)
    if len(states) != each * num_layers:
        raise ValueError(f"initial_state needs {each} tensors for each of {num_layers} layers; received {len(states)}.")
    for number, state in enumerate(states):
        if len(state.shape) != 2 or state.shape[1] not in (None, units):
            raise ValueError(
                f"Every state must be (batch, units) = (batch, {units}); tensor {number} of initial_state has "
                f"shape {tuple(state.shape)}."
            )
    return [states[i : i + each] for i in range(0, len(states), each)]


def difference(before: object, now: object, name: str = "") -> str:
    """Return a description of the settings that differ.

    Example:
        >>> difference({"seed": 1, "training": {"epochs": 3}}, {"seed": 2, "training": {"epochs": 3}})
        'seed was 1 and is 2'
    """
    if isinstance(before, dict) and isinstance(now, dict):
        keys = [key for key in before | now if before.get(key) != now.get(key)]
        return ", ".join(difference(before.get(key), now.get(key), key) for key in keys)
    return f"{name} was {before!r} and is {now!r}"
