"""Gradients written by hand that leave nothing behind: a graph that used one can be freed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any

import tensorflow as tf


def with_own_gradient(function: Callable[..., Any], options: tuple[Hashable, ...], *tensors: Any) -> Any:
    """Return ``function(*options, *tensors)``, differentiated as it says itself.

    ``tf.custom_gradient`` registers, for as long as the process lives, a function that refers to the graph it was
    called in: each model that is trained would stay in memory. Here it is called in a graph that all models share.

    Args:
        function: Returns, as for ``tf.custom_gradient``, results and a function from their gradients to those of all
            ``tensors``. It must be a function of a module, and must not read other tensors.
        options: What decides about the graph: flags, other functions.
        *tensors: Tensors of one batch or one model; the last axis of each keeps its static size.
    """
    tensors = tuple(tf.convert_to_tensor(x) for x in tensors)
    return _shared(function, options, tuple(x.shape[-1] for x in tensors))(*tensors)


@functools.cache
def _shared(function: Callable[..., Any], options: tuple[Hashable, ...], widths: tuple[int | None, ...]) -> Any:
    # A partial function: of a named one TensorFlow would count the graphs of all widths, and warn of retracing.
    run = functools.partial(function, *options)
    run.__name__ = function.__name__  # type: ignore[attr-defined]  # TensorFlow reads it
    return tf.function(tf.custom_gradient(run), autograph=False, reduce_retracing=True)
