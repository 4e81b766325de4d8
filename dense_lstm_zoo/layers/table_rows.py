"""Rows of a table of word vectors, with a gradient that has only those rows."""

from __future__ import annotations

import keras
from keras import ops

from dense_lstm_zoo.layers.recurrence.tensors import Tensor


def look_up(table: keras.Variable, ids: Tensor, *, training: bool) -> Tensor:
    """Return ``table[ids]`` (..., features); its gradient is a ``tf.IndexedSlices`` with each row once.

    A dense gradient of a large table takes longer to write, to clip and to subtract than the layers above the words.
    TensorFlow's own gradient of a lookup lists a row for each occurrence of a word, and a clipping norm, or an
    optimiser that squares gradients, would square each on its own: here they have been added up. On other backends the
    gradient is a table.

    Args:
        table: (words, features); read as it is, without a cast.
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
