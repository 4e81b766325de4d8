"""The loss of a student: cross-entropy with its teacher's probabilities and, where there are any, with the labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from keras import ops

if TYPE_CHECKING:
    from dense_lstm_zoo.layers.recurrence.tensors import Tensor


def losses(labels: Tensor, shares: Tensor, logits: Tensor, temperature: float, hard_weight: float) -> Tensor:
    """Return the loss of Hinton et al. 2015, section 2, of each text or token.

    With the teacher's probabilities q at the temperature T, the student's logits z, and a text's own label y:
    L = (1 - a) T^2 H(q, softmax(z / T)) + a H(y, softmax(z)), and a = 0 for a text without a label of its own.
    T^2 keeps the size of the gradient the same at every temperature.

    Args:
        labels: Indices of the labels (...), negative for none.
        shares: q, as ``softened`` returns it: (..., labels).
        logits: z, (..., labels).
        temperature: T, above 0.
        hard_weight: a, from 0 to 1.
    """
    labels, shares = ops.cast(labels, "int32"), ops.cast(shares, logits.dtype)
    soft = -ops.sum(shares * ops.log_softmax(logits / temperature), axis=-1) * temperature**2
    if not hard_weight:
        return soft
    own = ops.one_hot(labels, logits.shape[-1], dtype=logits.dtype)  # zeros without a label
    hard = -ops.sum(own * ops.log_softmax(logits), axis=-1)
    weight = hard_weight * ops.cast(labels >= 0, logits.dtype)
    return (1 - weight) * soft + weight * hard


def softened(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """Return probabilities (rows, labels) at a temperature: those of their logits divided by it, float64.

    Example:
        >>> softened(np.array([[0.2, 0.8], [0.9, 0.1]]), temperature=2.0).round(3).tolist()  # square roots, sum 1
        [[0.333, 0.667], [0.75, 0.25]]
    """
    shares = probabilities.astype(np.float64)
    shares = (shares / shares.max(axis=1, keepdims=True)) ** (1 / temperature)
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def mean_weights(probabilities: np.ndarray, weights: Mapping[int, float]) -> np.ndarray:
    """Return the weight of each row in the loss: the mean of its labels' weights, (rows,)."""
    means: np.ndarray = probabilities @ np.array([weights[label] for label in range(probabilities.shape[1])])
    return means
