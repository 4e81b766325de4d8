"""Tensors of any backend: their type, their values where there are any, and the static sizes that programs lose."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

import keras
import numpy as np

if TYPE_CHECKING:
    import tensorflow as tf

# A tensor inside a call: symbolic while a functional model is built, otherwise the backend's own, such as TensorFlow's.
Tensor: TypeAlias = "keras.KerasTensor | tf.Tensor"
Shape: TypeAlias = tuple[int | None, ...]  # static sizes, None where they are unknown


def known_values(tensor: Tensor) -> np.ndarray | None:
    """Return a tensor's values, or None while a model is built or traced, and for one on PyTorch's GPU."""
    try:
        return np.asarray(tensor)
    except (NotImplementedError, TypeError, ValueError):
        return None


def of_shape(x: Tensor, shape: Iterable[int | None]) -> Tensor:
    """Return ``x`` with the known parts of ``shape`` set, in case a graph knows less.

    A program that serves layers of several widths is traced for any width. In a graph its results have no static width,
    and a layer that creates weights or reshapes by the width of its input would fail.
    """
    if hasattr(x, "set_shape"):  # only TensorFlow's; tensors of other backends keep their shape
        x.set_shape(tuple(shape))
    return x
