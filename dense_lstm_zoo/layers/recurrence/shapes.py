"""Restoring static shapes, which the results of shared programs lack and stock layers need."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def of_shape(x: Any, shape: Iterable[int | None]) -> Any:
    """Return ``x`` with the known parts of ``shape`` set, in case a graph knows less.

    A program that serves layers of several widths is traced for any width. In a graph its results have no static width,
    and a layer that creates weights or reshapes by the width of its input would fail.
    """
    if hasattr(x, "set_shape"):  # only TensorFlow's; tensors of other backends keep their shape
        x.set_shape(tuple(shape))
    return x
