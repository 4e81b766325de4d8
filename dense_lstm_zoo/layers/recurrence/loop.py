"""A loop over time for any step, in ``keras.ops`` alone: every backend runs it and differentiates it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras import ops

from dense_lstm_zoo.layers.recurrence.lengths import reverse_sequence, sequence_mask


def run_steps(step: Callable[[Any, Any], Any], width: int, inputs: Any, lengths: Any, reverse: bool) -> Any:
    """Run ``step`` over right-padded, time-major inputs from a carry of zeros.

    Args:
        step: (carry [B, width], input [B, n]) to the next carry; whatever a recurrence carries is packed into one.
        width: Features of the carry.
        inputs: [T, B, n].
        lengths: Real steps of each row [B], int32.
        reverse: Whether to run from each row's last real step to its first.

    Returns:
        The carry after every step, [T, B, width], zeros past the length.
    """
    if reverse:
        inputs = reverse_sequence(inputs, lengths)
    start = ops.zeros((ops.shape(inputs)[1], width), inputs.dtype)

    def twice(carry: Any, read: Any) -> tuple[Any, Any]:
        carry = step(carry, read)
        return carry, carry

    carries = ops.scan(twice, start, inputs)[1]
    if reverse:
        carries = reverse_sequence(carries, lengths)
    return ops.where(sequence_mask(lengths, ops.shape(carries)[0]), carries, ops.zeros_like(carries))


def wide(x: Any) -> Any:
    """Return what a loop reads in float32 or wider: sums over many steps are kept there."""
    return ops.cast(x, "float64" if x.dtype == "float64" else "float32")
