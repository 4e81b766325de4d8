"""Errors about data that only the graph of a ``tf.data.Dataset`` sees, raised as those about data in memory are."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import tensorflow as tf

_BEFORE, _AFTER = "what is wrong: ", " (end)"  # TensorFlow puts its own words around these


def check(is_right: tf.Tensor, message: tf.Tensor | str) -> tf.Operation | None:
    """Return an op that fails with a message unless a condition holds."""
    return tf.debugging.Assert(is_right, [tf.strings.join([_BEFORE, message, _AFTER])])


@contextlib.contextmanager
def clear_errors() -> Iterator[None]:
    """Raise the message of a failed ``check`` as a ``ValueError``."""
    try:
        yield
    except tf.errors.InvalidArgumentError as error:
        _, mark, text = error.message.partition(_BEFORE)
        if not mark:
            raise
        raise ValueError(text.partition(_AFTER)[0]) from None
