"""Batches of labelled texts, and logits batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from dense_lstm_zoo.data.batching import (
    MAX_TOKENS,
    IdsSpec,
    Row,
    ShuffledBatches,
    generated,
    lengths_of,
    pad,
    plan_batches,
    plan_in_order,
    plan_predictions,
    run_batches,
)
from dense_lstm_zoo.data.graphs import graph
from dense_lstm_zoo.data.stored_ids import StoredIds
from dense_lstm_zoo.layers.lstm import compiled_units
from dense_lstm_zoo.layers.recurrence.compile_ahead import compile_ahead


class Examples:
    """Texts as ids, with their labels and weights if they have any, from which batches are made.

    A batch is the padded ids alone, (ids, labels) or (ids, labels, weights), as ``fit`` and ``predict`` take them.

    Args:
        rows: The ids of each text.
        labels: The label of each text, or 0 and 1 (texts, labels) where they may have several, or targets (texts,
            width) of a loss that reads more, or None.
        weights: How much each text counts in the loss, or each of its labels (texts, labels), or None.

    Raises:
        ValueError: No texts, or a different number of labels.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        labels: Sequence[int] | np.ndarray | None = None,
        weights: Sequence[float] | np.ndarray | None = None,
    ) -> None:
        if not len(rows) or (labels is not None and len(rows) != len(labels)):
            sizes = "none" if labels is None else f"{len(rows)} and {len(labels)}"
            raise ValueError(f"Training needs texts with one label each; received {sizes}.")
        self.rows = rows
        self.lengths = lengths_of(rows)
        is_matrix = labels is not None and np.ndim(labels) == 2
        typed = ((labels, np.float32 if is_matrix else np.int32), (weights, np.float32))
        self._columns = [np.asarray(values, dtype) for values, dtype in typed if values is not None]

    def collate(self, indices: np.ndarray) -> Row | tuple[Row | np.ndarray, ...]:
        """Return the batch of these texts."""
        ids = pad([self.rows[i] for i in indices])
        return (ids, *(column[indices] for column in self._columns)) if self._columns else ids

    @property
    def signature(self) -> IdsSpec | tuple[IdsSpec | tf.TensorSpec, ...]:
        """The ``tf.data`` signature of a batch."""
        first = self.rows[0]
        ids: IdsSpec
        if isinstance(first, np.ndarray):
            ids = _ids_spec(first)
        else:
            ids = {name: _ids_spec(values) for name, values in first.items()}
        specs = (tf.TensorSpec((None, *column.shape[1:]), column.dtype) for column in self._columns)
        return (ids, *specs) if self._columns else ids


def _ids_spec(ids: np.ndarray) -> tf.TensorSpec:
    return tf.TensorSpec((None, None, *ids.shape[1:]), tf.int32)


class TrainingBatches(ShuffledBatches):
    """Shuffled batches of (ids, labels), or (ids, labels, weights), of a classifier.

    Args:
        rows: The ids of each text.
        labels: The label of each text, or 0 and 1 (texts, labels) where they may have several.
        batch_size: Texts per batch.
        seed: Seed for the order.
        weights: How much each text counts in the loss, or each of its labels. None means equally.
        max_tokens: Padded tokens per batch at most, so that batches of long texts have fewer texts.

    Raises:
        ValueError: No texts, or a different number of labels.

    Example:
        >>> batches = TrainingBatches([np.array([2, 3]), np.array([4])], [0, 1], batch_size=2, seed=1)
        >>> [ids.shape for ids, _ in batches.dataset.as_numpy_iterator()]
        [(2, 4)]
    """

    def __init__(
        self,
        rows: Sequence[Row],
        labels: Sequence[int] | np.ndarray,
        *,
        batch_size: int,
        seed: int,
        weights: Sequence[float] | np.ndarray | None = None,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        examples = Examples(rows, labels, weights)
        super().__init__(
            examples.lengths,
            examples.collate,
            examples.signature,
            batch_size=batch_size,
            seed=seed,
            max_tokens=max_tokens,
        )

    def on_train_begin(self, logs: dict[str, float] | None = None) -> None:
        """Begin to compile what the first epoch needs, while its first step is traced."""
        if not self.model.jit_compile:
            compile_ahead(compiled_units(self.model), self.shapes)


def evaluation_batches(
    rows: Sequence[Row],
    labels: Sequence[int] | np.ndarray,
    batch_size: int | None = None,
    weights: Sequence[float] | np.ndarray | None = None,
) -> tf.data.Dataset:
    """Return batches of (ids, labels), or (ids, labels, weights), sorted by length, for ``validation_data``.

    Without ``batch_size`` they have as many texts as predictions are fastest with.
    """
    examples = Examples(rows, labels, weights)
    lengths = examples.lengths
    plan = plan_predictions(lengths) if batch_size is None else plan_batches(lengths, batch_size)
    if isinstance(rows, StoredIds):
        return generated(lambda: map(examples.collate, plan), examples.signature, len(plan)).prefetch(4)
    batches = [examples.collate(indices) for indices in plan]
    return generated(lambda: iter(batches), examples.signature, len(batches))


def batches_in_order(rows: Sequence[Row], batch_size: int) -> tf.data.Dataset:
    """Return batches of ids in the order of the texts, for ``predict``."""
    examples = Examples(rows)
    plan = plan_in_order(examples.lengths, batch_size)
    return generated(lambda: map(examples.collate, plan), examples.signature, len(plan)).prefetch(4)


def predict_rows(run: Callable[[Any], tf.Tensor], rows: Sequence[Row]) -> np.ndarray:
    """Return one row of numbers per text, such as its logits, in the order of ``rows``: float32 (texts, width).

    They are computed in batches of similar length.

    Args:
        run: Maps padded ids (batch, time) to (batch, width).
        rows: The ids of each text, at least one text.
    """
    plan, batches = zip(*((indices, logits.numpy()) for indices, logits in run_batches(run, rows)), strict=True)
    outputs = np.empty((len(rows), batches[0].shape[1]), np.float32)
    outputs[np.concatenate(plan)] = np.concatenate(batches)
    return outputs


def logits_of(model: keras.Model, signature: IdsSpec) -> Callable[[Any], tf.Tensor]:
    """Return a classifier as one graph for any batch and length: ``model.predict`` would retrace for new shapes."""
    return graph(lambda ids: model(ids, training=False), [signature])
