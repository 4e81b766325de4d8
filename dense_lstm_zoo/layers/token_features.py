"""Features of a token: the words around it, its characters, its capitalisation (Wu et al. 2016, Xie et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from dense_lstm_zoo import checks
from dense_lstm_zoo.layers import recurrence
from dense_lstm_zoo.layers.convolution import largest
from dense_lstm_zoo.layers.dropout import drop
from dense_lstm_zoo.layers.initializers import scaled_normal
from dense_lstm_zoo.layers.lookups import checked_ids
from dense_lstm_zoo.layers.recurrence.tensors import Shape, Tensor, known_values
from dense_lstm_zoo.layers.saving import arguments_of, hand_down_trainable


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class GatedContextWindow(keras.layers.Layer):
    """The concatenated word vectors around each word, each scaled by its own logistic gate.

    With W_t = [w_{t-1}; w_t; w_{t+1}] for a window of 3: r_t = sigmoid(R W_t + b) in R^3, and the output is
    [r_{t,1} w_{t-1}; r_{t,2} w_t; r_{t,3} w_{t+1}]. Past both ends of a sentence, a trained boundary vector is used.
    R starts from N(0, 0.1 / sqrt(fan_in)), like all input kernels of the paper.

    Args:
        size: Words in the window, odd.
        gated: Whether there are gates. Otherwise the vectors are used unchanged.
        dropout: Dropout rate of whole words of a window, independently per window.
        seed: Seed for the dropout masks.
        **kwargs: Arguments of ``keras.layers.Layer``.

    Call arguments:
        inputs: Word vectors (batch, time, features), right-padded.
        lengths: (batch,), the real steps of each row. None means those of ``mask``, else all steps.
        mask: (batch, time), right-padded.
        training: Whether to apply dropout.

    Returns:
        (batch, time, size * features), zeros past the length.

    Raises:
        ValueError: A size that is even or below 1, a rate out of range.

    Reference: Wu et al. 2016, section 4.1.

    Example:
        >>> import numpy as np
        >>> GatedContextWindow(3)(np.ones((2, 4, 5), "float32"), lengths=np.array([4, 2])).shape
        TensorShape([2, 4, 15])
    """

    def __init__(
        self, size: int = 3, *, gated: bool = True, dropout: float = 0.0, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.size = checks.integer("size", size)
        if size % 2 == 0:
            raise ValueError(f"size must be odd, with the word itself in the middle; received {size}.")
        self.gated = gated
        self.dropout = checks.fraction("dropout", dropout)
        self.seed, self.seed_generator = seed, keras.random.SeedGenerator(seed)
        self.supports_masking = True

    def build(self, inputs_shape: Shape) -> None:
        """Create the weights for inputs of shape (batch, time, features)."""
        features = checks.num_features(self, inputs_shape)
        self.boundary = None
        if self.size > 1:
            self.boundary = self.add_weight(name="boundary", shape=(features,), initializer="uniform")
        if self.gated:
            shape = (self.size * features, self.size)
            self.gate_kernel = self.add_weight(name="gate_kernel", shape=shape, initializer=scaled_normal())
            self.gate_bias = self.add_weight(name="gate_bias", shape=(self.size,), initializer="zeros")

    def call(
        self, inputs: Tensor, lengths: Tensor | None = None, mask: Tensor | None = None, training: bool | None = None
    ) -> Tensor:
        """Gather the window of every word. See the class for the arguments."""
        inputs = recurrence.floats(inputs, self.compute_dtype)
        lengths = recurrence.resolve_lengths(inputs, lengths, mask)
        batch, time, features = ops.shape(inputs)
        real = recurrence.real_steps(lengths, time)
        boundary = ops.zeros((), inputs.dtype) if self.boundary is None else ops.cast(self.boundary, inputs.dtype)
        around = ops.where(real, inputs, boundary)  # padding may hold NaN
        if self.boundary is not None:
            ends = ops.broadcast_to(boundary, (batch, self.size // 2, features))
            around = ops.concatenate([ends, around, ends], axis=1)
        # ops.slice, since the gradient of around[:, i : i + time] is copied element by element.
        window = ops.stack([ops.slice(around, (0, i, 0), (batch, time, features)) for i in range(self.size)], axis=2)
        flat = ops.reshape(window, (batch, time, self.size * features))
        if self.gated:
            gates = ops.sigmoid(ops.matmul(flat, self.gate_kernel) + self.gate_bias)
            window = window * gates[..., None]
        window = drop(window, self.dropout if training else 0.0, self.seed_generator, shared_axis=3)
        return ops.where(real, ops.reshape(window, (batch, time, self.size * features)), 0.0)

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor | None:
        """Pass the mask on."""
        return mask

    def compute_output_shape(self, inputs_shape: Shape, **_: object) -> Shape:
        """Return (batch, time, size * features)."""
        return (*inputs_shape[:2], self.size * checks.num_features(self, inputs_shape))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        return super().get_config() | arguments_of(self, "size", "gated", "dropout", "seed")


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class AffixEmbedding(keras.layers.Layer):
    """The concatenated vectors of the first and the last characters of a word.

    Args:
        num_chars: Number of character ids, of which 0 is padding.
        char_dim: Length of a character vector.
        **kwargs: Arguments of ``keras.layers.Layer``.

    Call arguments:
        inputs: Character ids (batch, time, characters): a prefix padded on its right and a suffix padded on its left,
            such as 5 + 5.

    Returns:
        (batch, time, characters * char_dim).

    Reference: Wu et al. 2016, section 4.1.

    Example:
        >>> import numpy as np
        >>> AffixEmbedding(30, 5)(np.ones((2, 4, 10), "int32")).shape
        TensorShape([2, 4, 50])
    """

    def __init__(self, num_chars: int, char_dim: int = 5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.autocast = False  # half precision would round ids that are given as floats
        self.num_chars, self.char_dim = checks.integer("num_chars", num_chars), checks.integer("char_dim", char_dim)
        self.table = self.add_weight(name="table", shape=(num_chars, char_dim), initializer="uniform")
        self.built = True

    def call(self, inputs: Tensor) -> Tensor:
        """Look up characters."""
        vectors = ops.take(self.table, checked_ids(self, inputs, self.num_chars), axis=0)
        vectors = ops.cast(vectors, self.compute_dtype)
        batch, time = ops.shape(inputs)[:2]
        return ops.reshape(vectors, (batch, time, inputs.shape[2] * self.char_dim))

    def compute_output_shape(self, inputs_shape: Shape) -> Shape:
        """Return (batch, time, characters * char_dim)."""
        return (*inputs_shape[:2], checks.num_features(self, inputs_shape) * self.char_dim)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        return super().get_config() | arguments_of(self, "num_chars", "char_dim")


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class CharacterCNN(keras.layers.Layer):
    """A word vector from characters: convolutions over them, ReLU, and max pooling over the word.

    Args:
        num_chars: Number of character ids, of which 0 is padding.
        char_dim: Length of a character vector.
        filters: Number of features of the result.
        kernel_sizes: Widths of the convolutions. Several widths are concatenated and share ``filters`` as evenly as
            possible: 17, 17 and 16 of 50.
        num_layers: Number of convolutions in sequence, with equal widths and filters, before the max pooling.
        **kwargs: Arguments of ``keras.layers.Layer``.

    Call arguments:
        inputs: Character ids (batch, time, characters), right-padded with 0. Words that are too short for the
            convolutions are padded with zeros to the shortest possible length.

    Returns:
        (batch, time, filters). Padding after a word's characters has no effect.

    Raises:
        ValueError: A number below 1, no width, or fewer ``filters`` than ``kernel_sizes``, or a word with padding
            before a character, which in a graph is ``InvalidArgumentError`` (see ``recurrence/padding.py``).

    Reference: Xie et al. 2019, sections 3.1 ("multi-filters") and 4.2 ("1D convolution of 2-layer").

    Example:
        >>> import numpy as np
        >>> CharacterCNN(30)(np.ones((2, 4, 7), "int32")).shape
        TensorShape([2, 4, 50])
    """

    def __init__(
        self,
        num_chars: int,
        char_dim: int = 50,
        filters: int = 50,
        *,
        kernel_sizes: Sequence[int] = (5,),
        num_layers: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.autocast = False  # half precision would round ids that are given as floats
        self.num_chars, self.char_dim = checks.integer("num_chars", num_chars), checks.integer("char_dim", char_dim)
        self.filters, self.num_layers = checks.integer("filters", filters), checks.integer("num_layers", num_layers)
        self.kernel_sizes = tuple(checks.integer("kernel_sizes", size) for size in kernel_sizes)
        if not 1 <= len(self.kernel_sizes) <= self.filters:
            raise ValueError(
                f"kernel_sizes needs at least one width and at most filters={filters} widths; received "
                f"{self.kernel_sizes}."
            )
        self.table = self.add_weight(name="table", shape=(num_chars, char_dim), initializer="uniform")
        self.convolutions = []  # the layers of the first width, then those of the next widths
        even, more = divmod(filters, len(self.kernel_sizes))
        for number, size in enumerate(self.kernel_sizes):
            width = char_dim
            for layer in range(1, self.num_layers + 1):
                name = f"width_{size}" if layer == 1 else f"width_{size}_layer_{layer}"
                convolution = keras.layers.Conv1D(
                    even + (number < more), size, data_format="channels_last", dtype=self.dtype_policy, name=name
                )
                with keras.name_scope(self.name, caller=self):  # no other layer's weights have the same path
                    convolution.build((None, None, width))
                self.convolutions.append(convolution)
                width = convolution.filters
        self.built = True
        hand_down_trainable(self)

    def call(self, inputs: Tensor) -> Tensor:
        """Convolve the characters of every word. See the class for the arguments."""
        ids = checked_ids(self, inputs, self.num_chars)
        batch, time, width = ops.shape(ids)
        ids = ops.pad(ops.reshape(ids, (batch * time, width)), [[0, 1], [0, 0]])  # even an empty batch has one word
        # A batch has few distinct words, padding included: each is read once, up to the length of the longest. Only
        # the programs of JAX, in which no values decide shapes, read all words in full.
        distinct = keras.config.backend() != "jax" or known_values(ids) is not None
        if distinct:
            ids, places = ops.unique(ids, sorted=False, return_inverse=True, axis=0)
        else:
            places = ops.arange(batch * time + 1, dtype="int32")
        lengths = recurrence.lengths_from_mask(ops.not_equal(ids, 0))
        longest = ops.maximum(ops.max(lengths), 1) if distinct else width
        ids = ops.pad(ids[:, :longest], [[0, 0], [0, self.num_layers * (max(self.kernel_sizes) - 1)]])
        is_char = ops.not_equal(ids, 0)
        vectors = ops.cast(ops.take(self.table, ids, axis=0), self.compute_dtype)
        vectors = vectors * ops.cast(is_char, self.compute_dtype)[..., None]
        pooled = []
        for number, size in enumerate(self.kernel_sizes):
            values = vectors
            for convolution in self.convolutions[number * self.num_layers : (number + 1) * self.num_layers]:
                values = ops.relu(convolution(values))
            # A layer reduces a word of n characters to n - size + 1 places. The last layer leaves at least one.
            pooled.append(largest(values, ops.maximum(lengths - self.num_layers * (size - 1), 1)))
        words = ops.take(ops.concatenate(pooled, axis=-1), places[:-1], axis=0)
        return ops.reshape(words, (batch, time, self.filters))

    def compute_output_shape(self, inputs_shape: Shape) -> Shape:
        """Return (batch, time, filters)."""
        return (*inputs_shape[:2], self.filters)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        names = (
            "num_chars",
            "char_dim",
            "filters",
            "kernel_sizes",
            "num_layers",
        )
        return super().get_config() | arguments_of(self, *names)
