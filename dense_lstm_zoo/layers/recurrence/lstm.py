"""LSTM over time, one or two directions: projections hoisted out of the loop, then a kernel for each direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from keras import ops

from dense_lstm_zoo.layers.recurrence.loop import Loop, wide_dtype
from dense_lstm_zoo.layers.recurrence.projection import join, project
from dense_lstm_zoo.layers.recurrence.tensors import Tensor, of_shape


class LSTMWeights(NamedTuple):
    """Weights of one direction, shaped as in ``keras.layers.LSTM``: [in, 4u], [u, 4u] and [4u]."""

    kernel: Tensor
    recurrent_kernel: Tensor
    bias: Tensor


def lstm(
    loop: Loop,
    inputs: list[Tensor],
    directions: list[LSTMWeights],
    initial_state: Sequence[Tensor] | None = None,
    *,
    final_state: bool = False,
    recurrent_mask: Tensor | None = None,
    backward_inputs: list[Tensor] | None = None,
) -> list[list[Tensor]]:
    """Run an LSTM over right-padded, time-major inputs, forward and, with two directions, backward as well.

    Args:
        loop: The open loop, which sets the kernel and the lengths.
        inputs: The layer's input [T, B, in], as parts [T, B, n] that are concatenated, with T >= 1.
        directions: Weights of the forward and, optionally, of the backward direction (D = 1 or 2).
        initial_state: h and c, each [B, D u]. The default is zeros.
        final_state: Whether to return the final state as well.
        recurrent_mask: [B, u], multiplies h on its way to the next step (recurrent dropout). Only for one direction and
            the portable kernel.
        backward_inputs: The backward direction's input, instead of ``inputs``.

    Returns:
        The states [T, B, u] of each direction, zeros past the length. With ``final_state`` also the final h of each
        and the final c of each, [B, u]. All are in the inputs' dtype. The loop's state is float32 or wider.
    """
    dtype = inputs[0].dtype
    state_dtype = wide_dtype(inputs[0])
    parts_by_direction = [inputs, inputs if backward_inputs is None else backward_inputs][: len(directions)]
    start = _start(initial_state, len(directions), loop, state_dtype)
    kernel = loop.kernel.for_loop("layer")
    if kernel.projects_inputs:
        joined = join(inputs)
        by_direction = [
            kernel.lstm_of_inputs(
                joined if parts is inputs else join(parts), loop.lengths, weights, *start[d], reverse=bool(d)
            )
            for d, (parts, weights) in enumerate(zip(parts_by_direction, directions, strict=True))
        ]
    else:
        # One product for all steps. Only the small recurrent product remains inside the loop. Both directions read the
        # same input, so it is joined once.
        shortened = _in_two_parts(inputs)
        parts_by_direction = [shortened if parts is inputs else _in_two_parts(parts) for parts in parts_by_direction]
        projected = [
            ops.cast(project(parts, d.kernel) + d.bias, state_dtype)
            for parts, d in zip(parts_by_direction, directions, strict=True)
        ]
        recurrent = [ops.cast(d.recurrent_kernel, state_dtype) for d in directions]
        options: dict[str, Any] = {"final_state": final_state}
        if recurrent_mask is not None:
            options["recurrent_mask"] = ops.cast(recurrent_mask, state_dtype)
        by_direction = [
            kernel.lstm(projected[d], loop.lengths, recurrent[d], *start[d], reverse=bool(d), **options)
            for d in range(len(directions))
        ]
    results = list(zip(*by_direction, strict=True))[: 3 if final_state else 1]
    # A kernel's results are the states of every step, followed by those of one step.
    units, steps_and_batch = directions[0].recurrent_kernel.shape[0], inputs[0].shape[:2]
    shapes = [(*steps_and_batch, units), *[(steps_and_batch[1], units)] * 2]
    return [[of_shape(ops.cast(x, dtype), shape) for x in part] for part, shape in zip(results, shapes, strict=False)]


def _in_two_parts(inputs: list[Tensor]) -> list[Tensor]:
    return [inputs[0], join(inputs[1:])] if len(inputs) > 2 else inputs


def _start(
    initial_state: Sequence[Tensor] | None, num_directions: int, loop: Loop, dtype: str
) -> list[tuple[Tensor, Tensor]]:
    """Return h and c for each direction: None for zeros, or the parts of [B, D u]."""
    if initial_state is None:
        return [(None, None)] * num_directions
    h, c = (ops.split(_rows(ops.cast(part, dtype), loop), num_directions, axis=-1) for part in initial_state)
    return list(zip(h, c, strict=True))


def _rows(state: Tensor, loop: Loop) -> Tensor:
    """Return a state with a row for each of the loop's: one row is everyone's, and zeros are for rows of padding.

    Raises:
        ValueError: Another number of rows than the inputs have.
    """
    num_rows, batch, (rows, width) = loop.batch_major.shape[0], ops.shape(loop.batch_major)[0], state.shape
    if rows == 1 and num_rows != 1:
        state = ops.broadcast_to(state, (batch, width))
    elif None not in (rows, num_rows) and rows != num_rows:
        raise ValueError(f"initial_state must have {num_rows} rows, as the inputs have, or one for all; it has {rows}.")
    if not loop.padded:
        return state
    missing = ops.shape(loop.inputs)[1] - batch
    return ops.concatenate([state, ops.zeros((missing, width), state.dtype)], axis=0)
