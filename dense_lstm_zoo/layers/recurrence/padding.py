"""Checking that padding is at the end of a row: a mask with a real step after a padded one is refused.

Only the real steps of a mask are counted, so padding elsewhere would not raise an error by itself: a model would read
the wrong steps and learn worse. The check runs where a mask becomes lengths. Outside graphs it raises ``ValueError``.
In a TensorFlow graph, such as those of ``fit``, ``evaluate`` and ``predict``, it is an assertion that runs before
anything that reads the lengths, and so before any weight changes. Its ``InvalidArgumentError`` has the same message.
XLA drops assertions: graphs compiled with ``jit_compile=True`` are not checked, nor those traced within ``unchecked``.
On PyTorch, ``fit`` raises ``ValueError`` as calls do. Programs of JAX are not checked.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator

import keras
import numpy as np
from keras import ops

from dense_lstm_zoo.layers.recurrence.tensors import Tensor, known_values

BEGINS = "begins with padding; use padding='post', so that real steps come first; received the mask"
HOLE = "has padding between real steps; close the gap, since padding is allowed only at the end; received the mask"
_SHOWN = 8  # steps that an error shows at each end of the row
_is_checked = contextvars.ContextVar("dense_lstm_zoo_checked", default=True)


@contextlib.contextmanager
def unchecked() -> Iterator[None]:
    """Trace graphs without the assertion, as for an export."""
    token = _is_checked.set(False)
    try:
        yield
    finally:
        _is_checked.reset(token)


def lengths_from_mask(mask: Tensor) -> Tensor:
    """Return lengths [B] (int32) of a right-padded mask [B, T].

    Raises:
        ValueError: A row has padding before a real step. In a graph, TensorFlow raises ``InvalidArgumentError`` when it
            runs. See the module for exceptions.
    """
    numbers = ops.cast(mask, "int32")
    values = known_values(numbers)
    if values is None:
        return _in_graph(mask, numbers)
    _refuse(values)
    return ops.sum(numbers, axis=1)


def _refuse(mask: np.ndarray) -> None:
    wrong = np.any(mask[:, 1:] > mask[:, :-1], axis=1)
    for rows, words in ((wrong & (mask[:, :1] == 0).all(axis=1), BEGINS), (wrong, HOLE)):
        if rows.any():
            row = int(np.argmax(rows))
            raise ValueError(f"row {row} {words} {np.array2string(mask[row], threshold=2 * _SHOWN, edgeitems=_SHOWN)}")


def _in_graph(mask: Tensor, numbers: Tensor) -> Tensor:
    lengths = ops.sum(numbers, axis=1)
    if keras.config.backend() != "tensorflow" or not _is_checked.get():
        return lengths
    import tensorflow as tf

    # Stacked layers share a mask. One that was already counted in this graph is not checked again.
    graph = tf.compat.v1.get_default_graph()
    cached_graph, cached_lengths = getattr(mask, "_dense_lstm_zoo_lengths", (None, None))
    if cached_graph is graph:
        return cached_lengths
    # The ops that find the row run only if there is one.
    wrong = tf.reduce_any(numbers[:, 1:] > numbers[:, :-1])
    with tf.control_dependencies([tf.cond(wrong, lambda: _assertion(numbers), lambda: True)]):
        lengths = tf.identity(lengths)
    mask._dense_lstm_zoo_lengths = graph, lengths
    return lengths


def _assertion(mask: Tensor) -> Tensor:
    """Fail with a message that XLA can drop: it has no ops to format a number."""
    import tensorflow as tf

    wrong = tf.reduce_any(mask[:, 1:] > mask[:, :-1], axis=1)
    assertions: list[Tensor] = []
    for rows, words in ((wrong & (mask[:, 0] == 0), BEGINS), (wrong, HOLE)):
        row = tf.argmax(rows)
        message = ["row", row, words, tf.gather(mask, row)]
        with tf.control_dependencies(assertions):
            assertions.append(tf.raw_ops.Assert(condition=~tf.reduce_any(rows), data=message, summarize=2 * _SHOWN))
    with tf.control_dependencies(assertions):
        return tf.constant(True)
