"""Convolutions over the words of a sentence, each feature's largest value kept (Kim 2014; Zhou et al. 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from dense_lstm_zoo import checks
from dense_lstm_zoo.layers import recurrence


def convolve(convolution: keras.layers.Layer, inputs: Any) -> Any:
    """Return the convolution of a batch that may be empty: TensorFlow would give that the input's features."""
    batch = ops.shape(inputs)[0]
    if isinstance(batch, int) and batch:
        return convolution(inputs)
    one = ops.zeros((ops.maximum(1 - batch, 0), *ops.shape(inputs)[1:]), inputs.dtype)
    return convolution(ops.concatenate([inputs, one], axis=0))[:batch]


def largest(values: Any, counts: Any) -> Any:
    """Return the largest of each row's first ``counts`` values: (batch, places, features) to (batch, features).

    After a ReLU nothing is below 0, which stands for the places that do not count.
    """
    real = ops.arange(ops.shape(values)[1])[None, :] < counts[:, None]
    return ops.max(values * ops.cast(real, values.dtype)[..., None], axis=1)


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class ConvolutionPooling(keras.layers.Layer):
    """Convolve over time, rectify, keep the largest value of each feature: (batch, time, features) to (batch, filters).

    For a window of k steps: c_t = ReLU(W x_{t:t+k-1} + b) and the output is max_t c_t, over all windows that hold at
    least one real step (``padding="full"``, zeros standing past both ends), or over those of real steps alone
    (``"valid"``; a sentence shorter than k is padded to it). An empty row gives zeros.

    Args:
        filters: Features of a window size.
        kernel_sizes: Window sizes; their features stand side by side.
        padding: ``full`` or ``valid``.
        **kwargs: Arguments of ``keras.layers.Layer``.

    Call arguments:
        inputs: (batch, time, features), right-padded.
        lengths: (batch,), the real steps of each row. None: from ``mask``, else all of them.
        mask: (batch, time), right-padded.

    Returns:
        (batch, filters * number of sizes).

    Raises:
        ValueError: No size, one below 1, an unknown padding, an input of another rank.

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
            raise ValueError("kernel_sizes must name at least one window size; received none.")
        self.padding = checks.one_of("padding", padding, ("full", "valid"))
        self.convolutions = [
            keras.layers.Conv1D(filters, size, dtype=self.dtype_policy, name=f"width_{size}")
            for size in self.kernel_sizes
        ]
        self.supports_masking = True

    def build(self, inputs_shape: tuple[int | None, ...]) -> None:
        """Create the weights for inputs of shape (batch, time, features)."""
        features = checks.num_features(self, inputs_shape)
        for convolution in self.convolutions:
            convolution.build((None, None, features))

    def call(self, inputs: Any, lengths: Any = None, mask: Any = None) -> Any:
        """Convolve and pool; see the class for the arguments."""
        lengths = recurrence.resolve_lengths(inputs, lengths, mask)
        real = ops.transpose(recurrence.sequence_mask(lengths, ops.shape(inputs)[1]), (1, 0, 2))
        inputs = ops.where(real, inputs, ops.zeros_like(inputs))
        found = []
        for size, convolution in zip(self.kernel_sizes, self.convolutions, strict=True):
            before = size - 1 if self.padding == "full" else 0
            values = ops.relu(convolve(convolution, ops.pad(inputs, [[0, 0], [before, size - 1], [0, 0]])))
            windows = lengths + size - 1 if self.padding == "full" else ops.maximum(lengths - size + 1, 1)
            windows = ops.where(lengths > 0, windows, ops.zeros_like(windows))
            found.append(largest(values, windows))
        return ops.concatenate(found, axis=-1)

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        """Return None: no steps are left."""
        return None

    def compute_output_shape(self, inputs_shape: tuple[int | None, ...], **_: Any) -> Any:
        """Return (batch, filters * number of sizes)."""
        return (inputs_shape[0], self.filters * len(self.kernel_sizes))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        names = ("filters", "kernel_sizes", "padding")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class MapConvolutionPooling(keras.layers.Layer):
    """Convolve over time and features as over a picture, and keep each filter's largest value over the whole map.

    With the states H (time, features) as a picture of one channel: m = ReLU(conv2d(H) + b), zeros standing past all
    edges; the output is the largest value of each filter, over the places of real steps. An empty row gives zeros.
    Zhou et al. pool 2 x 2 blocks of sentences padded to one length; over the whole map any length works.

    Args:
        filters: Number of filters.
        kernel_size: Their height and width.
        **kwargs: Arguments of ``keras.layers.Layer``.

    Call arguments:
        inputs: (batch, time, features), right-padded.
        lengths: (batch,), the real steps of each row. None: from ``mask``, else all of them.
        mask: (batch, time), right-padded.

    Returns:
        (batch, filters).

    Raises:
        ValueError: A number below 1, an input of another rank.

    Reference: Zhou et al. 2016, Eqs 7-10, arXiv:1611.06639.

    Example:
        >>> import numpy as np
        >>> MapConvolutionPooling(4)(np.ones((2, 6, 5), "float32"), lengths=np.array([6, 2])).shape
        TensorShape([2, 4])
    """

    def __init__(self, filters: int, kernel_size: int = 3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.filters = checks.integer("filters", filters)
        self.kernel_size = checks.integer("kernel_size", kernel_size)
        self.convolution = keras.layers.Conv2D(
            filters, kernel_size, padding="same", dtype=self.dtype_policy, name="convolution"
        )
        self.supports_masking = True

    def build(self, inputs_shape: tuple[int | None, ...]) -> None:
        """Create the weights for inputs of shape (batch, time, features)."""
        self.convolution.build((None, None, checks.num_features(self, inputs_shape), 1))

    def call(self, inputs: Any, lengths: Any = None, mask: Any = None) -> Any:
        """Convolve and pool; see the class for the arguments."""
        lengths = recurrence.resolve_lengths(inputs, lengths, mask)
        real = ops.transpose(recurrence.sequence_mask(lengths, ops.shape(inputs)[1]), (1, 0, 2))
        inputs = ops.where(real, inputs, ops.zeros_like(inputs))
        values = ops.max(ops.relu(convolve(self.convolution, inputs[..., None])), axis=2)
        return ops.max(values * ops.cast(real, values.dtype), axis=1)

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        """Return None: no steps are left."""
        return None

    def compute_output_shape(self, inputs_shape: tuple[int | None, ...], **_: Any) -> Any:
        """Return (batch, filters)."""
        return (inputs_shape[0], self.filters)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        return {**super().get_config(), "filters": self.filters, "kernel_size": self.kernel_size}
