"""Static shapes: what a shared program returns has forgotten its own, and stock layers ask for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def of_shape(x: Any, shape: Iterable[int | None]) -> Any:
    """Return ``x`` with all of ``shape`` that is known, where a graph knows less.

    A program that serves layers of several widths is traced for any width: in a graph its results have no static one,
    and a layer that makes weights of its input's width, or reshapes by it, fails.
    """
    if hasattr(x, "set_shape"):  # TensorFlow's alone; other backends' tensors cannot forget
        x.set_shape(tuple(shape))
    return x
