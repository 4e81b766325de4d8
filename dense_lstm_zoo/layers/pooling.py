"""Pooling of states over the real steps of a sentence."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from dense_lstm_zoo import checks
from dense_lstm_zoo.layers import recurrence
from dense_lstm_zoo.layers.recurrence.tensors import Shape, Tensor
from dense_lstm_zoo.layers.saving import arguments_of

POOLINGS = ("mean", "max", "last", "attention", "last_mean_max")


def masked_softmax(logits: Tensor, mask: Tensor, axis: int = 1) -> Tensor:
    """Softmax over the places where ``mask`` is true, with zeros elsewhere: all zeros if it is true nowhere.

    Not ``ops.softmax``, which warns about one-word sentences.
    """
    lowest = ops.full_like(logits, -1e30)
    largest = ops.max(ops.where(mask, logits, lowest), axis=axis, keepdims=True, initial=-1e30)
    powers = ops.exp(ops.where(mask, logits - largest, lowest))
    return powers / ops.maximum(ops.sum(powers, axis=axis, keepdims=True), 1e-30)


def project(states: Tensor, kernel: Tensor, bias: Tensor, negative_slope: float) -> Tensor:
    """LeakyReLU(h_t W + b) in float32 at least, (..., units).

    The result may be many times as wide as the states. To avoid passes over it, b is an additional row of W.
    """
    states = ops.concatenate([states, ops.ones_like(states[..., :1])], axis=-1)
    kernel = ops.concatenate([kernel, bias[None]], axis=0)
    return ops.leaky_relu(recurrence.wide(ops.matmul(states, kernel)), negative_slope)


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class MaskedPooling(keras.layers.Layer):
    """Pool states (batch, time, features) to one vector over each row's real steps. An empty row gives zeros.

    - ``mean``: sum_t m_t h_t / max(sum_t m_t, 1), the average pooling of Ding et al. 2018, section 3.3 (3).
    - ``max``: the largest value of each feature.
    - ``last``: the state at the last real step. With ``num_directions=2``, the second half of the features, which was
      read backward, is taken from the first step.
    - ``attention``: sum_t a_t h_t with a = softmax over the real steps of u . tanh(W h_t + b). ``attention_units``
      is the length of u, by default the number of features.
    - ``last_mean_max``: the first three side by side, [last; mean; max], the concat pooling of Howard and Ruder 2018,
      section 3.3.

    Sums and softmax run in float32 under half-precision policies.

    Args:
        mode: One of ``mean``, ``max``, ``last``, ``attention``, ``last_mean_max``.
        num_directions: 1 or 2, the number of directions concatenated in the features (only used for the last state).
        attention_units: Width of the attention's hidden layer.
        **kwargs: Arguments of ``keras.layers.Layer``.

    Call arguments:
        inputs: (batch, time, features).
        lengths: (batch,), the real steps of each row. None means those of ``mask``, else all steps.
        mask: (batch, time), right-padded.

    Returns:
        (batch, features), three times as wide with ``last_mean_max``.

    Raises:
        ValueError: An unknown mode, ``num_directions`` other than 1 and 2, or an odd number of features with 2.

    Example:
        >>> import numpy as np
        >>> MaskedPooling("mean")(np.array([[[2.0], [4.0], [9.0]]]), lengths=np.array([2])).numpy().tolist()
        [[3.0]]
    """

    def __init__(
        self, mode: str = "mean", *, num_directions: int = 1, attention_units: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.mode = checks.one_of("mode", mode, POOLINGS)
        self.num_directions = checks.integer("num_directions", num_directions)
        if num_directions > 2:
            raise ValueError(f"num_directions must be 1 or 2; received {num_directions}.")
        self.attention_units = None if attention_units is None else checks.integer("attention_units", attention_units)
        self.supports_masking = True

    def build(self, inputs_shape: Shape) -> None:
        """Create the weights of ``attention``. The other modes have none."""
        features = inputs_shape[-1]
        if len(inputs_shape) != 3 or features is None or features % self.num_directions:
            raise ValueError(
                f"MaskedPooling takes inputs of shape (batch, time, features), with features divisible by "
                f"num_directions={self.num_directions}; received shape {tuple(inputs_shape)}."
            )
        if self.mode == "attention":
            units = self.attention_units or features
            self.kernel = self.add_weight(name="kernel", shape=(features, units), initializer="glorot_uniform")
            self.bias = self.add_weight(name="bias", shape=(units,), initializer="zeros")
            self.query = self.add_weight(name="query", shape=(units, 1), initializer="glorot_uniform")

    def call(self, inputs: Tensor, lengths: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """Pool. See the class for the arguments."""
        inputs, lengths = recurrence.real_inputs(inputs, lengths, mask, self.compute_dtype)
        real = recurrence.real_steps(lengths, ops.shape(inputs)[1])
        pooled = getattr(self, f"_{self.mode}")(inputs, lengths, real)
        return ops.cast(pooled, inputs.dtype)

    def _mean(self, inputs: Tensor, lengths: Tensor, real: Tensor) -> Tensor:
        total = ops.sum(recurrence.wide(inputs), axis=1)
        return total / ops.cast(ops.maximum(lengths, 1), total.dtype)[:, None]

    def _max(self, inputs: Tensor, lengths: Tensor, real: Tensor) -> Tensor:
        states = recurrence.wide(inputs)
        largest = ops.max(ops.where(real, states, ops.full_like(states, -1e30)), axis=1, initial=-1e30)
        return ops.where((lengths > 0)[:, None], largest, ops.zeros_like(largest))

    def _last(self, inputs: Tensor, lengths: Tensor, real: Tensor) -> Tensor:
        if inputs.shape[1] == 0:
            return ops.sum(inputs, axis=1)  # zeros, where there is no state to take
        index = ops.cast(ops.maximum(lengths - 1, 0), "int32")[:, None, None]
        last = ops.take_along_axis(inputs, index, axis=1)[:, 0]
        if self.num_directions == 1:
            return last
        half = inputs.shape[-1] // 2
        return ops.concatenate([last[:, :half], inputs[:, 0, half:]], axis=-1)

    def _attention(self, inputs: Tensor, lengths: Tensor, real: Tensor) -> Tensor:
        scores = recurrence.wide(ops.matmul(ops.tanh(ops.matmul(inputs, self.kernel) + self.bias), self.query))
        weights = masked_softmax(scores, real)
        return ops.sum(weights * recurrence.wide(inputs), axis=1)

    def _last_mean_max(self, inputs: Tensor, lengths: Tensor, real: Tensor) -> Tensor:
        parts = [pool(inputs, lengths, real) for pool in (self._last, self._mean, self._max)]
        return ops.concatenate([recurrence.wide(part) for part in parts], axis=-1)

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> None:
        """Return None: no steps are left."""
        return None

    def compute_output_shape(self, inputs_shape: Shape, **_: object) -> Shape:
        """Return (batch, features), or (batch, 3 features) with ``last_mean_max``."""
        features = inputs_shape[2]
        return (inputs_shape[0], 3 * features if features and self.mode == "last_mean_max" else features)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        return super().get_config() | arguments_of(self, "mode", "num_directions", "attention_units")
