"""Batches of texts of similar length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dense_lstm_zoo_runtime.ids import Row

# Where ONNX Runtime's LSTM needs least time per text; docs/runtime.md has the measurements.
BATCH = 8
MOST_TOKENS = 1 << 14  # of a padded batch, so that a few very long texts do not exhaust memory


def plan(lengths: Sequence[int], size: int = BATCH) -> Iterator[np.ndarray]:
    """Yield the indices of each batch: similar lengths together, every index once.

    A batch has at most ``size`` texts, and fewer where they are very long.

    Example:
        >>> [batch.tolist() for batch in plan([5, 1, 4], size=2)]
        [[1, 2], [0]]
    """
    if len(lengths) == 1:  # a text by itself is what a program waits for
        yield np.zeros(1, np.intp)
        return
    order = np.argsort(np.asarray(lengths, np.int64), kind="stable")
    start = 0
    while start < len(order):
        end = min(start + size, len(order))
        while end - start > 1 and lengths[order[end - 1]] * (end - start) > MOST_TOKENS:
            end -= 1
        yield order[start:end]
        start = end


def pad(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Return rows right-padded with 0 to the longest: (batch, time, ...), time at least 1.

    Example:
        >>> pad([np.array([3, 4]), np.array([5])]).tolist()
        [[3, 4], [5, 0]]
    """
    if len(rows) == 1 and len(rows[0]):
        return rows[0][None]
    padded = np.zeros((len(rows), max(1, *map(len, rows)), *rows[0].shape[1:]), rows[0].dtype)
    for row, values in zip(padded, rows, strict=True):
        row[: len(values)] = values
    return padded


def padded(rows: Sequence[Row]) -> Row:
    """Return the inputs of a batch, by name."""
    return {name: pad([row[name] for row in rows]) for name in rows[0]}
