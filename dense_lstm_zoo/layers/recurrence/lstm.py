"""LSTM over time, one or two directions: gates in Keras' order i, f, c, o, state in float32 or wider."""

from __future__ import annotations

from typing import Any, NamedTuple

from keras import ops

from dense_lstm_zoo.layers.recurrence.lengths import reverse_sequence, sequence_mask


class LSTMWeights(NamedTuple):
    """Weights of one direction, shaped as in ``keras.layers.LSTM``: [in, 4u], [u, 4u] and [4u]."""

    kernel: Any
    recurrent_kernel: Any
    bias: Any


def lstm(
    inputs: Any,
    lengths: Any | None,
    directions: list[LSTMWeights],
    initial_state: tuple[Any, Any] | None = None,
    final_state: bool = False,
) -> tuple[Any, tuple[Any, Any] | None]:
    """Run an LSTM over right-padded ``inputs``, forward and, with two directions, backward as well.

    Args:
        inputs: Features [B, T, in], T >= 1.
        lengths: Real steps of each row [B], 0 to T; None means that all T steps are real.
        directions: Weights of the forward and, optionally, of the backward direction (D = 1 or 2).
        initial_state: h and c, each [B, D u]; zeros by default.
        final_state: Whether to gather the state after each row's last real step.

    Returns:
        The states [B, T, D u] (zeros past the length) and (h, c), each [B, D u], or None.
    """
    batch, num_steps = ops.shape(inputs)[0], ops.shape(inputs)[1]
    units = directions[0].recurrent_kernel.shape[0]
    dtype = inputs.dtype
    state_dtype = "float64" if dtype == "float64" else "float32"

    # One product for all steps and both directions; only the small recurrent product is left inside the loop.
    kernel = ops.concatenate([d.kernel for d in directions], axis=1)
    bias = ops.concatenate([d.bias for d in directions], axis=0)
    projected = ops.cast(ops.matmul(inputs, kernel) + bias, state_dtype)
    per_direction = ops.split(projected, len(directions), axis=2)
    if len(directions) == 2:
        per_direction[1] = reverse_sequence(per_direction[1], lengths)
    projected = ops.transpose(ops.stack(per_direction), (2, 0, 1, 3))  # [T, D, B, 4u]
    recurrent = ops.cast(ops.stack([d.recurrent_kernel for d in directions]), state_dtype)

    if initial_state is None:
        start = ops.zeros((len(directions), batch, 2 * units), dtype=state_dtype)
    else:
        start = ops.concatenate([_by_direction(s, len(directions), state_dtype) for s in initial_state], axis=-1)
    states = _loop(projected, recurrent, start)  # [T, D, B, 2u]

    hidden = ops.transpose(states[..., :units], (1, 2, 0, 3))  # [D, B, T, u]
    outputs = [hidden[d] for d in range(len(directions))]
    if len(directions) == 2:
        outputs[1] = reverse_sequence(outputs[1], lengths)
    sequence = ops.concatenate(outputs, axis=-1)
    if lengths is not None:
        sequence = ops.where(sequence_mask(lengths, num_steps)[:, :, None], sequence, ops.zeros_like(sequence))
    sequence = ops.cast(sequence, dtype)
    return sequence, _final_state(states, start, lengths, dtype) if final_state else None


def _loop(projected: Any, recurrent: Any, start: Any) -> Any:
    """Step through time; ``ops.scan`` runs on every backend but with one carry only, so h and c are packed."""
    units = recurrent.shape[1]

    def step(carry: Any, z: Any) -> tuple[Any, Any]:
        hidden, cell = carry[..., :units], carry[..., units:]
        i, f, c, o = ops.split(z + ops.matmul(hidden, recurrent), 4, axis=-1)
        cell = ops.sigmoid(f) * cell + ops.sigmoid(i) * ops.tanh(c)
        carry = ops.concatenate([ops.sigmoid(o) * ops.tanh(cell), cell], axis=-1)
        return carry, carry

    return ops.scan(step, start, projected)[1]


def _by_direction(state: Any, num_directions: int, dtype: str) -> Any:
    """Split [B, D u] into [D, B, u]."""
    return ops.stack(ops.split(ops.cast(state, dtype), num_directions, axis=-1))


def _final_state(states: Any, start: Any, lengths: Any | None, dtype: str) -> tuple[Any, Any]:
    """Take the packed states [T, D, B, 2u] after each row's last real step; a row of length 0 keeps its start."""
    if lengths is None:
        last = states[-1]
    else:
        states = ops.concatenate([start[None], states], axis=0)
        index = ops.cast(lengths, "int32")[None, None, :, None]
        last = ops.take_along_axis(states, index, axis=0)[0]
    last = ops.cast(last, dtype)
    hidden, cell = ops.split(last, 2, axis=-1)
    merge = [ops.concatenate([part[d] for d in range(part.shape[0])], axis=-1) for part in (hidden, cell)]
    return merge[0], merge[1]
