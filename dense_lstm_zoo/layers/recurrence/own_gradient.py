"""Hand-written gradients that do not leak: a graph that used one can be freed.

Gradients of these gradients, and forward mode, go through the same function in ops that TensorFlow differentiates.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import tensorflow as tf

from dense_lstm_zoo.layers.recurrence.tensors import Shape, Tensor

# From the gradients of results to those of tensors, None for one without.
Gradient = Callable[..., Sequence["Tensor | None"]]
WithGradient = tuple["Tensor | Sequence[Tensor]", Gradient]


def with_own_gradient(
    function: Callable[..., Any],
    options: tuple[Hashable, ...],
    *tensors: Tensor,
    plain: Callable[..., Any] | None,
) -> Any:
    """Return ``function(*options, *tensors)``, differentiated with its own gradient.

    ``tf.custom_gradient`` registers, for the life of the process, a function that refers to the graph in which it was
    called: every trained model would stay in memory. Here it is called in a graph that all models share.

    Args:
        function: Returns, as for ``tf.custom_gradient``, results and a function from their gradients to those of all
            ``tensors``. It must be a module-level function, and must not read other tensors.
        options: Everything that affects the graph: flags, other functions.
        *tensors: Tensors of one batch or one model. The last axis of each keeps its static size.
        plain: A module-level function that returns the same results in ops that can be differentiated any number of
            times. The gradient of the gradient is computed with it, and nothing else. None if that of ``function`` can
            be differentiated as it is.
    """
    tensors = tuple(tf.convert_to_tensor(x) for x in tensors)
    return _shared(function, options, plain, tuple(x.shape[-1] for x in tensors))(*tensors)


def unwatched(*tensors: Tensor) -> list[Tensor]:
    """Hide what XLA reads and returns from tapes, which would ask it for a loop's gradient, which it cannot provide."""
    return [tf.stop_gradient(x) for x in tensors]


def explain_missing_gradient(op: str, reason: str) -> None:
    """Replace TensorFlow's error for an op of a gradient that has no gradient of its own.

    Args:
        op: The op's name.
        reason: Which kernel runs it, and what else to use.
    """

    def refuse(*_: object) -> None:
        raise NotImplementedError(f"TensorFlow has no gradients of gradients and no forward mode for {op}: {reason}.")

    with contextlib.suppress(KeyError):  # TensorFlow, or another library, has one after all
        tf.RegisterGradient(op)(refuse)


@functools.cache
def _shared(
    function: Callable[..., Any],
    options: tuple[Hashable, ...],
    plain: Callable[..., Any] | None,
    widths: Shape,
) -> Callable[..., Any]:
    # A partial function: for a named one, TensorFlow would count the graphs of all widths and warn about retracing.
    run = functools.partial(_run, function, options, plain)
    run.__name__ = function.__name__  # type: ignore[attr-defined]  # TensorFlow reads this
    return tf.function(tf.custom_gradient(run), autograph=False, reduce_retracing=True)


def _run(
    function: Callable[..., Any], options: tuple[Hashable, ...], plain: Callable[..., Any] | None, *tensors: Tensor
) -> tuple[Any, Gradient]:
    results, gradient = function(*options, *tensors)
    if plain is None:
        return results, gradient
    return results, _differentiable(gradient, functools.partial(plain, *options), tensors)


def _differentiable(gradient: Gradient, plain: Callable[..., Any], tensors: tuple[Tensor, ...]) -> Gradient:
    """Return ``gradient`` with a gradient of its own, that of ``plain``'s gradient."""

    differentiable = [x.dtype.is_floating for x in tensors]

    def once(*upstream: Tensor) -> list[Tensor | None]:
        @tf.custom_gradient
        def gradients(*_: Tensor) -> tuple[list[Tensor], Callable[..., list[Tensor]]]:
            return [x for x in gradient(*upstream) if x is not None], again

        def again(*upstream_again: Tensor) -> list[Tensor]:
            # Not with tapes: they record nothing in forward mode.
            inputs = [tf.identity(x) for x in local]
            d_results = [tf.identity(x) for x in upstream]
            floats = list(itertools.compress(inputs, differentiable))
            first = tf.gradients(plain(*inputs), floats, d_results, unconnected_gradients="zero")
            second = tf.gradients(first, [*floats, *d_results], upstream_again)
            return second

        # A graph can capture tensors of this one, but none of those around it.
        local = [tf.identity(x) for x in tensors]
        first = iter(gradients(*itertools.compress(local, differentiable), *upstream))
        return [next(first) if is_differentiable else None for is_differentiable in differentiable]

    return once
