"""LSTM programs compiled beside the first steps of a training, on a core that tracing leaves idle.

A training compiles two programs for each width and each shape of a batch, about half a second a pair, in the step that
needs them first. Tracing the first step takes seconds of one core. So a thread compiles meanwhile: a step that comes to
a program finds it, or waits for what is left of it.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Iterable

import tensorflow as tf

from dense_lstm_zoo import machine
from dense_lstm_zoo.layers.recurrence import lstm_programs
from dense_lstm_zoo.layers.recurrence.compiled import program_shape

_MOST_NUMBERS = 1 << 24  # of a projection [T, B, 4u]: larger ones would take memory beside the training's own


def compile_ahead(units: Iterable[int], shapes: Iterable[tuple[int, int]]) -> threading.Thread | None:
    """Start to compile the float32 programs of training steps, and return the thread, or None with a single core.

    Args:
        units: Widths of layers, one direction.
        shapes: The time and batch of batches, in the order in which to compile. The largest are left to the training.
    """
    if machine.cores() < 2:
        return None
    thread = threading.Thread(target=_compile, args=(sorted(set(units)), list(shapes)), name="compile_ahead")
    thread.start()
    return thread


def _compile(all_units: list[int], shapes: list[tuple[int, int]]) -> None:
    for (time, batch), units in itertools.product(dict.fromkeys(program_shape(*shape) for shape in shapes), all_units):
        if not threading.main_thread().is_alive():  # Python waits for this thread before it ends
            return
        if 4 * units * time * batch > _MOST_NUMBERS:
            continue
        try:  # with lengths of 0, so that no step is taken
            _step()(tf.zeros((time, batch, 4 * units)), tf.zeros((batch,), tf.int32), tf.zeros((units, 4 * units)))
        except tf.errors.OpError:  # the training meets the same error, and reports it
            return


@functools.cache
def _step() -> Callable[..., tf.Tensor]:
    """Return a graph with both programs. Called outside of a graph, they would be compiled apart from a training's."""

    def step(z: tf.Tensor, lengths: tf.Tensor, r: tf.Tensor) -> tf.Tensor:
        direction = tf.constant(0)
        states, cells, gates = lstm_programs.forward(z.dtype, False)(z, lengths, r, direction)
        return lstm_programs.backward(z.dtype, False)(gates, cells, lengths, r, direction, states)

    signature = [tf.TensorSpec((None,) * rank, tf.float32 if rank > 1 else tf.int32) for rank in (3, 1, 2)]
    return tf.function(step, autograph=False, input_signature=signature)
