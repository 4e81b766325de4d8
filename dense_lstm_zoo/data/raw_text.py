"""Telling raw text from ids in what Keras' ``fit``, ``evaluate`` and ``predict`` are given."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from dense_lstm_zoo.data.frames import check_frame, is_frame

_STRINGS = ("string", "str")  # the dtypes of texts
_TEXT_KINDS = "OSTU"  # the kinds of NumPy's dtypes that may hold texts
_NUMBERS = re.compile(r"u?int|float|bfloat|bool|complex|<dtype")  # how the dtypes of numbers begin, in any library


def holds_text(x: Any) -> bool:
    """Return whether inputs are raw text: strings, a column of them, or a ``tf.data.Dataset`` of them.

    Rows of strings, such as the words of sentences or a column as an array (texts, 1), are raw text as well. So is a
    list without items. A generator is not looked into.

    Example:
        >>> holds_text(["a film"]), holds_text([["a", "film"]]), holds_text([[2, 3]])
        (True, True, False)
    """
    if hasattr(x, "element_spec"):  # tf.data.Dataset
        spec = x.element_spec
        return getattr(spec[0] if isinstance(spec, tuple) else spec, "dtype", None) == "string"
    if is_frame(x):
        x = check_frame("x", x)
        x = x.iloc[:, 0] if x.shape[1] else ()
    dtype = getattr(x, "dtype", None)
    if dtype is not None:
        name = str(getattr(dtype, "name", dtype)).lower()
        if name in _STRINGS or _NUMBERS.match(name):
            return name in _STRINGS
    if isinstance(x, list | tuple) or (hasattr(x, "__len__") and (dtype is not None or hasattr(x, "type"))):
        # A missing text is an error that names its row.
        return _is_text(next((item for item in x if not _says_nothing(item)), ""))
    return _is_text(x)


def _is_text(item: object) -> bool:
    if isinstance(item, str | bytes):
        return True
    if isinstance(item, np.ndarray):
        item = item[:1].tolist() if item.ndim else item.tolist()  # not all ids of a whole array
    return isinstance(item, list | tuple) and bool(item) and isinstance(item[0], str | bytes)


def _says_nothing(item: object) -> bool:
    """Return whether an item is missing, or a row without cells, or of one that is missing."""
    if isinstance(item, np.ndarray) and item.shape == (0,) and item.dtype.kind == "f":  # as NumPy makes of []
        return True
    if isinstance(item, np.ndarray) and item.ndim and item.dtype.kind in _TEXT_KINDS:
        item = item[:2].tolist()
    if isinstance(item, list | tuple):
        return not item or (len(item) == 1 and _says_nothing(item[0]))
    return item is None or (isinstance(item, float) and item != item)
