"""A loop over time for any step, compiled by XLA once per shape. The backward pass reruns and differentiates steps.

As in ``compiled.py``: one call runs one direction, the two run side by side, and lengths act inside the loop. Only the
carry of each step is kept. TensorFlow's own gradient of a loop would keep every value and could not be compiled.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from dense_lstm_zoo.layers.recurrence.lstm_programs import array_of
from dense_lstm_zoo.layers.recurrence.own_gradient import WithGradient, unwatched, with_own_gradient
from dense_lstm_zoo.layers.recurrence.portable import portable_steps
from dense_lstm_zoo.layers.recurrence.tensors import Tensor


def run_compiled_steps(
    step: Callable[..., Tensor], width: int, inputs: Tensor, weights: Sequence[Tensor], lengths: Tensor, reverse: bool
) -> Tensor:
    """Run one direction of any recurrence. Arguments and result are those of ``Loop.run_steps``."""
    shapes = tuple(tuple(w.shape) for w in weights)
    options = step, width, reverse, shapes
    return with_own_gradient(_steps, options, inputs, lengths, *weights, plain=_plain_steps)


def _steps(
    step: Callable[..., Tensor],
    width: int,
    reverse: bool,
    shapes: tuple[tuple[int, ...], ...],
    inputs: Tensor,
    lengths: Tensor,
    *weights: Tensor,
) -> WithGradient:
    inputs, *weights = unwatched(inputs, *weights)  # type: ignore[assignment]
    direction = tf.constant(int(reverse))
    forward, backward = _programs(step, width, inputs.shape[-1], shapes, tf.as_dtype(inputs.dtype))
    (carries,) = unwatched(forward(inputs, lengths, direction, *weights))

    def gradient(upstream: Tensor) -> tuple[Tensor | None, ...]:
        d_inputs, *d_weights = backward(inputs, lengths, direction, carries, upstream, *weights)
        return d_inputs, None, *d_weights

    return carries, gradient


def _plain_steps(
    step: Callable[..., Tensor],
    width: int,
    reverse: bool,
    shapes: tuple[tuple[int, ...], ...],
    inputs: Tensor,
    lengths: Tensor,
    *weights: Tensor,
) -> Tensor:
    weights = tuple(tf.ensure_shape(w, shape) for w, shape in zip(weights, shapes, strict=True))
    return portable_steps(step, width, inputs, weights, lengths, reverse)


@functools.cache
def _programs(
    step: Callable[..., Tensor], width: int, features: int, shapes: tuple[tuple[int, ...], ...], dtype: tf.DType
) -> list[Callable[..., Any]]:
    """Return the forward and the backward pass of a step, each traced once for any time and batch."""
    carries = tf.TensorSpec((None, None, width), dtype)
    common = [
        tf.TensorSpec((None, None, features), dtype),
        tf.TensorSpec((None,), tf.int32),
        tf.TensorSpec((), tf.int32),
    ]
    weights = [tf.TensorSpec(shape, dtype) for shape in shapes]
    return [
        tf.function(
            functools.partial(run, step, width),
            jit_compile=True,
            autograph=False,
            input_signature=[*signature, *weights],
        )
        for run, signature in ((_forward, common), (_backward, [*common, carries, carries]))
    ]


def _forward(
    step: Callable[..., Tensor], width: int, inputs: Tensor, lengths: Tensor, backward_in_time: Tensor, *weights: Tensor
) -> Tensor:
    """Return the carry after every step."""
    steps = tf.reduce_max(lengths)  # padding past the longest row is skipped
    input_array, zeros = array_of(inputs), tf.zeros((tf.shape(inputs)[1], width), inputs.dtype)
    carries = tf.TensorArray(inputs.dtype, tf.shape(inputs)[0], element_shape=zeros.shape)

    def run_step(s: Tensor, carry: Tensor, carries: tf.TensorArray) -> tuple[Tensor | tf.TensorArray, ...]:
        t = s + backward_in_time * (steps - 1 - 2 * s)
        real = (t < lengths)[:, None]
        new = step(carry, input_array.read(t), *weights)
        return s + 1, tf.where(real, new, carry), carries.write(t, tf.where(real, new, zeros))

    return tf.while_loop(lambda s, *_: s < steps, run_step, (0, zeros, carries))[2].stack()


def _backward(
    step: Callable[..., Tensor],
    width: int,
    inputs: Tensor,
    lengths: Tensor,
    backward_in_time: Tensor,
    carries: Tensor,
    d_carries: Tensor,
    *weights: Tensor,
) -> list[Tensor]:
    """Return the gradients of the inputs and of the weights."""
    steps = tf.reduce_max(lengths)
    input_array, zeros = array_of(inputs), tf.zeros((tf.shape(inputs)[1], width), inputs.dtype)
    carry_array, upstream = array_of(carries), array_of(d_carries)
    d_input_array = tf.TensorArray(inputs.dtype, tf.shape(inputs)[0], element_shape=inputs.shape[1:])

    def run_step(
        s: Tensor, d_carry: Tensor, d_input_array: tf.TensorArray, *d_weights: Tensor
    ) -> tuple[Tensor | tf.TensorArray, ...]:
        t = s + backward_in_time * (steps - 1 - 2 * s)
        before = tf.maximum(s - 1, 0)
        before = before + backward_in_time * (steps - 1 - 2 * before)
        # Going backward in time, the carry before a row's first step is the zeros of its padding.
        previous, step_input = tf.where(s > 0, carry_array.read(before), zeros), input_array.read(t)
        real = (t < lengths)[:, None]
        d_new = tf.where(real, d_carry + upstream.read(t), zeros)
        sources = [tf.identity(x) for x in (previous, step_input, *weights)]
        d_previous, d_input, *own = tf.gradients(step(*sources), sources, d_new)
        sums = (total + part for total, part in zip(d_weights, own, strict=True))
        return s - 1, tf.where(real, d_previous, d_carry), d_input_array.write(t, d_input), *sums

    start = (steps - 1, zeros, d_input_array, *(tf.zeros_like(w) for w in weights))
    _, _, d_input_array, *d_weights = tf.while_loop(lambda s, *_: s >= 0, run_step, start)
    return [d_input_array.stack(), *d_weights]
