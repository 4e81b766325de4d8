"""The LSTM loop with its own backward pass, compiled by XLA once per shape and shared by all layers of a width.

One call runs one direction: the two directions of a layer run side by side on two cores, and both use one program.
Lengths act inside the loop: at a padded step the carried state is unchanged and the output is zero, so neither
direction needs a reversed copy, and the final carry is the final state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from dense_lstm_zoo.layers.recurrence.native import native_lstm
from dense_lstm_zoo.layers.recurrence.own_gradient import with_own_gradient
from dense_lstm_zoo.layers.recurrence.portable import start_or_zeros

# Programs are compiled for few shapes (time, batch): two lengths per octave, batches in steps of 4, then of 8.
SMALL_BATCH = 32  # below this, the uncompiled loop takes longer to dispatch its ops than to run them
_TIMES = [8, *(n for k in range(4, 24) for n in (2**k, 3 * 2 ** (k - 1)))]


def pad_to_few_shapes(inputs: Any, lengths: Any) -> tuple[Any, Any]:
    """Pad time-major inputs [T, B, n], and lengths, up to a shape that programs are compiled for.

    A graph traced for a single shape gets a program for that shape.
    """
    if not tf.executing_eagerly() and inputs.shape[:2].is_fully_defined():
        return inputs, lengths
    num_steps, batch = tf.shape(inputs)[0], tf.shape(inputs)[1]
    times = tf.constant(_TIMES)
    time_padding = times[tf.searchsorted(times, num_steps[None])[0]] - num_steps
    unit = tf.where(batch <= 4, 1, tf.where(batch <= 32, 4, 8))
    batch_padding = (unit - batch % unit) % unit
    # tf.pad copies even if there is nothing to pad.
    padded = tf.cond(
        time_padding + batch_padding > 0,
        lambda: tf.pad(inputs, [[0, time_padding], [0, batch_padding], [0, 0]]),
        lambda: inputs,
    )
    return tf.ensure_shape(padded, (None, None, inputs.shape[-1])), tf.pad(lengths, [[0, batch_padding]])


def compiled_lstm(
    projected: Any, lengths: Any, recurrent: Any, hidden: Any, cell: Any, reverse: bool, final_state: bool
) -> list[Any]:
    """Run one direction; arguments and results are those of ``portable_lstm``, in a shape of ``pad_to_few_shapes``."""
    start = start_or_zeros(projected, hidden, cell)
    results = with_own_gradient(_trained, (reverse,), projected, lengths, recurrent, *start)
    return list(results if final_state else results[:1])


def _trained(reverse: bool, z: Any, lengths: Any, r: Any, h0: Any, c0: Any) -> Any:
    z, r, h0, c0 = unwatched(z, r, h0, c0)
    states, held, gates, h, c = _forward(z, lengths, r, h0, c0, tf.constant(int(reverse)))

    def gradient(d_states: Any, d_h: Any, d_c: Any) -> Any:
        return _gradient(states, held, gates, lengths, r, h0, c0, reverse, d_states, d_h, d_c)

    return (states, h, c), gradient


def compiled_if_small_lstm(
    projected: Any, lengths: Any, recurrent: Any, hidden: Any, cell: Any, reverse: bool, final_state: bool
) -> list[Any]:
    """Run one direction for a prediction: compiled for small batches, with ``native_lstm`` for others.

    Nothing is kept for a backward pass; if there is one, it first runs the compiled forward pass.
    """
    start = () if hidden is None else (hidden, cell)
    return list(with_own_gradient(_predicted, (reverse, final_state), projected, lengths, recurrent, *start))


def _predicted(reverse: bool, final_state: bool, z: Any, lengths: Any, r: Any, *start: Any) -> Any:
    z, r, *start = unwatched(z, r, *start)  # type: ignore[assignment]
    h0, c0 = start or (None, None)
    direction = tf.constant(int(reverse))
    # When predicting a single text, every op counts, even those that create a state of zeros.
    compiled = _states if start else _states_from_zeros
    results = tf.cond(
        tf.shape(z)[1] < SMALL_BATCH,
        lambda: list(compiled(z, lengths, r, direction, *start)[: 3 if final_state else 1]),
        lambda: native_lstm(z, lengths, r, h0, c0, reverse, final_state),
    )

    def gradient(d_states: Any, *d_final: Any) -> Any:
        from_h, from_c = start_or_zeros(z, *start)
        states, held, gates, _, _ = _forward(z, lengths, r, from_h, from_c, direction)
        d_h, d_c = d_final or (tf.zeros_like(from_h), tf.zeros_like(from_c))
        gradients = _gradient(states, held, gates, lengths, r, from_h, from_c, reverse, d_states, d_h, d_c)
        return gradients[: 3 + len(start)]

    return results, gradient


def unwatched(*tensors: Any) -> list[Any]:
    """Hide tensors from tapes, which would ask XLA for the gradient of a loop, which it cannot provide."""
    return [tf.stop_gradient(x) for x in tensors]


def _gradient(
    states: Any,
    held: Any,
    gates: Any,
    lengths: Any,
    r: Any,
    h0: Any,
    c0: Any,
    reverse: bool,
    d_states: Any,
    d_h: Any,
    d_c: Any,
) -> tuple[Any, None, Any, Any, Any]:
    """Return the gradients of projections, lengths (none), recurrent kernel, h0 and c0."""
    dz, d_h0, d_c0 = _backward(gates, held, c0, lengths, r, d_states, d_h, d_c, tf.constant(int(reverse)))
    previous = tf.reshape(previous_states(states, h0, lengths, reverse), (-1, r.shape[0]))
    d_r = tf.matmul(previous, tf.reshape(dz, (-1, r.shape[1])), transpose_a=True)
    return dz, None, d_r, d_h0, d_c0


def previous_states(states: Any, h0: Any, lengths: Any, reverse: bool) -> Any:
    """Return h_{t-1} in the order of reading, [T, B, u]; padded steps do not matter, their dz is zero."""
    if not reverse:
        return tf.concat([h0[None], states[:-1]], axis=0)
    following = tf.concat([states[1:], tf.zeros_like(h0)[None]], axis=0)
    first_read = tf.equal(tf.range(tf.shape(states)[0])[:, None], lengths[None, :] - 1)
    return tf.where(first_read[:, :, None], h0[None], following)


@tf.function(jit_compile=True, autograph=False, reduce_retracing=True)
def _forward(z: Any, lengths: Any, r: Any, h0: Any, c0: Any, backward_in_time: Any) -> tuple[Any, ...]:
    """Return states, carried c and activated gates of every step, and the final h and c."""
    return _run_forward(z, lengths, r, h0, c0, backward_in_time, keep=True)


@tf.function(jit_compile=True, autograph=False, reduce_retracing=True)
def _states(z: Any, lengths: Any, r: Any, backward_in_time: Any, h0: Any, c0: Any) -> tuple[Any, ...]:
    """Return the states of every step and the final h and c."""
    return _run_forward(z, lengths, r, h0, c0, backward_in_time, keep=False)


@tf.function(jit_compile=True, autograph=False, reduce_retracing=True)
def _states_from_zeros(z: Any, lengths: Any, r: Any, backward_in_time: Any) -> tuple[Any, ...]:
    """Do the same as ``_states``, starting from zeros that are created inside the program."""
    zeros = tf.zeros((tf.shape(z)[1], tf.shape(r)[0]), z.dtype)  # a trace serves all widths, so none is static here
    return _run_forward(z, lengths, r, zeros, zeros, backward_in_time, keep=False)


def _run_forward(z: Any, lengths: Any, r: Any, h0: Any, c0: Any, backward_in_time: Any, keep: bool) -> tuple[Any, ...]:
    steps = tf.reduce_max(lengths)  # padding past the longest row is skipped
    projected = array_of(z, z.shape[1:])
    shapes = (h0.shape, h0.shape, z.shape[1:]) if keep else (h0.shape,)
    outputs = [tf.TensorArray(z.dtype, tf.shape(z)[0], element_shape=shape) for shape in shapes]

    def step(s: Any, h: Any, c: Any, *outputs: Any) -> Any:
        t = s + backward_in_time * (steps - 1 - 2 * s)
        real = (t < lengths)[:, None]
        i, f, g, o = tf.split(projected.read(t) + tf.matmul(h, r), 4, axis=1)
        i, f, g, o = tf.sigmoid(i), tf.sigmoid(f), tf.tanh(g), tf.sigmoid(o)
        new_c = f * c + i * g
        new_h = o * tf.tanh(new_c)
        c, h = tf.where(real, new_c, c), tf.where(real, new_h, h)
        state = tf.where(real, new_h, tf.zeros_like(new_h))
        values = (state, c, tf.concat([i, f, g, o], axis=1)) if keep else (state,)
        return s + 1, h, c, *(array.write(t, value) for array, value in zip(outputs, values, strict=True))

    _, h, c, *written = tf.while_loop(lambda s, *_: s < steps, step, (0, h0, c0, *outputs))
    return (*(array.stack() for array in written), h, c)


@tf.function(jit_compile=True, autograph=False, reduce_retracing=True)
def _backward(
    gates: Any,
    held: Any,
    c0: Any,
    lengths: Any,
    r: Any,
    d_states: Any,
    d_h: Any,
    d_c: Any,
    backward_in_time: Any,
) -> tuple[Any, ...]:
    """Return the gradients of the projections [T, B, 4u] and of the initial state."""
    steps, through_kernel = tf.reduce_max(lengths), times_transposed(r)
    gate_array, held_array = array_of(gates, gates.shape[1:]), array_of(held, c0.shape)
    upstream = array_of(d_states, c0.shape)
    written = tf.TensorArray(gates.dtype, tf.shape(gates)[0], element_shape=gates.shape[1:])

    def step(s: Any, dh: Any, dc: Any, written: Any) -> Any:
        t = s + backward_in_time * (steps - 1 - 2 * s)
        before = tf.maximum(s - 1, 0)
        before = before + backward_in_time * (steps - 1 - 2 * before)
        previous = tf.where(s > 0, held_array.read(before), c0)
        real = (t < lengths)[:, None]
        i, f, g, o = tf.split(gate_array.read(t), 4, axis=1)
        tanh_c = tf.tanh(held_array.read(t))
        dh_t = dh + upstream.read(t)
        dc_t = dc + dh_t * o * (1 - tanh_c * tanh_c)
        dz = tf.concat(
            [
                dc_t * g * i * (1 - i),
                dc_t * previous * f * (1 - f),
                dc_t * i * (1 - g * g),
                dh_t * tanh_c * o * (1 - o),
            ],
            axis=1,
        )
        dz = tf.where(real, dz, tf.zeros_like(dz))
        dh = tf.where(real, through_kernel(dz), dh)
        return s - 1, dh, tf.where(real, dc_t * f, dc), written.write(t, dz)

    _, dh, dc, written = tf.while_loop(lambda s, *_: s >= 0, step, (steps - 1, d_h, d_c, written))
    return written.stack(), dh, dc


def times_transposed(r: Any) -> Callable[[Any], Any]:
    """Return a function that multiplies [B, 4u] by the transpose of ``r`` [u, 4u]; XLA keeps one of two variants.

    A transposed copy, made once before a loop, is faster except for batches of one text.
    """
    transposed = tf.transpose(r)

    def product(x: Any) -> Any:
        return tf.cond(tf.shape(x)[0] == 1, lambda: tf.matmul(x, r, transpose_b=True), lambda: tf.matmul(x, transposed))

    return product


def array_of(values: Any, shape: Any) -> tf.TensorArray:
    """Return the steps of values [T, ...], each of ``shape``, to be read one by one."""
    return tf.TensorArray(values.dtype, tf.shape(values)[0], element_shape=shape).unstack(values)
