"""Models as graphs that are traced once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any


def graph(function: Callable[..., Any], signature: Sequence[Any]) -> Callable[..., Any]:
    """Return a function as a TensorFlow graph for arguments of any shape that its signature allows.

    TensorFlow counts the tracings of a piece of code, and warns of the fifth in a row: without the ``partial`` those of
    five models would be taken for five of one.
    """
    import tensorflow as tf

    traced: Callable[..., Any] = tf.function(functools.partial(function), input_signature=signature)
    return traced
