"""Hand-written gradients that do not leak: a graph that used one can be freed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any

import tensorflow as tf


def with_own_gradient(function: Callable[..., Any], options: tuple[Hashable, ...], *tensors: Any) -> Any:
    """Return ``function(*options, *tensors)``, differentiated with its own gradient.

    ``tf.custom_gradient`` registers, for the life of the process, a function that refers to the graph in which it was
    called: every trained model would stay in memory. Here it is called in a graph that all models share.

    Args:
        function: Returns, as for ``tf.custom_gradient``, results and a function from their gradients to those of all
            ``tensors``. It must be a module-level function, and must not read other tensors.
        options: Everything that affects the graph: flags, other functions.
        *tensors: Tensors of one batch or one model; the last axis of each keeps its static size.
    """
    tensors = tuple(tf.convert_to_tensor(x) for x in tensors)
    return _shared(function, options, tuple(x.shape[-1] for x in tensors))(*tensors)


@functools.cache
def _shared(function: Callable[..., Any], options: tuple[Hashable, ...], widths: tuple[int | None, ...]) -> Any:
    # A partial function: for a named one, TensorFlow would count the graphs of all widths and warn about retracing.
    run = functools.partial(function, *options)
    run.__name__ = function.__name__  # type: ignore[attr-defined]  # TensorFlow reads this
    return tf.function(tf.custom_gradient(run), autograph=False, reduce_retracing=True)
