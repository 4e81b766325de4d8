"""Checks of user input, which dense_lstm_zoo shares: each raises before any work, and says what is accepted."""

from __future__ import annotations

import difflib
import itertools
import math
import numbers
from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def unknown_name(kind: str, name: object, accepted: Iterable[str]) -> ValueError:
    """Return (not raise) the error for a name that does not exist, with near matches and every accepted name.

    Args:
        kind: The kind of name, such as ``"model"`` or ``"argument of dc_bilstm"``.
        name: The name that the user wrote.
        accepted: Every name that exists.

    Example:
        >>> print(unknown_name("model", "dc_bilstn", ["dc_bilstm", "bilstm"]))
        Unknown model 'dc_bilstn'. Did you mean 'dc_bilstm' or 'bilstm'? Accepted: bilstm, dc_bilstm.
    """
    names = sorted(accepted)
    near = difflib.get_close_matches(str(name), names, n=3, cutoff=0.6)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    return ValueError(f"Unknown {kind} {name!r}.{hint} Accepted: {', '.join(names) or 'none'}.")


def integer(name: str, value: object, minimum: int = 1) -> int:
    """Return ``value`` as an ``int`` of at least ``minimum``, else raise ``ValueError``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < minimum:
        raise ValueError(f"{name} must be an integer of at least {minimum}; received {value!r}.")
    return int(value)


def positive(name: str, value: Any, zero: bool = False) -> float:
    """Return ``value`` as a finite ``float`` above 0 (or at least 0 with ``zero=True``), else raise ``ValueError``."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
    if not real or value < 0 or (value == 0 and not zero):
        raise ValueError(f"{name} must be a finite number {'of at least' if zero else 'above'} 0; received {value!r}.")
    return float(value)


MOST_THREADS = 256  # more than one process makes use of
_TEMPERATURES = 1e-6, 1e6


def threads(name: str, value: Any) -> int:
    """Return ``value`` as a number of threads, 1 to 256, else raise ``ValueError``."""
    if integer(name, value) > MOST_THREADS:
        raise ValueError(f"{name} must be an integer from 1 to {MOST_THREADS}; received {value!r}.")
    return int(value)


def temperature(name: str, value: object, zero: bool = False) -> float:
    """Return ``value`` as a ``float`` that logits can be divided by: 1e-6 to 1e6, or 0 with ``zero=True``."""
    low, high = _TEMPERATURES
    if not low <= (number := positive(name, value, zero)) <= high and not (zero and number == 0):
        raise ValueError(f"{name} must be {'0, or ' * zero}from {low:g} to {high:g}; received {value!r}.")
    return number


def threshold(name: str, value: Any) -> float:
    """Return a threshold of probabilities, a number above 0 and below 1, else raise ``ValueError``."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not 0 < value < 1:  # NaN is neither
        raise ValueError(f"{name} must be a number above 0 and below 1; received {value!r:.80}.")
    return float(value)


def is_writable(text: str) -> bool:
    """Return whether a text can be written to a file, which a lone surrogate prevents."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def sequence(items: Any, name: str = "texts") -> None:
    """Raise ``TypeError`` for iterables that are not sequences of strings, such as a dictionary or a table.

    Example:
        >>> sequence({"text": ["good"]})
        Traceback (most recent call last):
        TypeError: texts must be a list of strings; received a dict with the keys text. Pass one of them: texts["text"].
    """
    message = f"{name} must be a list of strings; received"
    if isinstance(items, (str, bytes)):
        raise TypeError(f"{message} one string. Write [{items[:40]!r}].")
    kind = type(items).__name__
    if hasattr(items, "columns") and hasattr(items, "__getitem__"):  # pandas, polars, pyarrow, ...
        columns = [str(name) for name in getattr(items, "column_names", items.columns)]
        example = f'Pass one of them: df["{columns[0] if columns else "text"}"].'
        raise TypeError(f"{message} a {kind} with the columns {', '.join(columns):.200}. {example}")
    if isinstance(items, Mapping):
        keys = [str(key) for key in itertools.islice(items, 5)]
        example = f'Pass one of them: {name}["{keys[0] if keys else "text"}"].'
        raise TypeError(f"{message} a {kind} with the keys {', '.join(keys):.200}. {example}")
    if isinstance(items, set | frozenset):
        raise TypeError(f"{message} a {kind}, whose items have no order. Pass a list, such as sorted({name}).")
    if not isinstance(items, Iterable) or getattr(items, "ndim", 1) == 0:
        raise TypeError(f"{message} {items!r:.80} ({kind}).")
    if getattr(items, "ndim", 1) > 1:
        shape = tuple(getattr(items, "shape", ()))
        raise TypeError(f"{message} a {kind} of shape {shape}. Pass one column of it.")


def chunks(items: Iterable[Any], size: int, name: str = "texts") -> Iterator[list[Any]]:
    """Yield items lazily, in lists of ``size``.

    Raises:
        TypeError: Not a sequence of items, such as a single string or a table.
    """
    sequence(items, name)
    items = iter(items)
    while chunk := list(itertools.islice(items, size)):
        yield chunk


def text_chunks(texts: Iterable[str], size: int) -> Iterator[list[str]]:
    """Check texts and yield them lazily, in lists of ``size``.

    Raises:
        TypeError: Not a sequence of strings, or an item that is not a string. The message gives its position.
    """
    start = 0
    for chunk in chunks(texts, size):
        for number, text in enumerate(chunk, start=start):
            if not isinstance(text, (str, bytes)):
                raise TypeError(not_text("texts", number, text))
        start += len(chunk)
        yield chunk


def not_text(name: str, number: int, item: object) -> str:
    """Return the message for an item that is not a string: tables represent a missing string as None or NaN."""
    missing = item is None or type(item).__name__ in ("NAType", "NaTType") or (isinstance(item, float) and item != item)
    advice = ' It is missing: remove it (dropna), or make it an empty text (fillna("")).' if missing else ""
    value = f"{item!r:.80} ({type(item).__name__})"
    return f"{name} must hold strings; received {value} as item {number}, counted from 0.{advice}"
