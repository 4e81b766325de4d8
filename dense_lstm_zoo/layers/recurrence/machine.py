"""What TensorFlow can do on this machine; asked once in a process."""

from __future__ import annotations

import functools


@functools.cache
def has_gpu() -> bool:
    """Return whether TensorFlow sees a GPU."""
    import tensorflow as tf

    return bool(tf.config.list_physical_devices("GPU"))


@functools.cache
def xla_works() -> bool:
    """Return whether XLA compiles a product of two numbers: the only sure way to know."""
    import tensorflow as tf

    try:
        with tf.init_scope():  # also when a graph is being built
            return float(tf.function(lambda x: x * x, jit_compile=True)(tf.constant(2.0))) == 4.0
    except (tf.errors.OpError, ValueError, NotImplementedError):
        return False
