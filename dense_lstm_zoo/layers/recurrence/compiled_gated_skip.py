"""The gated skip of Wu et al. 2016, Eq 15, with its own backward pass, compiled by XLA once per shape.

As in ``compiled.py``: one call runs one direction, the two run side by side, and lengths act inside the loop, whose
steps are as those in ``lstm_programs.py``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import tensorflow as tf

from dense_lstm_zoo.layers.recurrence import lstm_programs as programs
from dense_lstm_zoo.layers.recurrence.compiled import flat, previous_states
from dense_lstm_zoo.layers.recurrence.own_gradient import WithGradient, unwatched, with_own_gradient
from dense_lstm_zoo.layers.recurrence.portable import portable_steps
from dense_lstm_zoo.layers.recurrence.tensors import Tensor


def compiled_gated_outputs(
    projected: Tensor, skips: Tensor, lengths: Tensor, recurrent: Tensor, reverse: bool, step: Callable[..., Tensor]
) -> Tensor:
    """Return the states [T, B, n]. Arguments are those of ``gated_skip.skip_lstm``.

    ``step`` is the same step as ``Loop.run_steps`` takes it, for gradients of gradients.
    """
    options = reverse, step
    return with_own_gradient(_gated_outputs, options, projected, skips, lengths, recurrent, plain=_plain)


def _gated_outputs(
    reverse: bool, step: Callable[..., Tensor], z: Tensor, k: Tensor, lengths: Tensor, r: Tensor
) -> WithGradient:
    z, k, r = unwatched(z, k, r)
    direction = tf.constant(int(reverse))
    states, cells, gates = unwatched(*_forward(z.dtype)(z, k, lengths, r, direction))

    def gradient(upstream: Tensor) -> tuple[Tensor, Tensor, None, Tensor]:
        dz, dk = _backward(z.dtype)(gates, cells, k, lengths, r, direction, upstream)
        return dz, dk, None, tf.matmul(flat(previous_states(states, reverse)), flat(dz), transpose_a=True)

    return states, gradient


def _plain(reverse: bool, step: Callable[..., Tensor], z: Tensor, k: Tensor, lengths: Tensor, r: Tensor) -> Tensor:
    units = k.shape[-1]
    r = tf.ensure_shape(r, (units, 5 * units))
    carries = portable_steps(step, 3 * units, tf.concat([z, k], axis=-1), [r], lengths, reverse)
    return carries[..., :units]


@functools.cache
def _forward(dtype: tf.DType) -> Callable[..., list[Tensor]]:
    """Return the program (z, k, lengths, r, direction) -> states, c and activated gates of every step."""
    return programs.program(_run_forward, dtype, [3, 3, 1, 2, 0])


@functools.cache
def _backward(dtype: tf.DType) -> Callable[..., list[Tensor]]:
    """Return the program (gates, c, k, lengths, r, direction, d_states) -> gradients of z [T, B, 5n] and k."""
    return programs.program(_run_backward, dtype, [3, 3, 3, 1, 2, 0, 3])


def _run_forward(z: Tensor, k: Tensor, lengths: Tensor, r: Tensor, direction: Tensor) -> list[Tensor]:
    steps, units, pace = tf.reduce_max(lengths), tf.shape(r)[0], 1 - 2 * direction
    projected, skips, zeros = programs.array_of(z), programs.array_of(k), programs.zero_state(z, units)
    outputs = [programs.array_of_zeros(z, width) for width in (units, units, 5 * units)]

    def step(
        t: Tensor, h: Tensor, c: Tensor, states: tf.TensorArray, cells: tf.TensorArray, gates: tf.TensorArray
    ) -> tuple[Tensor | tf.TensorArray, ...]:
        real = (t < lengths)[:, None]
        gates = gates.write(t, programs.activated(projected.read(t) + tf.matmul(h, r), units, "sstss"))
        i, f, a, o, g = tf.split(gates.read(t), 5, axis=1)
        cells = cells.write(t, tf.where(real, f * c + i * a, zeros))
        states = states.write(t, o * tf.tanh(cells.read(t)) + tf.where(real, g * skips.read(t), zeros))
        return t + pace, states.read(t), cells.read(t), states, cells, gates

    first = direction * (steps - 1)  # padding past the longest row is skipped
    _, _, _, *arrays = tf.while_loop(lambda t, *_: (t >= 0) & (t < steps), step, (first, zeros, zeros, *outputs))
    return [array.stack() for array in arrays]


def _run_backward(
    gates: Tensor, cells: Tensor, k: Tensor, lengths: Tensor, r: Tensor, direction: Tensor, d_states: Tensor
) -> list[Tensor]:
    steps, units, pace = tf.reduce_max(lengths), tf.shape(r)[0], 1 - 2 * direction
    zeros, through_kernel = programs.zero_state(gates, units), programs.times_transposed(r)
    gate_array, cell_array = programs.array_of(gates), programs.array_of(cells)
    skips, upstream = programs.array_of(k), programs.array_of(d_states)
    outputs = [programs.array_of_zeros(gates, width) for width in (5 * units, units)]

    def step(
        t: Tensor, dh: Tensor, dc: Tensor, dz_array: tf.TensorArray, d_skips: tf.TensorArray
    ) -> tuple[Tensor | tf.TensorArray, ...]:
        real = (t < lengths)[:, None]
        i, f, a, o, g = tf.split(gate_array.read(t), 5, axis=1)
        previous, tanh_c = programs.read_or(cell_array, t - pace, steps, zeros), tf.tanh(cell_array.read(t))
        dh = tf.where(real, dh + upstream.read(t), zeros)
        dc = tf.where(real, dc + dh * o * (1 - tanh_c * tanh_c), zeros)
        parts = (
            dc * a * i * (1 - i),
            dc * previous * f * (1 - f),
            dc * i * (1 - a * a),
            dh * tanh_c * o * (1 - o),
            dh * skips.read(t) * g * (1 - g),
        )
        dz = tf.concat(parts, axis=1)
        return t - pace, through_kernel(dz), dc * f, dz_array.write(t, dz), d_skips.write(t, dh * g)

    last = (1 - direction) * (steps - 1)
    _, _, _, *arrays = tf.while_loop(lambda t, *_: (t >= 0) & (t < steps), step, (last, zeros, zeros, *outputs))
    return [array.stack() for array in arrays]
