"""The input projection of a layer that reads several concatenated tensors, without copying the widest."""

from __future__ import annotations

from collections.abc import Callable

import keras
from keras import ops

from dense_lstm_zoo.layers.recurrence.tensors import Tensor


def join(parts: list[Tensor]) -> Tensor:
    """Return parts [T, B, n] concatenated."""
    return parts[0] if len(parts) == 1 else ops.concatenate(parts, axis=-1)


def project(inputs: list[Tensor], kernel: Tensor) -> Tensor:
    """Return the product [T, B, m] of the concatenated parts [T, B, n] of an input with ``kernel`` [in, m].

    The first part, an encoder's widest, is multiplied by its rows of the kernel, and the joined others by theirs.
    """
    kernel = ops.convert_to_tensor(kernel)
    if len(inputs) == 1 or inputs[0].shape[-1] is None:  # a state's width is not known inside a graph
        return ops.matmul(join(inputs), kernel)
    first, joined = inputs[0], join(inputs[1:])
    if keras.config.backend() == "tensorflow":
        return _two_products(first, joined, kernel)
    width = first.shape[-1]
    return ops.matmul(first, kernel[:width]) + ops.matmul(joined, kernel[width:])


def _two_products(first: Tensor, joined: Tensor, kernel: Tensor) -> Tensor:
    """Return the sum of two products, with a backward pass that writes the kernel's gradient only once.

    TensorFlow's own would pad the gradients of the two parts of the kernel with zeros and add them, which for small
    batches takes longer than the products.
    """
    from dense_lstm_zoo.layers.recurrence.own_gradient import with_own_gradient

    product = with_own_gradient(_product_of_two, (), first, joined, kernel, plain=None)
    product.set_shape((*first.shape[:2], kernel.shape[1]))
    return product


def _product_of_two(
    first: Tensor, joined: Tensor, kernel: Tensor
) -> tuple[Tensor, Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]]:
    import tensorflow as tf

    width, units = first.shape[-1], kernel.shape[1]
    rows, joined_rows = _rows(first, width), _rows(joined, tf.shape(joined)[-1])
    product = tf.matmul(rows, kernel[:width]) + tf.matmul(joined_rows, kernel[width:])

    def gradient(upstream: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        d = _rows(upstream, units)
        d_first = tf.matmul(d, kernel[:width], transpose_b=True)
        d_joined = tf.matmul(d, kernel[width:], transpose_b=True)
        d_kernel = [tf.matmul(part, d, transpose_a=True) for part in (rows, joined_rows)]
        return tf.reshape(d_first, tf.shape(first)), tf.reshape(d_joined, tf.shape(joined)), tf.concat(d_kernel, 0)

    return tf.reshape(product, [tf.shape(first)[0], tf.shape(first)[1], units]), gradient


def _rows(x: Tensor, width: int | Tensor) -> Tensor:
    import tensorflow as tf

    return tf.reshape(x, [-1, width])
