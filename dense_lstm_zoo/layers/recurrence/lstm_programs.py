"""The LSTM's loops over time as XLA programs: forward, forward for predictions, and backward.

XLA runs each group of fused operations of a step as one call, and for narrow layers the calls cost more than the
arithmetic. So a step has as few as possible: all gates come from one tanh, as sigmoid(x) = tanh(x / 2) / 2 + 1 / 2.
What was written is read back, not computed again. Padding is masked once, in c, from which h = o tanh(0) = 0 follows.
Reading an array before it is written to would make XLA copy all of it at every step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from dense_lstm_zoo.layers.recurrence.tensors import Tensor


@functools.cache
def forward(dtype: tf.DType, with_start: bool) -> Callable[..., list[Tensor]]:
    """Return the program (z, lengths, r, direction[, h0, c0]) -> states, c and activated gates of every step.

    Here and below, z is x W + b, [T, B, 4u], with lengths [B] and r [u, 4u]. ``direction`` is 1 to run backward in
    time, which needs a start from zeros. States and c are [T, B, u], zeros past the lengths.
    """
    return program(_forward, dtype, [3, 1, 2, 0, *[2] * 2 * with_start])


@functools.cache
def states_from_zeros(dtype: tf.DType) -> Callable[..., Tensor]:
    """Return the program (z, lengths, r, direction) -> states: ``forward``, of which nothing else is kept."""
    return program(_states_from_zeros, dtype, [3, 1, 2, 0])


@functools.cache
def predicting(dtype: tf.DType, with_start: bool) -> Callable[..., list[Tensor]]:
    """Return the program (z, lengths, r, direction[, h0, c0]) -> states, final h and final c, [B, u]."""
    return program(_predicting, dtype, [3, 1, 2, 0, *[2] * 2 * with_start])


@functools.cache
def backward(dtype: tf.DType, with_start: bool) -> Callable[..., list[Tensor]]:
    """Return the program (gates, c, lengths, r, direction, d_states[, c0, d_h, d_c]) -> dz[, d_h0, d_c0].

    ``d_h`` and ``d_c`` are the gradients of the final state.
    """
    return program(_backward, dtype, [3, 3, 1, 2, 0, 3, *[2] * 3 * with_start])


def program(function: Callable[..., Any], dtype: tf.DType, ranks: list[int]) -> Callable[..., Any]:
    """Compile a function of tensors of these ranks, of which vectors and numbers are integers, for any sizes."""
    signature = [tf.TensorSpec((None,) * rank, dtype if rank > 1 else tf.int32) for rank in ranks]
    return tf.function(function, jit_compile=True, autograph=False, input_signature=signature)


def activated(x: Tensor, units: int | Tensor, kinds: str = "ssts") -> Tensor:
    """Return activated gates for sums [B, G u]: a letter for each of G gates, ``s`` for sigmoid and ``t`` for tanh."""
    scale, shift = (
        tf.concat([tf.cast(tf.fill([units], values[kind]), x.dtype) for kind in kinds], 0)
        for values in ({"s": 0.5, "t": 1.0}, {"s": 0.5, "t": 0.0})
    )
    return tf.tanh(x * scale) * scale + shift


def _forward(z: Tensor, lengths: Tensor, r: Tensor, direction: Tensor, *start: Tensor) -> list[Tensor]:
    steps, units, pace = tf.reduce_max(lengths), tf.shape(r)[0], 1 - 2 * direction
    h0, c0 = start or [zero_state(z, units)] * 2
    projected = array_of(z)
    outputs = [array_of_zeros(z, width) for width in (units, units, 4 * units)]

    def step(
        t: Tensor, h: Tensor, c: Tensor, states: tf.TensorArray, cells: tf.TensorArray, gates: tf.TensorArray
    ) -> tuple[Tensor | tf.TensorArray, ...]:
        gates = gates.write(t, activated(projected.read(t) + tf.matmul(h, r), units))
        i, f, g, o = tf.split(gates.read(t), 4, axis=1)
        cells = cells.write(t, tf.where((t < lengths)[:, None], f * c + i * g, tf.zeros((), c.dtype)))
        states = states.write(t, o * tf.tanh(cells.read(t)))
        return t + pace, states.read(t), cells.read(t), states, cells, gates

    # Padding past the longest row is skipped.
    first = direction * (steps - 1)
    _, _, _, *arrays = tf.while_loop(lambda t, *_: (t >= 0) & (t < steps), step, (first, h0, c0, *outputs))
    return [array.stack() for array in arrays]


def _states_from_zeros(z: Tensor, lengths: Tensor, r: Tensor, direction: Tensor) -> Tensor:
    steps, units, pace = tf.reduce_max(lengths), tf.shape(r)[0], 1 - 2 * direction
    zeros, projected = zero_state(z, units), array_of(z)

    def step(t: Tensor, h: Tensor, c: Tensor, states: tf.TensorArray) -> tuple[Tensor | tf.TensorArray, ...]:
        i, f, g, o = tf.split(activated(projected.read(t) + tf.matmul(h, r), units), 4, axis=1)
        c = tf.where((t < lengths)[:, None], f * c + i * g, zeros)
        states = states.write(t, o * tf.tanh(c))
        return t + pace, states.read(t), c, states

    first = direction * (steps - 1)
    loop = tf.while_loop(lambda t, *_: (t >= 0) & (t < steps), step, (first, zeros, zeros, array_of_zeros(z, units)))
    return loop[3].stack()


def _predicting(z: Tensor, lengths: Tensor, r: Tensor, direction: Tensor, *start: Tensor) -> list[Tensor]:
    steps, units, pace = tf.reduce_max(lengths), tf.shape(r)[0], 1 - 2 * direction
    h0, c0 = start or [zero_state(z, units)] * 2
    projected, states = array_of(z), array_of_zeros(z, units)

    def step(t: Tensor, h: Tensor, c: Tensor, states: tf.TensorArray) -> tuple[Tensor | tf.TensorArray, ...]:
        real = (t < lengths)[:, None]
        i, f, g, o = tf.split(activated(projected.read(t) + tf.matmul(h, r), units), 4, axis=1)
        new_c = f * c + i * g
        new_h = o * tf.tanh(new_c)
        states = states.write(t, tf.where(real, new_h, tf.zeros((), h.dtype)))
        return t + pace, tf.where(real, new_h, h), tf.where(real, new_c, c), states

    first = direction * (steps - 1)
    _, h, c, states = tf.while_loop(lambda t, *_: (t >= 0) & (t < steps), step, (first, h0, c0, states))
    return [states.stack(), h, c]


def _backward(
    gates: Tensor,
    cells: Tensor,
    lengths: Tensor,
    r: Tensor,
    direction: Tensor,
    d_states: Tensor,
    *start_and_end: Tensor,
) -> list[Tensor]:
    steps, units, pace = tf.reduce_max(lengths), tf.shape(r)[0], 1 - 2 * direction
    zeros, through_kernel = zero_state(gates, units), times_transposed(r)
    c0, d_h, d_c = start_and_end or [zeros] * 3
    gate_array, cell_array, upstream = array_of(gates), array_of(cells), array_of(d_states)
    output = array_of_zeros(gates, 4 * units)

    def step(t: Tensor, dh: Tensor, dc: Tensor, dz_array: tf.TensorArray) -> tuple[Tensor | tf.TensorArray, ...]:
        real = (t < lengths)[:, None]
        i, f, g, o = tf.split(gate_array.read(t), 4, axis=1)
        previous, tanh_c = read_or(cell_array, t - pace, steps, c0), tf.tanh(cell_array.read(t))
        if start_and_end:
            last = (t == (1 - direction) * (lengths - 1))[:, None]
            dh, dc = dh + tf.where(last, d_h, zeros), dc + tf.where(last, d_c, zeros)
        dh = tf.where(real, dh + upstream.read(t), zeros)
        dc = tf.where(real, dc + dh * o * (1 - tanh_c * tanh_c), zeros)
        parts = dc * g * i * (1 - i), dc * previous * f * (1 - f), dc * i * (1 - g * g), dh * tanh_c * o * (1 - o)
        dz = tf.concat(parts, axis=1)
        return t - pace, through_kernel(dz), dc * f, dz_array.write(t, dz)

    last = (1 - direction) * (steps - 1)
    _, dh, dc, dz_array = tf.while_loop(lambda t, *_: (t >= 0) & (t < steps), step, (last, zeros, zeros, output))
    dz = dz_array.stack()
    if not start_and_end:
        return [dz]
    empty = (lengths == 0)[:, None]  # such a row ends where it began
    return [dz, *(tf.where(empty, end, d) for end, d in ((d_h, dh), (d_c, dc)))]


def times_transposed(r: Tensor) -> Callable[[Tensor], Tensor]:
    """Return a function that multiplies [B, 4u] by the transpose of ``r`` [u, 4u]. XLA keeps one of two variants.

    A transposed copy, made once before a loop, is faster except for batches of one text.
    """
    transposed = tf.transpose(r)

    def product(x: Tensor) -> Tensor:
        return tf.cond(tf.shape(x)[0] == 1, lambda: tf.matmul(x, r, transpose_b=True), lambda: tf.matmul(x, transposed))

    return product


def array_of(values: Tensor) -> tf.TensorArray:
    """Return the steps of values [T, ...], to be read one by one."""
    steps, shape = tf.shape(values)[0], values.shape[1:]
    return tf.TensorArray(values.dtype, steps, element_shape=shape, clear_after_read=False).unstack(values)


def read_or(array: tf.TensorArray, t: Tensor, steps: Tensor, start: Tensor) -> Tensor:
    """Return step ``t`` of an array, or ``start`` before the first step of either direction."""
    return tf.where((t < 0) | (t >= steps), start, array.read(tf.clip_by_value(t, 0, steps - 1)))


def zero_state(like: Tensor, units: int | Tensor) -> Tensor:
    """Return a state [B, u] of zeros for [T, B, 4u], without static sizes, which would differ from those of a step."""
    return tf.ensure_shape(tf.zeros(tf.stack([tf.shape(like)[1], units]), like.dtype), (None, None))


def array_of_zeros(like: Tensor, width: int | Tensor) -> tf.TensorArray:
    """Return T steps [B, width] of zeros for [T, B, 4u]. XLA can read only arrays that were written before a loop."""
    return array_of(tf.zeros(tf.concat([tf.shape(like)[:2], [width]], 0), like.dtype))
