"""Loops in ``keras.ops`` only: they run on every backend and are the reference for the other kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from keras import ops

from dense_lstm_zoo.layers.recurrence.lengths import reverse_sequence, sequence_mask
from dense_lstm_zoo.layers.recurrence.tensors import Tensor


def portable_lstm(
    projected: Tensor,
    lengths: Tensor,
    recurrent: Tensor,
    hidden: Tensor | None,
    cell: Tensor | None,
    reverse: bool,
    final_state: bool,
    recurrent_mask: Tensor | None = None,
) -> list[Tensor]:
    """Run one direction.

    Args:
        projected: x W + b, time-major [T, B, 4u], gates in the order i, f, c, o.
        lengths: Real steps of each row [B], int32.
        recurrent: [u, 4u].
        hidden: Initial state [B, u], or None for zeros.
        cell: Likewise for c.
        reverse: Whether to run from each row's last real step to its first.
        final_state: Whether to return the final state as well.
        recurrent_mask: Multiplies h on its way to the next step [B, u]. None means no mask.

    Returns:
        The states [T, B, u], zero past the length, and with ``final_state`` the final h and c [B, u].
    """
    units = recurrent.shape[0]
    if reverse:
        projected = reverse_sequence(projected, lengths)
    start = ops.concatenate(start_or_zeros(projected, hidden, cell), axis=-1)

    def step(carry: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        h = carry[:, :units] if recurrent_mask is None else carry[:, :units] * recurrent_mask
        i, f, c, o = ops.split(z + ops.matmul(h, recurrent), 4, axis=-1)
        new = ops.sigmoid(f) * carry[:, units:] + ops.sigmoid(i) * ops.tanh(c)
        carry = ops.concatenate([ops.sigmoid(o) * ops.tanh(new), new], axis=-1)
        return carry, carry

    # ops.scan takes only one carry, so h and c are packed.
    packed = ops.scan(step, start, projected)[1]
    states = packed[:, :, :units]
    if reverse:
        states = reverse_sequence(states, lengths)
    real = sequence_mask(lengths, ops.shape(states)[0])
    results = [ops.where(real, states, ops.zeros_like(states))]
    if final_state:
        # State 0 is the start, so that a row of length 0 ends where it began.
        packed = ops.concatenate([start[None], packed], axis=0)
        last = ops.take_along_axis(packed, lengths[None, :, None], axis=0)[0]
        results += [last[:, :units], last[:, units:]]
    return results


def portable_steps(
    step: Callable[..., Tensor], width: int, inputs: Tensor, weights: Sequence[Tensor], lengths: Tensor, reverse: bool
) -> Tensor:
    """Run one direction of any recurrence. Arguments and result are those of ``Loop.run_steps``."""
    if reverse:
        inputs = reverse_sequence(inputs, lengths)
    start = ops.zeros((ops.shape(inputs)[1], width), inputs.dtype)

    def twice(carry: Tensor, step_input: Tensor) -> tuple[Tensor, Tensor]:
        carry = step(carry, step_input, *weights)
        return carry, carry

    carries = ops.scan(twice, start, inputs)[1]
    if reverse:
        carries = reverse_sequence(carries, lengths)
    real = sequence_mask(lengths, ops.shape(carries)[0])
    return ops.where(real, carries, ops.zeros_like(carries))


def start_or_zeros(
    projected: Tensor, hidden: Tensor | None = None, cell: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return the initial state for projections [T, B, 4u], zeros if none is given."""
    if hidden is not None:
        return hidden, cell
    shape = (ops.shape(projected)[1], projected.shape[2] // 4)
    return ops.zeros(shape, projected.dtype), ops.zeros(shape, projected.dtype)
