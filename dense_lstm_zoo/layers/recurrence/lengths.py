"""Lengths in place of masks: right-padding needs no mask inside a time loop."""

from __future__ import annotations

from typing import Any

import numpy as np
from keras import ops


def sequence_mask(lengths: Any, num_steps: Any) -> Any:
    """Return the boolean mask [B, T] that is true at the first ``lengths[b]`` steps of row b."""
    return ops.arange(num_steps, dtype="int32")[None, :] < ops.cast(lengths, "int32")[:, None]


def lengths_from_mask(mask: Any) -> Any:
    """Return lengths [B] (int32) of a right-padded mask [B, T].

    Raises:
        ValueError: A row has padding before a real step. It is checked where the mask's values are at hand (an array,
            or a tensor outside of a graph); inside a graph right-padding is the caller's promise.
    """
    mask = ops.cast(mask, "int32")
    try:
        values = np.asarray(mask)
    except (NotImplementedError, TypeError, ValueError):  # symbolic: there are no values to look at yet
        values = None
    if values is not None and values.ndim == 2 and np.any(values[:, 1:] > values[:, :-1]):
        row = int(np.argmax(np.any(values[:, 1:] > values[:, :-1], axis=1)))
        raise ValueError(f"mask must be right-padded (real steps first); row {row} is {values[row].tolist()}.")
    return ops.sum(mask, axis=1)


def reverse_sequence(inputs: Any, lengths: Any | None) -> Any:
    """Reverse the first ``lengths[b]`` steps of each row of ``inputs`` [B, T, ...]; the padding stays where it is."""
    if lengths is None:
        return ops.flip(inputs, axis=1)
    steps = ops.arange(ops.shape(inputs)[1], dtype="int32")[None, :]
    lengths = ops.cast(lengths, "int32")[:, None]
    source = ops.where(steps < lengths, lengths - 1 - steps, steps)
    return ops.take_along_axis(inputs, source[:, :, None], axis=1)
