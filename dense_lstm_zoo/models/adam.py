"""Adam that reads and writes every weight once per step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import keras

if TYPE_CHECKING:
    import tensorflow as tf


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class FusedAdam(keras.optimizers.Adam):
    """``keras.optimizers.Adam`` with a step that is a single TensorFlow op per weight.

    Keras's own step is a dozen ops, each of which reads and writes arrays as large as the weight. For a table of word
    vectors, that takes longer than the layers above it. Settings, states and, up to rounding, results are those of
    Keras, with one exception. If a batch holds a word more than once, its gradients are summed before anything else, as
    in Kingma and Ba 2015. Keras computes the clipping norm over each of them and, unless it clips, squares each. On
    other backends, under a distribution strategy and with ``amsgrad``, Keras's own step runs.

    Args:
        *args: Arguments of ``keras.optimizers.Adam``.
        sums_words: Whether a word's gradients are summed first. Otherwise Keras's own step runs for tables of words,
            and results are Keras's for them, too.
        **kwargs: Arguments of ``keras.optimizers.Adam``.

    Example:
        >>> weight = keras.Variable([1.0, 2.0])
        >>> FusedAdam(0.1).apply([keras.ops.convert_to_tensor([0.5, -0.5])], [weight])
        >>> print(weight.numpy().round(4))
        [0.9 2.1]
    """

    _factors: Sequence[float] = ()

    def __init__(self, *args: Any, sums_words: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sums_words = sums_words

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make the optimiser again."""
        return super().get_config() | {"sums_words": self.sums_words}

    def scale_rates(self, factors: Sequence[float]) -> None:
        """Give each weight a learning rate of its own: the optimiser's, times a factor. It holds for weight decay too.

        The factors belong to a training run: ``get_config`` does not hold them, and a saved model comes back without.

        Args:
            factors: A factor for each weight, in the order in which ``build`` got them.

        Raises:
            ValueError: Another number of factors than of weights.
        """
        if len(factors) != len(self._trainable_variables):
            raise ValueError(
                f"scale_rates takes a factor for each of the {len(self._trainable_variables)} weights that the "
                f"optimiser was built with; received {len(factors)}."
            )
        self._factors = tuple(factors)

    def apply(self, grads: Sequence[tf.Tensor], trainable_variables: Sequence[keras.Variable] | None = None) -> None:
        """Take a step, after summing the gradients of each word, unless ``sums_words`` is false."""
        if keras.config.backend() == "tensorflow" and self.sums_words:
            import tensorflow as tf

            grads = [tf.convert_to_tensor(g) if isinstance(g, tf.IndexedSlices) else g for g in grads]
        super().apply(grads, trainable_variables)

    def update_step(self, gradient: tf.Tensor, variable: keras.Variable, learning_rate: tf.Tensor) -> None:
        """Update one weight and its two moments by one step."""
        learning_rate = self._rate_of(variable, learning_rate)
        if keras.config.backend() != "tensorflow":
            super().update_step(gradient, variable, learning_rate)
            return

        import tensorflow as tf

        if tf.distribute.has_strategy() or self.amsgrad or isinstance(gradient, tf.IndexedSlices):
            super().update_step(gradient, variable, learning_rate)
            return
        index, dtype = self._get_variable_index(variable), variable.dtype
        variable = variable.value if isinstance(variable, keras.Variable) else variable
        steps = tf.cast(self.iterations + 1, dtype)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._momentums[index].value.handle,
            v=self._velocities[index].value.handle,
            beta1_power=tf.pow(tf.cast(self.beta_1, dtype), steps),
            beta2_power=tf.pow(tf.cast(self.beta_2, dtype), steps),
            lr=tf.cast(learning_rate, dtype),
            beta1=tf.cast(self.beta_1, dtype),
            beta2=tf.cast(self.beta_2, dtype),
            epsilon=tf.cast(self.epsilon, dtype),
            grad=tf.cast(gradient, dtype),
        )

    def _rate_of(self, variable: keras.Variable, learning_rate: tf.Tensor) -> tf.Tensor:
        if not self._factors:
            return learning_rate
        return keras.ops.cast(learning_rate, variable.dtype) * self._factors[self._get_variable_index(variable)]

    def _apply_weight_decay(self, variables: Sequence[keras.Variable]) -> None:
        if not self._factors or self.weight_decay is None:
            super()._apply_weight_decay(variables)
            return
        for variable in variables:
            if self._use_weight_decay(variable):
                variable.assign(variable * (1 - self.weight_decay * self._rate_of(variable, self.learning_rate)))
