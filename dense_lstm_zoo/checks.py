"""Checks of user input: each raises before any work and says what was received and what is accepted."""

from __future__ import annotations

import codecs
import difflib
import itertools
import math
import numbers
from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def unknown_name(kind: str, received: object, accepted: Iterable[str]) -> ValueError:
    """Return (not raise) the error for a name that does not exist, with near matches and every accepted name.

    Args:
        kind: The kind of name, such as ``"model"`` or ``"argument of dc_bilstm"``.
        received: What the user wrote.
        accepted: Every name that exists.

    Example:
        >>> print(unknown_name("model", "dc_bilstn", ["dc_bilstm", "bilstm"]))
        Unknown model 'dc_bilstn'. Did you mean 'dc_bilstm' or 'bilstm'? Accepted: bilstm, dc_bilstm.
    """
    names = sorted(accepted)
    near = difflib.get_close_matches(str(received), names, n=3, cutoff=0.6)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    return ValueError(f"Unknown {kind} {received!r}.{hint} Accepted: {', '.join(names) or 'none'}.")


def one_of(name: str, value: Any, accepted: Iterable[Any]) -> Any:
    """Return ``value`` if it is one of ``accepted``, else raise ``ValueError``."""
    accepted = list(accepted)
    if value not in accepted:
        raise unknown_name(f"value of {name}:", value, map(str, accepted))
    return value


def integer(name: str, value: Any, minimum: int = 1) -> int:
    """Return ``value`` as an ``int`` of at least ``minimum``, else raise ``ValueError``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < minimum:
        raise ValueError(f"{name} must be an integer of at least {minimum}; received {value!r}.")
    return int(value)


def fraction(name: str, value: Any) -> float:
    """Return ``value`` as a ``float`` in [0, 1), the range of a dropout rate, else raise ``ValueError``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 <= float(value) < 1:
        raise ValueError(f"{name} must be a number from 0 up to, not including, 1; received {value!r}.")
    return float(value)


def positive(name: str, value: Any, zero: bool = False) -> float:
    """Return ``value`` as a finite ``float`` above 0 (or at least 0 with ``zero=True``), else raise ``ValueError``."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
    if not real or value < 0 or (value == 0 and not zero):
        raise ValueError(f"{name} must be a finite number {'of at least' if zero else 'above'} 0; received {value!r}.")
    return float(value)


def encoding(value: Any) -> str:
    """Return the codec of a text encoding, else raise ``ValueError``; for utf-8, one that drops a byte order mark.

    Example:
        >>> encoding("UTF-8"), encoding("latin-1")
        ('utf-8-sig', 'iso8859-1')
    """
    try:
        "".encode(value)
        codec = codecs.lookup(value).name
    except (LookupError, TypeError):
        raise ValueError(
            f"encoding must be a text encoding such as 'utf-8' or 'latin-1'; received {value!r}."
        ) from None
    return "utf-8-sig" if codec == "utf-8" else codec


def is_writable(text: str) -> bool:
    """Return whether a text can be written to a file, which a lone surrogate prevents."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


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
        width: The features of that part; 0 if there is none.
        input_dim: The expected features of x; None means any.

    Raises:
        ValueError: An input whose width does not fit both.
    """
    found = None if shape[-1] is None else shape[-1] - width
    if found is None or found < 1 or found != (input_dim or found):
        x = "x" if input_dim is None else f"x of {input_dim} features"
        holds = f"{x} followed by {width} features of {second}" if width else x
        raise ValueError(f"The input must hold {holds}; received shape {tuple(shape)}.")
    return found


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


def sequence(items: Any, what: str = "texts") -> None:
    """Raise ``TypeError`` for iterables that are not sequences of strings, such as a dictionary or a table.

    Example:
        >>> sequence({"text": ["good"]})
        Traceback (most recent call last):
        TypeError: texts must be a list of strings; received a dict with the keys text. Pass one of them: texts["text"].
    """
    received = f"{what} must be a list of strings; received"
    if isinstance(items, (str, bytes)):
        raise TypeError(f"{received} one string. Write [{items[:40]!r}].")
    kind = type(items).__name__
    if hasattr(items, "columns") and hasattr(items, "__getitem__"):  # pandas, polars, pyarrow, ...
        columns = [str(name) for name in getattr(items, "column_names", items.columns)]
        example = f'Pass one of them: df["{columns[0] if columns else "text"}"].'
        raise TypeError(f"{received} a {kind} with the columns {', '.join(columns):.200}. {example}")
    if isinstance(items, Mapping):
        keys = [str(key) for key in itertools.islice(items, 5)]
        example = f'Pass one of them: {what}["{keys[0] if keys else "text"}"].'
        raise TypeError(f"{received} a {kind} with the keys {', '.join(keys):.200}. {example}")
    if not isinstance(items, Iterable) or getattr(items, "ndim", 1) == 0:
        raise TypeError(f"{received} {items!r:.80} ({kind}).")
    if getattr(items, "ndim", 1) > 1:
        shape = tuple(getattr(items, "shape", ()))
        raise TypeError(f"{received} a {kind} of shape {shape}. Pass one column of it.")


def chunks(items: Iterable[Any], size: int, what: str = "texts") -> Iterator[list[Any]]:
    """Yield items lazily, in lists of ``size``.

    Raises:
        TypeError: Not a sequence of items, such as a single string or a table.
    """
    sequence(items, what)
    items = iter(items)
    while chunk := list(itertools.islice(items, size)):
        yield chunk


def text_chunks(texts: Iterable[str], size: int) -> Iterator[list[str]]:
    """Check texts and yield them lazily, in lists of ``size``.

    Raises:
        TypeError: Not a sequence of strings, or an item that is not a string; the message gives its position.
    """
    seen = 0
    for chunk in chunks(texts, size):
        for number, text in enumerate(chunk, start=seen):
            if not isinstance(text, (str, bytes)):
                raise TypeError(not_text("texts", number, text))
        seen += len(chunk)
        yield chunk


def not_text(what: str, number: int, item: Any) -> str:
    """Return the message for an item that is not a string: tables represent a missing string as None or NaN."""
    missing = item is None or type(item).__name__ in ("NAType", "NaTType") or (isinstance(item, float) and item != item)
    advice = ' It is missing: remove it (dropna), or make it an empty text (fillna("")).' if missing else ""
    received = f"{item!r:.80} ({type(item).__name__})"
    return f"{what} must hold strings; received {received} as item {number}, counted from 0.{advice}"


def difference(found: Any, asked: Any, name: str = "") -> str:
    """Return a description of the settings that differ.

    Example:
        >>> difference({"seed": 1, "training": {"epochs": 3}}, {"seed": 2, "training": {"epochs": 3}})
        'seed was 1 and is 2'
    """
    if isinstance(found, dict) and isinstance(asked, dict):
        keys = [key for key in {**found, **asked} if found.get(key) != asked.get(key)]
        return ", ".join(difference(found.get(key), asked.get(key), key) for key in keys)
    return f"{name} was {found!r} and is {asked!r}"
