"""Models as graphs that are traced once."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from dense_lstm_zoo.forks import check_not_forked

_UNTRACED = 10  # calls


def graph(function: Callable[..., Any], signature: Sequence[Any], autograph: bool = True) -> Callable[..., Any]:
    """Return a function as a TensorFlow graph for arguments of any shape that its signature allows.

    TensorFlow counts the tracings of a piece of code, and warns of the fifth in a row: without the ``partial`` those of
    five models would be taken for five of one.
    """
    import tensorflow as tf

    partial = functools.partial(function)
    traced = tf.function(partial, input_signature=signature, autograph=autograph)

    def run(*arguments: Any, **options: Any) -> Any:
        check_not_forked()  # a fork's first op would wait for ever
        return traced(*arguments, **options)

    run.experimental_get_tracing_count = traced.experimental_get_tracing_count  # type: ignore[attr-defined]
    return run


def graph_if_used(function: Callable[..., Any], signature: Sequence[Any]) -> Callable[..., Any]:
    """Return a function that runs op by op at first, and as a graph once it has been called a few times.

    For many small operations on few values: as a graph they take a tenth of the time, but tracing them takes as long
    as ten calls, which whoever calls once need not wait for.
    """
    traced = graph(function, signature, autograph=False)
    calls = itertools.count()

    def run(*arguments: Any) -> Any:
        check_not_forked()
        return (function if next(calls) < _UNTRACED else traced)(*arguments)

    return run
