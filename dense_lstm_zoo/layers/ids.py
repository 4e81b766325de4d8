"""Ids that a table is looked up by: those outside it are refused."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops


def checked_ids(layer: keras.layers.Layer, inputs: Any, size: int) -> Any:
    """Return ids as int32, of which a lookup in a table of ``size`` rows refuses those outside 0 to ``size - 1``.

    Eager calls raise ``ValueError`` at once. Within a graph (``fit``, ``predict``, an export) TensorFlow's own lookup
    raises ``InvalidArgumentError`` on a CPU; on a GPU and in XLA programs it checks nothing.

    Args:
        layer: The layer, for the error.
        inputs: Ids of any shape.
        size: Rows of the table.

    Raises:
        ValueError: An id outside the table, in an eager call.
    """
    ids = ops.cast(inputs, "int32")
    if hasattr(ids, "numpy"):  # a value, not a symbol
        values = np.asarray(ids)
        low, high = (values.min(), values.max()) if values.size else (0, 0)
        if low < 0 or high >= size:
            wrong = low if low < 0 else high
            raise ValueError(f"{layer.name} takes ids from 0 to {size - 1}; received {wrong}.")
        return ids
    # keras.ops.take counts negative ids from the table's end: taken past its beginning, they are refused.
    return ops.where(ids < 0, ids - size, ids)
