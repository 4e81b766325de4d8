"""TensorFlow's abilities on this machine, checked once per process."""

from __future__ import annotations

import functools


@functools.cache
def has_gpu() -> bool:
    """Return whether TensorFlow sees a GPU."""
    import tensorflow as tf

    return bool(tf.config.list_physical_devices("GPU"))


@functools.cache
def xla_works() -> bool:
    """Return whether XLA works, by compiling a product of two numbers: the only reliable check."""
    import tensorflow as tf

    try:
        with tf.init_scope():  # even while a graph is being built
            return float(tf.function(lambda x: x * x, jit_compile=True)(tf.constant(2.0))) == 4.0
    except (tf.errors.OpError, ValueError, NotImplementedError):
        return False
