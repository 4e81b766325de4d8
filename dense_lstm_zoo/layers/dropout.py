"""Dropout, shared by outputs, states, weights and words."""

from __future__ import annotations

import keras
from keras import ops

from dense_lstm_zoo.layers.recurrence.tensors import Tensor


def drop(x: Tensor, rate: float, seed: keras.random.SeedGenerator, shared_axis: int | None = None) -> Tensor:
    """Return ``x`` with a share ``rate`` of its values at 0 and the others divided by 1 - ``rate``.

    Args:
        x: Any tensor.
        rate: 0 returns ``x`` unchanged and draws nothing.
        seed: A ``keras.random.SeedGenerator``.
        shared_axis: The axis along which all places share a mask, such as time (Gal & Ghahramani 2016).
    """
    if not rate:
        return x
    shape = list(ops.shape(x))
    if shared_axis is not None:
        shape[shared_axis] = 1
    return keras.random.dropout(x, rate, noise_shape=shape, seed=seed)
