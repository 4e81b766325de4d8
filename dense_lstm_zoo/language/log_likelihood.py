"""The log likelihood of targets under a softmax over all words, and its gradient, each in one pass over the logits."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf
from keras import ops

from dense_lstm_zoo.layers.recurrence import kernels
from dense_lstm_zoo.layers.recurrence.own_gradient import unwatched, with_own_gradient


def negative_log_likelihood(targets: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """Return -log p of every target (batch, time), 0 for targets of -1, from logits (batch, time, words).

    In a graph traced for one fixed shape, two programs compiled by XLA do this, one for the losses and one for their
    gradient: TensorFlow's own op, which computes both at once, takes three times as long. It is used for other shapes.
    """
    targets, logits = ops.cast(targets, "int32"), ops.convert_to_tensor(logits)
    one_shape = not tf.executing_eagerly() and targets.shape.is_fully_defined()
    if one_shape and not kernels.problem("compiled"):
        return with_own_gradient(_compiled, (), targets, logits, plain=_plain)
    return _plain(targets, logits)


def _plain(targets: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    counts = targets >= 0
    # The raw op: the public one's assertions would make a graph run it twice, for loss and perplexity.
    losses, _ = tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(
        features=tf.reshape(logits, [-1, tf.shape(logits)[-1]]), labels=tf.reshape(tf.where(counts, targets, 0), [-1])
    )
    return tf.where(counts, tf.reshape(losses, tf.shape(targets)), 0.0)


def _compiled(targets: tf.Tensor, logits: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tuple[None, tf.Tensor]]]:
    logits = tf.stop_gradient(logits)  # hidden from tapes: the gradient is written by hand
    losses, log_sums = unwatched(*_losses(targets, logits))
    return losses, lambda d_losses: (None, _gradient(targets, logits, log_sums, d_losses))


@tf.function(jit_compile=True, autograph=False, reduce_retracing=True)
def _losses(targets: tf.Tensor, logits: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return -log p of every target and the logarithm of the sum of all words' exponentials [..., 1]."""
    top = tf.reduce_max(logits, axis=-1, keepdims=True)
    log_sums = top + tf.math.log(tf.reduce_sum(tf.exp(logits - top), axis=-1, keepdims=True))
    own = tf.gather(logits, tf.maximum(targets, 0), axis=-1, batch_dims=2)
    return tf.where(targets >= 0, log_sums[..., 0] - own, 0.0), log_sums


@tf.function(jit_compile=True, autograph=False, reduce_retracing=True)
def _gradient(targets: tf.Tensor, logits: tf.Tensor, log_sums: tf.Tensor, d_losses: tf.Tensor) -> tf.Tensor:
    """Return (p - one_hot) * d_losses."""
    is_target = tf.range(tf.shape(logits)[-1]) == targets[..., None]
    d_losses = tf.where(targets >= 0, d_losses, 0.0)[..., None]
    return d_losses * (tf.exp(logits - log_sums) - tf.cast(is_target, logits.dtype))
