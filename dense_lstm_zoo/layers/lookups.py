"""Looking up the rows of a table by ids: checked ids, and gradients of the rows alone."""

from __future__ import annotations

import keras
from keras import ops

from dense_lstm_zoo.layers.recurrence.tensors import Tensor, known_values


def checked_ids(layer: keras.layers.Layer, inputs: Tensor, size: int) -> Tensor:
    """Return ids as int32, such that a lookup in a table of ``size`` rows fails outside 0 to ``size - 1``.

    Eager calls raise ``ValueError`` at once. In a graph (``fit``, ``predict``, an export), TensorFlow's lookup raises
    ``InvalidArgumentError`` on a CPU. On a GPU and in XLA programs nothing is checked. A program of JAX returns NaNs.

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


def look_up(table: keras.Variable, ids: Tensor, *, training: bool) -> Tensor:
    """Return ``table[ids]`` (..., features). Its gradient is a ``tf.IndexedSlices`` with each row once.

    A dense gradient of a large table takes longer to write, to clip and to subtract than the layers above the words.
    TensorFlow's own gradient of a lookup lists a row for each occurrence of a word, and a clipping norm, or an
    optimiser that squares gradients, would square each on its own: here they have been added up. On other backends the
    gradient is a table.

    Args:
        table: (words, features), read as it is, without a cast.
        ids: Integers of any shape.
        training: Whether a gradient is needed.
    """
    if keras.config.backend() != "tensorflow":
        return ops.take(table, ids, axis=0)

    import tensorflow as tf

    # Rows are read from the variable itself: to read all of it copies it, once rows of it have been changed in place.
    if not training:
        return tf.gather(table.value, ids)
    words, places = tf.unique(tf.reshape(ids, [-1]))
    rows = tf.gather(tf.gather(table.value, words), places)
    return tf.reshape(rows, [*tf.unstack(tf.shape(ids)), table.shape[-1]])
