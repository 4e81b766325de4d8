"""The LSTM loop in TensorFlow's own ops, not compiled: for shapes that do not recur, and for exported graphs."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from dense_lstm_zoo.layers.recurrence.own_gradient import explain_missing_gradient
from dense_lstm_zoo.layers.recurrence.portable import start_or_zeros
from dense_lstm_zoo.layers.recurrence.tensors import Tensor

# Up to this width, one op for the sequence is faster. Its extra product with an identity grows quadratically.
_NARROW = 32

explain_missing_gradient("BlockLSTMGrad", "it is that of kernel='native', use kernel='portable' or 'auto'")


def native_lstm(
    projected: Tensor,
    lengths: Tensor,
    recurrent: Tensor,
    hidden: Tensor | None,
    cell: Tensor | None,
    reverse: bool,
    final_state: bool,
    differentiable: bool = True,
) -> list[Tensor]:
    """Run one direction. Arguments and results are those of ``portable_lstm``.

    With ``differentiable=False``, projections are not copied before the loop. Their gradient would take very long.
    """
    if recurrent.shape[0] > _NARROW or projected.dtype != tf.float32:
        projection_at = _array(projected).read if differentiable else lambda t: projected[t]
        return _loop(projection_at, projected, lengths, recurrent, hidden, cell, reverse, final_state)
    if hidden is None and reverse and not final_state:
        return [_backward_from_zeros(projected, lengths, recurrent)]
    hidden, cell = start_or_zeros(projected, hidden, cell)
    if reverse:
        projected = tf.reverse_sequence(projected, lengths, seq_axis=0, batch_axis=1)
    # Skip padding past the longest row. The longest of no rows is the lowest integer, which aborts BlockLSTM.
    steps = tf.maximum(tf.reduce_max(lengths), 0)
    states, cells = _one_op(projected, steps, recurrent, hidden, cell)
    results = [states]
    if final_state:
        results += final_states(lengths, (hidden, states), (cell, cells))
    if reverse:
        states = tf.reverse_sequence(states, lengths, seq_axis=0, batch_axis=1)
    real = tf.range(tf.shape(states)[0])[:, None, None] < lengths[None, :, None]
    results[0] = tf.where(real, states, tf.zeros((), states.dtype))
    return results


def final_states(lengths: Tensor, *pairs: tuple[Tensor, Tensor]) -> list[Tensor]:
    """Return each row's state after its last real step, [B, u], for pairs of a start [B, u] and states [T, B, u]."""
    # State 0 is the start, so that a row of length 0 ends where it began.
    index = tf.stack([lengths, tf.range(tf.shape(lengths)[0])], axis=1)
    return [tf.gather_nd(tf.concat([start[None], states], axis=0), index) for start, states in pairs]


def _backward_from_zeros(projected: Tensor, lengths: Tensor, recurrent: Tensor) -> Tensor:
    """Run from the last step to the first, padding included: it is projected to zeros, so a zero state stays zero.

    Plain reversals cost a fraction of reversals by length.
    """
    real = tf.range(tf.shape(projected)[0])[:, None, None] < lengths[None, :, None]
    projected = tf.reverse(tf.where(real, projected, tf.zeros((), projected.dtype)), [0])
    states, _ = _one_op(projected, tf.shape(projected)[0], recurrent, *start_or_zeros(projected))
    return tf.reverse(states, [0])


def _one_op(
    projected: Tensor, steps: Tensor, recurrent: Tensor, hidden: Tensor | None, cell: Tensor | None
) -> tuple[Tensor, Tensor]:
    """``BlockLSTM`` projects its input itself. For projected input it gets an identity matrix, with reordered columns.

    Its gates are i, c, f, o. (``BlockLSTMV2`` has Keras's order, but its registered gradient is that of this op.) It
    logs a warning at every call if units and batch are both odd, so an odd number of units gets one more, with zero
    weights and states. Only the weights are padded: another row in the batch would copy the whole input.
    """
    units = recurrent.shape[0]
    odd = units % 2
    weights = tf.reshape(tf.concat([tf.eye(4 * units), recurrent], axis=0), (5 * units, 4, units))
    if odd:
        weights = tf.pad(weights, [[0, 1], [0, 0], [0, 1]])
        hidden, cell = (tf.pad(state, [[0, 0], [0, 1]]) for state in (hidden, cell))
    i, f, c, o = tf.unstack(weights, axis=1)
    none = tf.zeros((units + odd,))
    block = tf.raw_ops.BlockLSTM(
        seq_len_max=tf.cast(steps, tf.int64),
        x=projected,
        cs_prev=cell,
        h_prev=hidden,
        w=tf.concat([i, c, f, o], axis=1),
        wci=none,
        wcf=none,
        wco=none,
        b=tf.zeros((4 * (units + odd),)),
        forget_bias=0.0,
        cell_clip=-1.0,
        use_peephole=False,
    )
    return (block.h[..., :units], block.cs[..., :units]) if odd else (block.h, block.cs)


def _array(projected: Tensor) -> tf.TensorArray:
    empty = tf.TensorArray(projected.dtype, tf.shape(projected)[0], element_shape=projected.shape[1:])
    return empty.unstack(projected)


def _loop(
    projection_at: Callable[[Tensor], Tensor],
    projected: Tensor,
    lengths: Tensor,
    recurrent: Tensor,
    hidden: Tensor | None,
    cell: Tensor | None,
    reverse: bool,
    final_state: bool,
) -> list[Tensor]:
    """Run step by step. ``projection_at`` returns the projections of a step.

    Padding is masked in the steps, as copies of all steps cost time and memory.
    """
    num_steps = tf.shape(projected)[0]
    steps = tf.maximum(tf.reduce_max(lengths), 1)  # skips padding past the longest row (no array may be empty)
    from_zeros = hidden is None and not final_state
    zeros = tf.zeros((), projected.dtype)
    start = start_or_zeros(projected, hidden, cell)
    state_array = tf.TensorArray(projected.dtype, steps, element_shape=start[0].shape)

    def step(n: Tensor, h: Tensor, c: Tensor, states: tf.TensorArray) -> tuple[Tensor | tf.TensorArray, ...]:
        t = steps - 1 - n if reverse else n
        real = (t < lengths)[:, None]
        i, f, g, o = tf.split(projection_at(t) + tf.matmul(h, recurrent), 4, axis=1)
        new_c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        if from_zeros:  # nothing is carried over padding, and h = o tanh(0) = 0 follows
            c = tf.where(real, new_c, zeros)
            h = tf.sigmoid(o) * tf.tanh(c)
            return n + 1, h, c, states.write(t, h)
        new_h = tf.sigmoid(o) * tf.tanh(new_c)
        states = states.write(t, tf.where(real, new_h, zeros))
        return n + 1, tf.where(real, new_h, h), tf.where(real, new_c, c), states

    _, h, c, state_array = tf.while_loop(lambda n, *_: n < steps, step, (0, *start, state_array))
    states = state_array.stack()
    padding = [[0, num_steps - steps], [0, 0], [0, 0]]
    states = tf.cond(steps < num_steps, lambda: tf.pad(states, padding), lambda: states)
    return [states, h, c] if final_state else [states]
