"""Training steps that XLA compiles once for each shape of a batch.

A step for all shapes knows the number of tokens only when it runs. XLA cannot compile the gradient of a loop over them,
since its stacks of states would have no size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import tensorflow as tf

Logs: TypeAlias = "dict[str, tf.Tensor]"
Step: TypeAlias = "Callable[[Any], Logs]"


def by_shape(step: Step) -> Step:
    """Return a step on a batch as one program for each shape, which is compiled when a batch first has it."""
    programs: dict[tuple[Any, ...], Step] = {}

    def run(batch: Any) -> Logs:
        # Keras writes nothing as an empty Optional, where data come from a generator.
        batch = tf.nest.map_structure(lambda x: None if isinstance(x, tf.experimental.Optional) else x, batch)
        shapes = tuple(None if x is None else tuple(x.shape) for x in tf.nest.flatten(batch))
        if shapes not in programs:
            # Of one function with many shapes, TensorFlow would warn that it is traced often.
            programs[shapes] = tf.function(lambda data: step(data), jit_compile=True)
        return programs[shapes](batch)

    return run


def over_batches(step: Step, number: int) -> Callable[[Iterator[Any]], Logs]:
    """Return Keras' ``train_function``, which takes a number of steps and returns the logs of the last.

    Where fewer batches are left, it takes as many steps.

    Raises:
        StopIteration: There is no batch.
    """

    def run(batches: Iterator[Any]) -> Logs:
        logs = step(next(batches))
        for _, batch in zip(range(number - 1), batches, strict=False):
            logs = step(batch)
        return logs

    return run
