"""Lengths instead of masks: with right-padding, layers need not pass masks."""

from __future__ import annotations

import keras
from keras import ops

from dense_lstm_zoo.layers.recurrence.padding import lengths_from_mask
from dense_lstm_zoo.layers.recurrence.tensors import Shape, Tensor, known_values


def sequence_mask(lengths: Tensor, num_steps: int | Tensor) -> Tensor:
    """Return the time-major mask [T, B, 1] that is true at the first ``lengths[b]`` steps of row b."""
    return ops.arange(num_steps, dtype="int32")[:, None, None] < ops.cast(lengths, "int32")[None, :, None]


def real_steps(lengths: Tensor, num_steps: int | Tensor) -> Tensor:
    """Return the batch-major mask [B, T, 1], the transpose of ``sequence_mask``."""
    return ops.arange(num_steps, dtype="int32")[None, :, None] < ops.cast(lengths, "int32")[:, None, None]


def resolve_lengths(inputs: Tensor, lengths: Tensor | None, mask: Tensor | None) -> Tensor:
    """Return lengths [B] (int32) of ``inputs`` [B, T, ...]: as given, else from the mask, else T for every row.

    Raises:
        ValueError: A given length is below 0 or above T. In a graph, which cannot say so, it counts as 0 or T. Or
            lengths that are not [B] (or [B, 1], as those of ``keras.Input((1,))``), or a mask that is not [B, T].
    """
    batch, num_steps = inputs.shape[:2]
    if lengths is not None:
        lengths = ops.cast(lengths, "int32")
        if len(lengths.shape) == 2 and lengths.shape[1] == 1:
            lengths = lengths[:, 0]
        _check_shape("lengths", "(batch,)", lengths, (batch,))
        return _lengths_in_range(lengths, ops.shape(inputs)[1])
    if mask is not None:
        _check_shape("mask", "(batch, time)", mask, (batch, num_steps))
        counts = lengths_from_mask(mask)
        # More steps than there are would be read from memory that is not there.
        return ops.minimum(counts, ops.shape(inputs)[1]) if None in (mask.shape[1], num_steps) else counts
    return ops.full((ops.shape(inputs)[0],), ops.shape(inputs)[1], dtype="int32")


def real_inputs(inputs: Tensor, lengths: Tensor | None, mask: Tensor | None, dtype: str) -> tuple[Tensor, Tensor]:
    """Return floating-point ``inputs`` [B, T, ...] with zeros as padding, and lengths. See ``resolve_lengths``.

    Padding may hold NaN or infinity. A mask that multiplies does not stop them, as 0 times NaN is NaN, so they are
    replaced before anything reads them.
    """
    inputs = floats(inputs, dtype)
    all_real = lengths is None and mask is None
    lengths = resolve_lengths(inputs, lengths, mask)
    if all_real:
        return inputs, lengths
    return ops.where(real_steps(lengths, ops.shape(inputs)[1]), inputs, ops.zeros((), inputs.dtype)), lengths


def floats(inputs: Tensor, dtype: str) -> Tensor:
    """Return inputs that hold integers or booleans, which no state can be, in a floating-point dtype."""
    return inputs if keras.backend.is_float_dtype(inputs.dtype) else ops.cast(inputs, dtype)


def _check_shape(name: str, form: str, tensor: Tensor, shape: Shape) -> None:
    """Raise ``ValueError`` for another rank, or a size that is known to differ."""
    actual = tuple(tensor.shape)
    if len(actual) != len(shape) or any(None not in (x, y) and x != y for x, y in zip(actual, shape, strict=True)):
        raise ValueError(f"{name} must have the shape {form} of the inputs, {shape}; received shape {actual}.")


def attached_mask(inputs: Tensor) -> Tensor | None:
    """Return the mask of the layer that made ``inputs``: Keras passes it only to calls with a single tensor."""
    return getattr(inputs, "_keras_mask", None)


def _lengths_in_range(lengths: Tensor, num_steps: int | Tensor) -> Tensor:
    values = known_values(lengths)
    if values is None:
        return ops.clip(lengths, 0, num_steps)
    wrong = values[(values < 0) | (values > num_steps)]
    if wrong.size:
        raise ValueError(f"lengths must be from 0 to the {num_steps} steps of the inputs; received {wrong[0]}.")
    return lengths


def reverse_sequence(inputs: Tensor, lengths: Tensor) -> Tensor:
    """Reverse the first ``lengths[b]`` steps of each row of ``inputs`` [T, B, n]. The padding stays where it is."""
    steps = ops.arange(ops.shape(inputs)[0], dtype="int32")[:, None]
    source = ops.where(steps < lengths[None, :], lengths[None, :] - 1 - steps, steps)
    return ops.take_along_axis(inputs, source[:, :, None], axis=0)
