"""The LSTM loop in TensorFlow's own ops, not compiled: for shapes that do not recur, and for exported graphs."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from dense_lstm_zoo.layers.recurrence.portable import start_or_zeros

# Up to this width, one op for the sequence is faster; its extra product with an identity grows quadratically.
_NARROW = 32


def native_lstm(
    projected: Any, lengths: Any, recurrent: Any, hidden: Any, cell: Any, reverse: bool, final_state: bool
) -> list[Any]:
    """Run one direction; arguments and results are those of ``portable_lstm``."""
    if hidden is None and reverse and not final_state:
        return [_backward_from_zeros(projected, lengths, recurrent)]
    hidden, cell = start_or_zeros(projected, hidden, cell)
    if reverse:
        projected = tf.reverse_sequence(projected, lengths, seq_axis=0, batch_axis=1)
    # Skip padding past the longest row. The longest of no rows is the lowest integer, which aborts BlockLSTM.
    steps = tf.maximum(tf.reduce_max(lengths), 0)
    states, cells = _run(projected, steps, recurrent, hidden, cell)
    results = [states]
    if final_state:
        results += final_states(lengths, (hidden, states), (cell, cells))
    if reverse:
        states = tf.reverse_sequence(states, lengths, seq_axis=0, batch_axis=1)
    real = tf.range(tf.shape(states)[0])[:, None, None] < lengths[None, :, None]
    results[0] = tf.where(real, states, tf.zeros((), states.dtype))
    return results


def final_states(lengths: Any, *pairs: tuple[Any, Any]) -> list[Any]:
    """Return each row's state after its last real step, [B, u], for pairs of a start [B, u] and states [T, B, u]."""
    # State 0 is the start, so that a row of length 0 ends where it began.
    index = tf.stack([lengths, tf.range(tf.shape(lengths)[0])], axis=1)
    return [tf.gather_nd(tf.concat([start[None], states], axis=0), index) for start, states in pairs]


def _backward_from_zeros(projected: Any, lengths: Any, recurrent: Any) -> Any:
    """Run from the last step to the first, padding included: it is projected to zeros, so a zero state stays zero.

    Plain reversals cost a fraction of reversals by length.
    """
    real = tf.range(tf.shape(projected)[0])[:, None, None] < lengths[None, :, None]
    projected = tf.reverse(tf.where(real, projected, tf.zeros((), projected.dtype)), [0])
    states, _ = _run(projected, tf.shape(projected)[0], recurrent, *start_or_zeros(projected))
    return tf.reverse(states, [0])


def _run(projected: Any, steps: Any, recurrent: Any, hidden: Any, cell: Any) -> tuple[Any, Any]:
    one_op = recurrent.shape[0] <= _NARROW and projected.dtype == tf.float32
    return (_one_op if one_op else _loop)(projected, steps, recurrent, hidden, cell)


def _one_op(projected: Any, steps: Any, recurrent: Any, hidden: Any, cell: Any) -> tuple[Any, Any]:
    """``BlockLSTM`` projects its input itself; for projected input it gets an identity matrix, with reordered columns.

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


def _loop(projected: Any, steps: Any, recurrent: Any, hidden: Any, cell: Any) -> tuple[Any, Any]:
    num_steps, steps = tf.shape(projected)[0], tf.maximum(steps, 1)  # an empty array cannot be stacked
    inputs = tf.TensorArray(projected.dtype, num_steps, element_shape=projected.shape[1:]).unstack(projected)
    written = [tf.TensorArray(projected.dtype, steps, element_shape=hidden.shape) for _ in range(2)]

    def step(t: Any, h: Any, c: Any, states: Any, cells: Any) -> Any:
        i, f, g, o = tf.split(inputs.read(t) + tf.matmul(h, recurrent), 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        return t + 1, h, c, states.write(t, h), cells.write(t, c)

    _, _, _, *written = tf.while_loop(lambda t, *_: t < steps, step, (0, hidden, cell, *written))
    padding = [[0, num_steps - steps], [0, 0], [0, 0]]
    return tf.pad(written[0].stack(), padding), tf.pad(written[1].stack(), padding)
