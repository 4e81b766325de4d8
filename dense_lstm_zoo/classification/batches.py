"""Batches of labelled texts, and logits batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from dense_lstm_zoo.data.batching import Row, ShuffledBatches, generated, num_tokens, pad, plan_batches


class TrainingBatches(ShuffledBatches):
    """Shuffled batches of (ids, labels) of a classifier.

    Args:
        rows: The ids of each text.
        labels: The label of each text.
        batch_size: Texts per batch.
        seed: Seed for the order.

    Raises:
        ValueError: No texts, or a different number of labels.

    Example:
        >>> batches = TrainingBatches([np.array([2, 3]), np.array([4])], [0, 1], batch_size=2, seed=1)
        >>> [ids.shape for ids, _ in batches.dataset.as_numpy_iterator()]
        [(2, 4)]
    """

    def __init__(self, rows: Sequence[Row], labels: Sequence[int], *, batch_size: int, seed: int) -> None:
        if not rows or len(rows) != len(labels):
            raise ValueError(f"Training needs texts with one label each; received {len(rows)} and {len(labels)}.")
        targets = np.asarray(labels, np.int32)

        def collate(indices: np.ndarray) -> tuple[Any, np.ndarray]:
            return pad([rows[i] for i in indices]), targets[indices]

        lengths = [num_tokens(row) for row in rows]
        super().__init__(lengths, collate, _signature(rows[0]), batch_size=batch_size, seed=seed)


def _signature(row: Row) -> Any:
    """Return the ``tf.data`` signature of batches of (ids, labels)."""
    if isinstance(row, np.ndarray):
        return _ids_spec(row), tf.TensorSpec((None,), tf.int32)
    return {name: _ids_spec(ids) for name, ids in row.items()}, tf.TensorSpec((None,), tf.int32)


def _ids_spec(ids: np.ndarray) -> tf.TensorSpec:
    return tf.TensorSpec((None, None, *ids.shape[1:]), tf.int32)


def evaluation_batches(rows: Sequence[Row], labels: Sequence[int], batch_size: int = 256) -> tf.data.Dataset:
    """Return batches of (ids, labels) sorted by length, for ``validation_data``."""
    targets = np.asarray(labels, np.int32)
    plan = plan_batches([num_tokens(row) for row in rows], batch_size)
    batches = [(pad([rows[i] for i in indices]), targets[indices]) for indices in plan]
    return generated(lambda: iter(batches), _signature(rows[0]), len(batches))


def predict_rows(run: Callable[[Any], tf.Tensor], rows: Sequence[Row], batch_size: int = 256) -> np.ndarray:
    """Return one row of numbers per text, such as its logits, in the order of ``rows``: float32 (texts, width).

    They are computed in batches of similar length.

    Args:
        run: Maps padded ids (batch, time) to (batch, width).
        rows: The ids of each text, at least one text.
        batch_size: Texts per batch.
    """
    plan = plan_batches([num_tokens(row) for row in rows], batch_size)
    batches = [run(pad([rows[i] for i in indices])).numpy() for indices in plan]
    found = np.empty((len(rows), batches[0].shape[1]), np.float32)
    found[np.concatenate(plan)] = np.concatenate(batches)
    return found


def logits_of(model: keras.Model, signature: Any) -> Callable[[Any], tf.Tensor]:
    """Return a classifier as one graph for any batch and length: ``model.predict`` would retrace for new shapes."""
    return tf.function(lambda ids: model(ids, training=False), input_signature=[signature])
