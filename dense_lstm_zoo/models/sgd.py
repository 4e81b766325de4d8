"""Stochastic gradient descent that reads and writes every weight once per step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import keras

if TYPE_CHECKING:
    import tensorflow as tf


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class FusedSGD(keras.optimizers.SGD):
    """``keras.optimizers.SGD`` with a step that is a single TensorFlow op per weight.

    Keras squares every gradient to find the clipping norm, and then writes a clipped copy, and another one times the
    learning rate. Here the norm takes one pass, and its factor is part of the learning rate. The gradient of a few rows
    of a table (``tf.IndexedSlices``, each row once) changes those rows and reads no others.

    Settings, states and, up to rounding, results are those of Keras. Keras's own step runs with momentum, weight decay,
    an average of the weights, accumulated gradients or another kind of clipping, under a distribution strategy, and on
    other backends.

    Args:
        *args: Arguments of ``keras.optimizers.SGD``.
        **kwargs: Arguments of ``keras.optimizers.SGD``.

    Example:
        >>> weight = keras.Variable([1.0, 2.0])
        >>> FusedSGD(0.1, global_clipnorm=1.0).apply([keras.ops.convert_to_tensor([3.0, -4.0])], [weight])
        >>> print(weight.numpy().round(4))
        [0.94 2.08]
    """

    def apply(self, grads: Sequence[tf.Tensor], trainable_variables: Sequence[keras.Variable] | None = None) -> None:
        """Take a step."""
        grads = list(grads)
        variables = self._trainable_variables if trainable_variables is None else list(trainable_variables)
        if not self.built:
            self.build(variables)
        pairs = [(g, v) for g, v in zip(grads, variables, strict=True) if g is not None]
        if not pairs or not self._is_plain(variables):
            super().apply(grads, trainable_variables)
            return
        rate = keras.ops.cast(self.learning_rate, "float32")
        if self.global_clipnorm:
            rate *= clipping_factor([g for g, _ in pairs], self.global_clipnorm)
        for gradient, variable in pairs:
            _descend(variable.value, gradient, rate)
        self.iterations.assign_add(1)

    def _is_plain(self, variables: list[keras.Variable]) -> bool:
        other_steps = (
            *(self.momentum, self.weight_decay, self.use_ema, self.clipnorm, self.clipvalue),
            *(self.gradient_accumulation_steps, self.loss_scale_factor),
            *(variable.constraint or variable.overwrite_with_gradient for variable in variables),
        )
        if keras.config.backend() != "tensorflow" or any(other_steps):
            return False

        import tensorflow as tf

        return not tf.distribute.has_strategy()


def clipping_factor(gradients: list[tf.Tensor | tf.IndexedSlices], clip_norm: float) -> tf.Tensor:
    """Return what all gradients are multiplied by so that their common norm is at most ``clip_norm``.

    Not a number if the norm is not finite, as in Keras: a broken step shows.
    """
    import tensorflow as tf

    values = [g.values if isinstance(g, tf.IndexedSlices) else g for g in gradients]
    # l2_loss adds up half of the squares without an array of them.
    norm = tf.sqrt(2 * tf.add_n([tf.cast(tf.nn.l2_loss(v), tf.float32) for v in values]))
    return clip_norm / tf.maximum(norm, clip_norm) + (norm - norm)


def _descend(variable: tf.Variable, gradient: tf.Tensor | tf.IndexedSlices, rate: tf.Tensor) -> None:
    import tensorflow as tf

    rate = tf.cast(rate, variable.dtype)
    if isinstance(gradient, tf.IndexedSlices):
        step = tf.cast(gradient.values, variable.dtype) * rate
        tf.raw_ops.ResourceScatterSub(resource=variable.handle, indices=gradient.indices, updates=step)
    else:
        gradient = tf.cast(gradient, variable.dtype)
        tf.raw_ops.ResourceApplyGradientDescent(var=variable.handle, alpha=rate, delta=gradient)
