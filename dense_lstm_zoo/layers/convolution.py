"""Convolutions over the words of a sentence, with max pooling (Kim 2014, Zhou et al. 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from dense_lstm_zoo import checks
from dense_lstm_zoo.layers import recurrence
from dense_lstm_zoo.layers.recurrence.tensors import Shape, Tensor
from dense_lstm_zoo.layers.saving import arguments_of, hand_down_trainable


def convolve(convolution: keras.layers.Layer, inputs: Tensor) -> Tensor:
    """Return the convolution of a batch. For an empty one, TensorFlow would return the wrong number of features."""
    batch = ops.shape(inputs)[0]
    if isinstance(batch, int) and batch:
        return convolution(inputs)
    filler = ops.zeros((ops.maximum(1 - batch, 0), *ops.shape(inputs)[1:]), inputs.dtype)
    return convolution(ops.concatenate([inputs, filler], axis=0))[:batch]


def largest(values: Tensor, counts: Tensor) -> Tensor:
    """Return the largest of each row's first ``counts`` values: (batch, places, features) to (batch, features).

    After a ReLU nothing is below 0, so places that do not count are set to 0.
    """
    real = ops.arange(ops.shape(values)[1], dtype="int32")[None, :] < counts[:, None]
    return ops.max(values * ops.cast(real, values.dtype)[..., None], axis=1, initial=0)


def _with_a_step(inputs: Tensor) -> Tensor:
    """Return a batch with a step of padding more: where there are no steps, a convolution fails."""
    return ops.pad(inputs, [[0, 0], [0, 1], [0, 0]])


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class ConvolutionPooling(keras.layers.Layer):
    """Convolve over time, rectify, keep the largest value of each feature: (batch, time, features) to (batch, filters).

    For a window of k steps: c_t = ReLU(W x_{t:t+k-1} + b), and the output is max_t c_t. With ``padding="full"`` the max
    is over all windows with at least one real step, and zeros continue the row past both ends. With ``"valid"`` it is
    over windows of real steps only, and a sentence shorter than k is padded to k. An empty row gives zeros.

    Args:
        filters: Features per window size.
        kernel_sizes: Window sizes. Their features are concatenated.
        padding: ``full`` or ``valid``.
        **kwargs: Arguments of ``keras.layers.Layer``.

    Call arguments:
        inputs: (batch, time, features), right-padded.
        lengths: (batch,), the real steps of each row. None means those of ``mask``, else all steps.
        mask: (batch, time), right-padded.

    Returns:
        (batch, filters * number of sizes).

    Raises:
        ValueError: No size, a size below 1, an unknown padding, an input of another rank.

    Reference: Kim 2014, Eqs 2-4, arXiv:1408.5882.

    Example:
        >>> import numpy as np
        >>> ConvolutionPooling(4, (3, 4, 5))(np.ones((2, 6, 5), "float32"), lengths=np.array([6, 2])).shape
        TensorShape([2, 12])
    """

    def __init__(self, filters: int, kernel_sizes: Sequence[int] = (3,), *, padding: str = "full", **kwargs: Any):
        super().__init__(**kwargs)
        self.filters = checks.integer("filters", filters)
        self.kernel_sizes = tuple(checks.integer("kernel_sizes", size) for size in kernel_sizes)
        if not self.kernel_sizes:
            raise ValueError("kernel_sizes needs at least one window size; received none.")
        self.padding = checks.one_of("padding", padding, ("full", "valid"))
        self.convolutions = [
            keras.layers.Conv1D(
                filters, size, data_format="channels_last", dtype=self.dtype_policy, name=f"width_{size}"
            )
            for size in self.kernel_sizes
        ]
        self.supports_masking = True

    def build(self, inputs_shape: Shape) -> None:
        """Create the weights for inputs of shape (batch, time, features)."""
        features = checks.num_features(self, inputs_shape)
        for convolution in self.convolutions:
            convolution.build((None, None, features))
        hand_down_trainable(self)

    def call(self, inputs: Tensor, lengths: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """Convolve and pool. See the class for the arguments."""
        inputs, lengths = recurrence.real_inputs(inputs, lengths, mask, self.compute_dtype)
        inputs = _with_a_step(inputs)
        pooled = []
        for size, convolution in zip(self.kernel_sizes, self.convolutions, strict=True):
            before = size - 1 if self.padding == "full" else 0
            values = ops.relu(convolve(convolution, ops.pad(inputs, [[0, 0], [before, size - 1], [0, 0]])))
            windows = lengths + size - 1 if self.padding == "full" else ops.maximum(lengths - size + 1, 1)
            windows = ops.where(lengths > 0, windows, ops.zeros_like(windows))
            pooled.append(largest(values, windows))
        return ops.concatenate(pooled, axis=-1)

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> None:
        """Return None: no steps are left."""
        return None

    def compute_output_shape(self, inputs_shape: Shape, **_: object) -> Shape:
        """Return (batch, filters * number of sizes)."""
        return (inputs_shape[0], self.filters * len(self.kernel_sizes))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        return super().get_config() | arguments_of(self, "filters", "kernel_sizes", "padding")


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class MapConvolutionPooling(keras.layers.Layer):
    """Convolve over time and features as over an image, and max-pool each filter's map in blocks.

    With the states H (time, features) as an image with one channel, m = ReLU(conv2d(H) + b). The output is the largest
    value of every ``pool_size`` x ``pool_size`` block of m, concatenated.

    This requires images of one size, and the paper pads all sentences to one length. Here, steps past ``max_length``
    are ignored and shorter rows are continued with zeros, so the padded length of a batch does not matter. Filters stay
    within the features. In time they may reach past the end, where the states are zeros, but a place of m whose filter
    covers no real state is 0, even with a bias. An empty row gives zeros.

    Without a ``pool_size``, the output is each filter's largest value over the whole map, of any length. H is then
    padded with zeros on all sides.

    Args:
        filters: Number of filters.
        kernel_size: Height and width of a filter (k).
        pool_size: Height and width of a block (p), 2 in the paper. None pools over the whole map.
        max_length: Number of steps per row that are read. Only with ``pool_size``.
        **kwargs: Arguments of ``keras.layers.Layer``.

    Call arguments:
        inputs: (batch, time, features), right-padded.
        lengths: (batch,), the real steps of each row. None means those of ``mask``, else all steps.
        mask: (batch, time), right-padded.

    Returns:
        (batch, filters * floor((max_length - k + 1) / p) * floor((features - k + 1) / p)), flattened from (blocks in
        time, blocks in features, filters). Without a ``pool_size``, (batch, filters).

    Raises:
        ValueError: A number below 1, an input of another rank, or fewer steps or features than a block needs.

    Reference: Zhou et al. 2016, Eqs 7-10, arXiv:1611.06639.

    Example:
        >>> import numpy as np
        >>> states, lengths = np.ones((2, 6, 8), "float32"), np.array([6, 2])
        >>> MapConvolutionPooling(4, pool_size=2, max_length=12)(states, lengths=lengths).shape  # 4 x 5 x 3
        TensorShape([2, 60])
        >>> MapConvolutionPooling(4)(states, lengths=lengths).shape
        TensorShape([2, 4])
    """

    def __init__(
        self, filters: int, kernel_size: int = 3, *, pool_size: int | None = None, max_length: int = 64, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.filters = checks.integer("filters", filters)
        self.kernel_size = checks.integer("kernel_size", kernel_size)
        self.pool_size = None if pool_size is None else checks.integer("pool_size", pool_size)
        self.max_length = checks.integer("max_length", max_length)
        self.convolution = keras.layers.Conv2D(
            filters,
            kernel_size,
            padding="valid" if self.pool_size else "same",
            data_format="channels_last",
            dtype=self.dtype_policy,
            name="convolution",
        )
        self.supports_masking = True

    def build(self, inputs_shape: Shape) -> None:
        """Create the weights for inputs of shape (batch, time, features)."""
        features = checks.num_features(self, inputs_shape)
        self._blocks(features)
        self.convolution.build((None, None, features, 1))
        hand_down_trainable(self)

    def _blocks(self, features: int) -> tuple[int, int]:
        """Return the numbers of blocks of a map in time and in features."""
        if self.pool_size is None:
            return 1, 1
        minimum, counts = self.kernel_size + self.pool_size - 1, []
        for name, size in (("max_length", self.max_length), ("features", features)):
            if size < minimum:
                raise ValueError(
                    f"Blocks of pool_size={self.pool_size} after filters of kernel_size={self.kernel_size} need at "
                    f"least {minimum} steps and {minimum} features; received {name}={size}."
                )
            counts.append((size - self.kernel_size + 1) // self.pool_size)
        return counts[0], counts[1]

    def call(self, inputs: Tensor, lengths: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """Convolve and pool. See the class for the arguments."""
        inputs, lengths = recurrence.real_inputs(inputs, lengths, mask, self.compute_dtype)
        inputs = _with_a_step(inputs)
        real = recurrence.real_steps(lengths, ops.shape(inputs)[1])
        if self.pool_size is not None:
            return self._pool_blocks(inputs, real, self.pool_size)
        values = ops.max(ops.relu(convolve(self.convolution, inputs[..., None])), axis=2, initial=0)
        return ops.max(values * ops.cast(real, values.dtype), axis=1, initial=0)

    def _pool_blocks(self, inputs: Tensor, real: Tensor, size: int) -> Tensor:
        """Return the largest values of all blocks, computed only where the batch has steps."""
        in_time, in_features = self._blocks(inputs.shape[-1])
        inputs, real = inputs[:, : self.max_length], real[:, : self.max_length]
        # One place per step, then zeros to fill the last block. After a ReLU they do not change a maximum.
        values = ops.relu(
            convolve(self.convolution, ops.pad(inputs, [[0, 0], [0, self.kernel_size - 1], [0, 0]])[..., None])
        )
        values = values * ops.cast(real, values.dtype)[..., None]
        values = ops.pad(values, [[0, 0], [0, size - 1], [0, 0], [0, 0]])
        batch, blocks = ops.shape(values)[0], ops.shape(values)[1] // size
        # JAX slices by static numbers only, and always knows the time.
        blocks = min(blocks, in_time) if isinstance(blocks, int) else ops.minimum(blocks, in_time)
        # Not ops.max_pool: in an exported graph with gradients, such as explain's, oneDNN's kills the process.
        values = values[:, : blocks * size, : in_features * size]
        values = ops.reshape(values, (batch, blocks, size, in_features, size, self.filters))
        maxima = ops.max(values, axis=(2, 4), initial=0)
        missing = ops.zeros((batch, in_time - blocks, in_features, self.filters), maxima.dtype)
        return ops.reshape(ops.concatenate([maxima, missing], axis=1), (batch, in_time * in_features * self.filters))

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> None:
        """Return None: no steps are left."""
        return None

    def compute_output_shape(self, inputs_shape: Shape, **_: object) -> Shape:
        """Return (batch, filters times the number of blocks)."""
        in_time, in_features = self._blocks(checks.num_features(self, inputs_shape))
        return (inputs_shape[0], in_time * in_features * self.filters)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        return super().get_config() | arguments_of(self, "filters", "kernel_size", "pool_size", "max_length")
