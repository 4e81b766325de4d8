"""Pooling by attention whose query is found by iterating (Yoon et al. 2018)."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from dense_lstm_zoo import checks
from dense_lstm_zoo.layers import recurrence
from dense_lstm_zoo.layers.initializers import Blocks, InitializerLike, find_initializer, fresh
from dense_lstm_zoo.layers.pooling import masked_softmax, project
from dense_lstm_zoo.layers.recurrence.tensors import Shape, Tensor
from dense_lstm_zoo.layers.saving import arguments_of


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class DynamicSelfAttention(keras.layers.Layer):
    """Pool states by attention whose query is found by iterating (Yoon et al. 2018).

    x_t = LeakyReLU(W h_t + b) and q_t = 0. Then, ``iterations`` times over the real steps: a = softmax(q),
    z = tanh(sum_t a_t x_t), q_t += <x_t, z>. The output is z. Heads, each with its own weights, are concatenated.

    Args:
        units: Length of a head's z.
        num_heads: Number of heads.
        iterations: Rounds r. With 1, a is uniform.
        negative_slope: Slope of the LeakyReLU below 0.
        kernel_initializer: Initialiser of each head's W.
        kernel_regularizer: Regulariser of all W together.
        **kwargs: Arguments of ``keras.layers.Layer``.

    Call arguments:
        inputs: States (batch, time, features), right-padded.
        lengths: (batch,), the real steps of each row. None means those of ``mask``, else all steps.
        mask: (batch, time), right-padded.
        return_attention: Whether to return the last round's a as well.

    Returns:
        (batch, num_heads * units), zeros for an empty row. With ``return_attention`` also a, (batch, time, num_heads).

    Raises:
        ValueError: A number that is not an integer or below 1, an input of another rank.

    Reference: Yoon et al. 2018, arXiv:1808.07383, as compared in Xie et al. 2019. Parameters: heads * units * (d + 1).

    Example:
        >>> import numpy as np
        >>> DynamicSelfAttention(3, num_heads=2)(np.ones((2, 4, 5), "float32"), lengths=np.array([4, 2])).shape
        TensorShape([2, 6])
    """

    def __init__(
        self,
        units: int,
        num_heads: int = 1,
        iterations: int = 2,
        *,
        negative_slope: float = 0.2,
        kernel_initializer: InitializerLike = "glorot_uniform",
        kernel_regularizer: keras.regularizers.Regularizer | str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units, self.num_heads = checks.integer("units", units), checks.integer("num_heads", num_heads)
        self.iterations = checks.integer("iterations", iterations)
        self.negative_slope = float(negative_slope)
        self.kernel_initializer = find_initializer(kernel_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.supports_masking = True

    def build(self, inputs_shape: Shape) -> None:
        """Create the weights for inputs of shape (batch, time, features)."""
        widths = [self.units] * self.num_heads
        self.kernel = self.add_weight(
            name="kernel",
            shape=(checks.num_features(self, inputs_shape), sum(widths)),
            initializer=Blocks(fresh(self.kernel_initializer), widths),
            regularizer=self.kernel_regularizer,
        )
        self.bias = self.add_weight(name="bias", shape=(sum(widths),), initializer="zeros")

    def call(
        self, inputs: Tensor, lengths: Tensor | None = None, mask: Tensor | None = None, return_attention: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Pool. See the class for the arguments."""
        inputs, lengths = recurrence.real_inputs(inputs, lengths, mask, self.compute_dtype)
        batch, time = ops.shape(inputs)[:2]
        real = recurrence.real_steps(lengths, time)
        x = project(inputs, self.kernel, self.bias, self.negative_slope)
        x = ops.reshape(x, (batch, time, self.num_heads, self.units))
        q = ops.zeros((batch, time, self.num_heads), x.dtype)
        for _ in range(self.iterations):
            a = masked_softmax(q, real)
            z = ops.tanh(ops.einsum("bth,bthu->bhu", a, x))
            q = q + ops.einsum("bthu,bhu->bth", x, z)
        pooled = ops.cast(ops.reshape(z, (batch, self.num_heads * self.units)), inputs.dtype)
        return (pooled, a) if return_attention else pooled

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> None:
        """Return None: no steps are left."""
        return None

    def compute_output_spec(
        self, inputs: Tensor, *args: object, return_attention: bool = False, **kwargs: object
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Return the specs of the outputs."""
        batch, time = inputs.shape[:2]
        pooled = keras.KerasTensor((batch, self.num_heads * self.units), self.compute_dtype)
        if not return_attention:
            return pooled
        return pooled, keras.KerasTensor((batch, time, self.num_heads), recurrence.wide_dtype(pooled))

    def compute_output_shape(self, inputs_shape: Shape, **_: object) -> Shape:
        """Return (batch, num_heads * units)."""
        return (inputs_shape[0], self.num_heads * self.units)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        names = (
            *("units", "num_heads", "iterations", "negative_slope"),
            *("kernel_initializer", "kernel_regularizer"),
        )
        return super().get_config() | arguments_of(self, *names)
