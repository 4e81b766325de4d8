"""A loop over time for any step: compiled, or in ``keras.ops`` alone, which every backend runs and differentiates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from keras import ops

from dense_lstm_zoo.layers.recurrence.lengths import reverse_sequence, sequence_mask
from dense_lstm_zoo.layers.recurrence.shapes import of_shape


def run_steps(
    step: Callable[..., Any],
    width: int,
    inputs: Any,
    weights: Sequence[Any],
    lengths: Any,
    *,
    kernel: str,
    reverse: bool,
) -> Any:
    """Run ``step`` over right-padded, time-major inputs from a carry of zeros.

    Args:
        step: (carry [B, width], input [B, n], *weights) to the next carry; whatever a recurrence carries is packed
            into one. Programs are compiled for each function: it must be the same one in every call.
        width: Features of the carry.
        inputs: [T, B, n].
        weights: What else the step reads; all that has a gradient must be here.
        lengths: Real steps of each row [B], int32.
        kernel: The kernel that ``kernels.over_time`` picked.
        reverse: Whether to run from each row's last real step to its first.

    Returns:
        The carry after every step, [T, B, width], zeros past the length.
    """
    shape = (*inputs.shape[:2], width)
    if kernel in ("compiled", "compiled_if_small"):
        from dense_lstm_zoo.layers.recurrence.compiled_steps import run_compiled_steps

        return of_shape(run_compiled_steps(step, width, inputs, weights, lengths, reverse), shape)
    if reverse:
        inputs = reverse_sequence(inputs, lengths)
    start = ops.zeros((ops.shape(inputs)[1], width), inputs.dtype)

    def twice(carry: Any, read: Any) -> tuple[Any, Any]:
        carry = step(carry, read, *weights)
        return carry, carry

    carries = ops.scan(twice, start, inputs)[1]
    if reverse:
        carries = reverse_sequence(carries, lengths)
    real = sequence_mask(lengths, ops.shape(carries)[0])
    return of_shape(ops.where(real, carries, ops.zeros_like(carries)), shape)


def wide(x: Any) -> Any:
    """Return what a loop reads in float32 or wider: sums over many steps are kept there."""
    return ops.cast(x, "float64" if x.dtype == "float64" else "float32")
