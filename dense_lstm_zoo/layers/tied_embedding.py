"""Word vectors that also score words, and the bias of the scores, for both ends of a language model."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from dense_lstm_zoo import checks
from dense_lstm_zoo.layers import recurrence
from dense_lstm_zoo.layers.dropout import drop
from dense_lstm_zoo.layers.initializers import InitializerLike, find_initializer
from dense_lstm_zoo.layers.lookups import checked_ids, look_up
from dense_lstm_zoo.layers.recurrence.tensors import Shape, Tensor
from dense_lstm_zoo.layers.saving import arguments_of


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class TiedEmbedding(keras.layers.Embedding):
    """Look up word vectors or, in reverse, score every word by its vector (Press & Wolf 2017).

    e = E[w], and in reverse s = E x, with the same table E (also Inan et al. 2017). Training drops whole words: a
    dropped word is a vector of zeros wherever the call's ids contain it, in every row, and the others are divided by
    1 - rate (Gal & Ghahramani 2016). Scores are not affected by dropout.

    Args:
        input_dim: Number of words V.
        output_dim: Length of a word vector e.
        dropout: Rate of dropped words.
        sparse_gradient: Whether the gradient of a lookup has only the rows of its words, each once, as a
            ``tf.IndexedSlices``. Otherwise it is a whole table. Rows suit ``FusedSGD`` and large vocabularies. With
            LoRA (``enable_lora``) the table is not trained, and its two factors have whole gradients.
        seed: Seed for the masks.
        **kwargs: Arguments of ``keras.layers.Embedding``.

    Call arguments:
        inputs: Integer ids (batch, time), or in reverse (batch, time, output_dim).
        reverse: Whether to score words.
        training: Whether to apply dropout.

    Returns:
        Word vectors (batch, time, output_dim), or in reverse scores (batch, time, input_dim).

    Raises:
        ValueError: A rate out of range.

    Example:
        >>> import numpy as np
        >>> embedding = TiedEmbedding(7, 3)
        >>> vectors = embedding(np.array([[1, 4]]))
        >>> vectors.shape, embedding(vectors, reverse=True).shape, len(embedding.weights)
        (TensorShape([1, 2, 3]), TensorShape([1, 2, 7]), 1)
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        *,
        dropout: float = 0.0,
        sparse_gradient: bool = False,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.dropout = checks.fraction("dropout", dropout)
        self.sparse_gradient = sparse_gradient
        self.seed = seed
        # A generator draws its seed from the global one. An unused one would change the seeds of all other layers.
        self.seed_generator = keras.random.SeedGenerator(seed) if self.dropout else None

    def add_weight(self, *args: Any, **kwargs: Any) -> keras.Variable:
        """Create a weight that Keras does not cast: it would cast the whole table to look up some of its rows."""
        return super().add_weight(*args, **kwargs, autocast=False)

    def set_matrix(self, matrix: np.ndarray) -> None:
        """Set every row from ``matrix`` (input_dim, output_dim), before ``enable_lora``, which adds to the rows."""
        if self.lora_enabled:
            raise ValueError(f"{self.name} adds LoRA's product to its table: call set_matrix before enable_lora.")
        matrix = np.asarray(matrix)
        if not self.built:
            self.build()
        if matrix.shape != (self.input_dim, self.output_dim):
            raise ValueError(
                f"embedding_matrix must have shape (vocab_size, embedding_dim) = {(self.input_dim, self.output_dim)}; "
                f"received {matrix.shape}."
            )
        self.embeddings.assign(matrix)

    def call(self, inputs: Tensor, reverse: bool = False, training: bool | None = None) -> Tensor:
        """Look up ids, or score words."""
        table = self.embeddings
        if reverse:
            return ops.matmul(inputs, ops.transpose(ops.cast(table, self.compute_dtype)))
        ids = checked_ids(self, inputs, self.input_dim)
        if self.sparse_gradient and not self.lora_enabled:
            vectors = look_up(table, ids, training=bool(training))
        else:
            # TensorFlow's gradient of a variable's rows lists each occurrence of a word; see ``look_up``. Through a
            # reshape it is a table, in which they add up.
            vectors = ops.take(ops.reshape(table, table.shape), ids, axis=0)
        vectors = ops.cast(vectors, self.compute_dtype)
        if not (training and self.dropout):
            return vectors
        words = drop(ops.ones((self.input_dim, 1), self.compute_dtype), self.dropout, self.seed_generator)
        return vectors * ops.take(words, ids, axis=0)

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor | None:
        """Return the mask of ids (with ``mask_zero``). Vectors, which are read in reverse, pass theirs on."""
        is_reverse = len(inputs.shape) == 3 and inputs.shape[2] == self.output_dim and _is_float(inputs)
        return mask if is_reverse else super().compute_mask(inputs, mask)

    def compute_output_shape(self, inputs_shape: Shape, reverse: bool = False, **_: object) -> Shape:
        """Return the shape of the vectors, or of the scores."""
        return (*inputs_shape[:-1], self.input_dim) if reverse else (*inputs_shape, self.output_dim)

    def compute_output_spec(self, inputs: Tensor, reverse: bool = False, **_: object) -> Tensor:
        """Return the spec of the vectors, or of the scores."""
        return keras.KerasTensor(self.compute_output_shape(inputs.shape, reverse), self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        return super().get_config() | arguments_of(self, "dropout", "sparse_gradient", "seed")


def _is_float(x: Tensor) -> bool:
    return bool(keras.backend.is_float_dtype(keras.backend.standardize_dtype(x.dtype)))


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class Bias(keras.layers.Layer):
    """Add a weight [features] to (..., features).

    Args:
        bias_initializer: Its initialiser.
        **kwargs: Arguments of ``keras.layers.Layer``.

    Example:
        >>> import numpy as np
        >>> Bias("ones")(np.zeros((1, 3), "float32")).numpy().tolist()
        [[1.0, 1.0, 1.0]]
    """

    def __init__(self, bias_initializer: InitializerLike = "zeros", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.bias_initializer = find_initializer(bias_initializer)
        self.supports_masking = True

    def build(self, inputs_shape: Shape) -> None:
        """Create the weight for inputs of shape (..., features)."""
        self.bias = self.add_weight(name="bias", shape=(inputs_shape[-1],), initializer=self.bias_initializer)

    def call(self, inputs: Tensor) -> Tensor:
        """Add the weight."""
        return recurrence.floats(inputs, self.compute_dtype) + self.bias

    def compute_output_shape(self, inputs_shape: Shape) -> Shape:
        """Return the inputs' shape."""
        return inputs_shape

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        return super().get_config() | arguments_of(self, "bias_initializer")
