"""The gated skip of Wu et al. 2016, Eq 15, with its own backward pass, compiled by XLA once per shape.

As in ``compiled.py``: one call runs one direction, the two run side by side, and lengths act inside the loop.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from dense_lstm_zoo.layers.recurrence.compiled import previous_states, unwatched
from dense_lstm_zoo.layers.recurrence.lstm_programs import array_of, times_transposed
from dense_lstm_zoo.layers.recurrence.own_gradient import with_own_gradient


def compiled_gated_outputs(projected: Any, skips: Any, lengths: Any, recurrent: Any, reverse: bool) -> Any:
    """Return the states [T, B, n]; arguments are those of ``gated_skip.skip_lstm``."""
    return with_own_gradient(_gated_outputs, (reverse,), projected, skips, lengths, recurrent)


def _gated_outputs(reverse: bool, z: Any, k: Any, lengths: Any, r: Any) -> Any:
    z, k, r = unwatched(z, k, r)
    direction = tf.constant(int(reverse))
    states, held, gates = _forward(z, k, lengths, r, direction)

    def gradient(upstream: Any) -> tuple[Any, Any, None, Any]:
        dz, dk = _backward(gates, held, k, lengths, r, upstream, direction)
        previous = previous_states(states, reverse)
        d_r = tf.matmul(tf.reshape(previous, (-1, r.shape[0])), tf.reshape(dz, (-1, r.shape[1])), transpose_a=True)
        return dz, dk, None, d_r

    return states, gradient


@tf.function(jit_compile=True, autograph=False, reduce_retracing=True)
def _forward(z: Any, k: Any, lengths: Any, r: Any, backward_in_time: Any) -> tuple[Any, Any, Any]:
    """Return states, carried c and activated gates of every step."""
    steps = tf.reduce_max(lengths)  # padding past the longest row is skipped
    projected, skips = array_of(z), array_of(k)
    zeros = tf.zeros_like(k[0])
    outputs = [tf.TensorArray(z.dtype, tf.shape(z)[0], element_shape=s) for s in (*[k.shape[1:]] * 2, z.shape[1:])]

    def step(s: Any, h: Any, c: Any, *outputs: Any) -> Any:
        t = s + backward_in_time * (steps - 1 - 2 * s)
        real = (t < lengths)[:, None]
        i, f, a, o, g = tf.split(projected.read(t) + tf.matmul(h, r), 5, axis=1)
        i, f, a, o, g = tf.sigmoid(i), tf.sigmoid(f), tf.tanh(a), tf.sigmoid(o), tf.sigmoid(g)
        new_c = f * c + i * a
        new_h = o * tf.tanh(new_c) + g * skips.read(t)
        c, h = tf.where(real, new_c, c), tf.where(real, new_h, h)
        values = tf.where(real, new_h, zeros), c, tf.concat([i, f, a, o, g], axis=1)
        return s + 1, h, c, *(array.write(t, value) for array, value in zip(outputs, values, strict=True))

    _, _, _, *written = tf.while_loop(lambda s, *_: s < steps, step, (0, zeros, zeros, *outputs))
    states, held, gates = (array.stack() for array in written)
    return states, held, gates


@tf.function(jit_compile=True, autograph=False, reduce_retracing=True)
def _backward(
    gates: Any, held: Any, k: Any, lengths: Any, r: Any, d_states: Any, backward_in_time: Any
) -> tuple[Any, Any]:
    """Return the gradients of the projections [T, B, 5n] and of the skips [T, B, n]."""
    steps, through_kernel, zeros = tf.reduce_max(lengths), times_transposed(r), tf.zeros_like(held[0])
    gate_array, held_array = array_of(gates), array_of(held)
    skips, upstream = array_of(k), array_of(d_states)
    outputs = [tf.TensorArray(k.dtype, tf.shape(k)[0], element_shape=s) for s in (gates.shape[1:], k.shape[1:])]

    def step(s: Any, dh: Any, dc: Any, *outputs: Any) -> Any:
        t = s + backward_in_time * (steps - 1 - 2 * s)
        before = tf.maximum(s - 1, 0)
        before = before + backward_in_time * (steps - 1 - 2 * before)
        previous = tf.where(s > 0, held_array.read(before), zeros)
        real = (t < lengths)[:, None]
        i, f, a, o, g = tf.split(gate_array.read(t), 5, axis=1)
        tanh_c = tf.tanh(held_array.read(t))
        dh_t = dh + upstream.read(t)
        dc_t = dc + dh_t * o * (1 - tanh_c * tanh_c)
        dz = tf.concat(
            [
                dc_t * a * i * (1 - i),
                dc_t * previous * f * (1 - f),
                dc_t * i * (1 - a * a),
                dh_t * tanh_c * o * (1 - o),
                dh_t * skips.read(t) * g * (1 - g),
            ],
            axis=1,
        )
        dz = tf.where(real, dz, tf.zeros_like(dz))
        dk = tf.where(real, dh_t * g, zeros)
        dh = tf.where(real, through_kernel(dz), dh)
        values = zip(outputs, (dz, dk), strict=True)
        return s - 1, dh, tf.where(real, dc_t * f, dc), *(array.write(t, value) for array, value in values)

    _, _, _, *written = tf.while_loop(lambda s, *_: s >= 0, step, (steps - 1, zeros, zeros, *outputs))
    return written[0].stack(), written[1].stack()
