"""Checking ids before they are looked up in a table."""

from __future__ import annotations

import keras
from keras import ops

from dense_lstm_zoo.layers.recurrence.tensors import Tensor, known_values


def checked_ids(layer: keras.layers.Layer, inputs: Tensor, size: int) -> Tensor:
    """Return ids as int32, such that a lookup in a table of ``size`` rows fails outside 0 to ``size - 1``.

    Eager calls raise ``ValueError`` at once. In a graph (``fit``, ``predict``, an export), TensorFlow's lookup raises
    ``InvalidArgumentError`` on a CPU; on a GPU and in XLA programs nothing is checked. A program of JAX returns NaNs.

    Args:
        layer: The layer, for the error.
        inputs: Ids of any shape.
        size: Rows of the table.

    Raises:
        ValueError: An id outside the table, in an eager call.
    """
    ids = ops.cast(inputs, "int32")
    if (values := known_values(ids)) is not None:
        low, high = (values.min(), values.max()) if values.size else (0, 0)
        if low < 0 or high >= size:
            wrong = low if low < 0 else high
            raise ValueError(f"{layer.name} takes ids from 0 to {size - 1}; received {wrong}.")
        return ids
    # keras.ops.take counts negative ids from the table's end: moved past its beginning, they are refused.
    return ops.where(ids < 0, ids - size, ids)
