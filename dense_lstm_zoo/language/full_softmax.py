"""A softmax over all words with its cross-entropy: losses and all gradients in one go, for a training step.

With a tape, logits are written, read by the loss and by the metric, read again for their gradient, and that is written,
before the products that need it. Here one array of logits turns into their gradient in place, some rows at a time, so
that memory stays small for any vocabulary.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import tensorflow as tf

_MOST_BYTES = 64 << 20  # of logits at a time. Fewer rows would make the products slower

Gradient: TypeAlias = tf.Tensor | tf.IndexedSlices  # of a weight, or of some of its rows


class Gradients(NamedTuple):
    """The results of a softmax for a training step.

    Args:
        losses: -log p of every target (rows,), 0 where it does not count.
        features: The gradient of what the softmax reads (rows, features).
        kernel: The gradient of the softmax's weights.
        bias: The gradient of its bias.
    """

    losses: tf.Tensor
    features: tf.Tensor
    kernel: Gradient
    bias: Gradient


def differentiate(
    features: tf.Tensor, kernel: tf.Tensor, bias: tf.Tensor, targets: tf.Tensor, scale: tf.Tensor, *, by_word: bool
) -> Gradients:
    """Return the losses of a softmax over all words, and the gradients of their sum times ``scale``.

    Args:
        features: (rows, features). Products are computed in its type, all else in that of ``bias``.
        kernel: (features, words), or (words, features) with ``by_word``.
        bias: (words,).
        targets: int32 (rows,). -1 does not count.
        scale: A scalar.
        by_word: Whether a word's weights are a row.
    """
    kernel, bias = tf.cast(kernel, features.dtype), tf.convert_to_tensor(bias)
    rows = features.shape[0]
    if rows is None:
        return _some_rows(features, kernel, bias, targets, scale, by_word)
    parts = -(-rows * bias.shape[0] * bias.dtype.size // _MOST_BYTES)
    size = -(-rows // parts)
    results: list[Gradients] = []
    for start in range(0, rows, size):
        part = features[start : start + size]
        with tf.control_dependencies(list(results[-1]) if results else []):  # or all would be in memory at once
            part = tf.identity(part)
        result = _some_rows(part, kernel, bias, targets[start : start + size], scale, by_word)
        if results:
            result = result._replace(kernel=results[-1].kernel + result.kernel, bias=results[-1].bias + result.bias)
        results.append(result)
    losses = tf.concat([part.losses for part in results], axis=0)
    return Gradients(
        losses, tf.concat([part.features for part in results], axis=0), results[-1].kernel, results[-1].bias
    )


def _some_rows(
    features: tf.Tensor, kernel: tf.Tensor, bias: tf.Tensor, targets: tf.Tensor, scale: tf.Tensor, by_word: bool
) -> Gradients:
    weights = tf.where(targets >= 0, tf.cast(scale, bias.dtype), 0)
    # The scale goes to the narrow arrays: the errors are not read and written once more.
    weighted = tf.cast(weights[:, None] * tf.cast(features, bias.dtype), features.dtype)
    # Each product takes all cores. Beside anything else, which then waits for it, both would take longer.
    with tf.control_dependencies([weighted, kernel]):
        logits = tf.matmul(features, kernel, transpose_b=by_word)
    # In one type, TensorFlow makes one op of the product and the bias.
    logits = tf.nn.bias_add(logits, bias) if logits.dtype == bias.dtype else tf.cast(logits, bias.dtype) + bias
    losses, errors = losses_and_errors(logits, targets)
    d_bias = tf.linalg.matvec(errors, weights, transpose_a=True)
    errors = tf.cast(errors, features.dtype)
    with tf.control_dependencies([d_bias, losses]):
        d_features = tf.matmul(errors, kernel, transpose_b=not by_word)
    left_factor, other = (errors, weighted) if by_word else (weighted, errors)
    with tf.control_dependencies([d_features]):
        d_kernel = tf.matmul(left_factor, other, transpose_a=True)
    with tf.control_dependencies([d_kernel]):  # what reads the gradient of the features comes after, too
        d_features = tf.cast(weights[:, None] * tf.cast(d_features, bias.dtype), features.dtype)
    return Gradients(losses, d_features, d_kernel, d_bias)


def losses_and_errors(logits: tf.Tensor, targets: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return -log p of each target (rows,), 0 for -1, and p less one at each target (rows, words)."""
    places = tf.stack([tf.range(tf.shape(targets)[0]), tf.maximum(targets, 0)], axis=1)
    own, top = tf.gather_nd(logits, places), tf.reduce_max(logits, axis=1)
    with tf.control_dependencies([own, top]):  # so that the softmax may overwrite the logits
        p = tf.nn.softmax(logits)
    # The largest p is exp(top - logsumexp): one more pass over p is cheaper than a sum of exponentials of our own.
    log_sums = top - tf.math.log(tf.reduce_max(p, axis=1))
    with tf.control_dependencies([log_sums]):
        errors = tf.tensor_scatter_nd_sub(p, places, tf.ones_like(own))
    return tf.where(targets >= 0, log_sums - own, 0), errors
