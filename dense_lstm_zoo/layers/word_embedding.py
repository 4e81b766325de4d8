"""From ids to lengths and word vectors: the first layers of a model."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from dense_lstm_zoo import checks
from dense_lstm_zoo.layers import recurrence
from dense_lstm_zoo.layers.lookups import checked_ids
from dense_lstm_zoo.layers.recurrence.tensors import Shape, Tensor


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class SequenceLengths(keras.layers.Layer):
    """Count the real tokens of each row of right-padded ids: (batch, time) to (batch,). Id 0 is padding.

    Raises:
        ValueError: A row has padding before a real token. In ``fit``, ``evaluate`` and ``predict`` this is TensorFlow's
            ``InvalidArgumentError``. With ``jit_compile=True`` and in exports nothing is checked.

    Example:
        >>> import numpy as np
        >>> SequenceLengths()(np.array([[4, 7, 0], [0, 0, 0]])).numpy().tolist()
        [2, 0]
    """

    def call(self, inputs: Tensor) -> Tensor:
        """Count the ids that are not 0."""
        return recurrence.lengths_from_mask(ops.not_equal(inputs, 0))

    def compute_output_shape(self, inputs_shape: Shape) -> Shape:
        """Return (batch,)."""
        return inputs_shape[:1]

    def compute_output_spec(self, inputs: Tensor) -> Tensor:
        """Return the spec of the lengths: (batch,), int32."""
        return keras.KerasTensor((inputs.shape[0],), dtype="int32")


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class WordEmbedding(keras.layers.Layer):
    """Look up word vectors in a trained table followed by a frozen one.

    Ids below ``vocab_size - num_frozen_words`` are rows of the trained table. The others, words that no training text
    contains, are rows of the frozen one. A dense optimiser step over words that never get a gradient would be the
    largest cost of a small model.

    Args:
        vocab_size: Number of ids, padding (0) and unknown (1) included.
        embedding_dim: Length of a word vector (e).
        num_frozen_words: Number of last ids that are frozen.
        trainable: Whether the first table is trained.
        update_scale: How much further an Adam step moves a word vector than another weight, which gives word vectors
            their own learning rate. ``table`` holds the vectors divided by it. (With an optimiser such as SGD, whose
            steps grow with the gradient, vectors would move by its square.)
        **kwargs: Arguments of ``keras.layers.Layer``.

    Call arguments:
        inputs: Integer ids (batch, time).

    Returns:
        (batch, time, embedding_dim).

    Raises:
        ValueError: A size out of range, a matrix of another shape in ``set_matrix``, or an id outside the vocabulary in
            an eager call (within a graph on a CPU, TensorFlow's ``InvalidArgumentError``).

    Example:
        >>> import numpy as np
        >>> embedding = WordEmbedding(5, 2, num_frozen_words=2)
        >>> embedding.set_matrix(np.arange(10.0).reshape(5, 2))
        >>> embedding(np.array([[1, 4]])).numpy().tolist(), embedding.table.shape[0]
        ([[[2.0, 3.0], [8.0, 9.0]]], 3)
    """

    def __init__(
        self,
        vocab_size: int,
        embedding_dim: int,
        *,
        num_frozen_words: int = 0,
        trainable: bool = True,
        update_scale: float = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable=trainable, **kwargs)
        self.autocast = False  # half precision would round ids that are given as floats
        self.update_scale = checks.positive("update_scale", update_scale)
        self.vocab_size = checks.integer("vocab_size", vocab_size, minimum=2)
        self.embedding_dim = checks.integer("embedding_dim", embedding_dim)
        self.num_frozen_words = checks.integer("num_frozen_words", num_frozen_words, minimum=0)
        if num_frozen_words > vocab_size - 2:
            raise ValueError(
                f"num_frozen_words must leave padding and unknown trainable: at most vocab_size - 2 = "
                f"{vocab_size - 2}; received {num_frozen_words}."
            )
        self._make_tables()

    def _make_tables(self) -> None:
        """Create the weights at once: they do not depend on the input, and ``set_matrix`` fills them before a call."""
        num_trained = self.vocab_size - self.num_frozen_words
        limit = 0.05 / self.update_scale  # Keras uses 0.05 for embeddings
        initializer = keras.initializers.RandomUniform(-limit, limit)
        self.table = self.add_weight(name="table", shape=(num_trained, self.embedding_dim), initializer=initializer)
        self.frozen_table = None
        if self.num_frozen_words:
            shape = (self.num_frozen_words, self.embedding_dim)
            self.frozen_table = self.add_weight(
                name="frozen_table", shape=shape, initializer="uniform", trainable=False
            )
        self.built = True

    def set_matrix(self, matrix: np.ndarray) -> None:
        """Set every row from ``matrix`` (vocab_size, embedding_dim)."""
        matrix = np.asarray(matrix)
        if matrix.shape != (self.vocab_size, self.embedding_dim):
            raise ValueError(
                f"embedding_matrix must have shape (vocab_size, embedding_dim) = "
                f"{(self.vocab_size, self.embedding_dim)}; received {matrix.shape}."
            )
        self.table.assign(matrix[: self.table.shape[0]] / self.update_scale)
        if self.frozen_table is not None:
            self.frozen_table.assign(matrix[self.table.shape[0] :])

    def get_matrix(self) -> np.ndarray:
        """Return every row, (vocab_size, embedding_dim), as ``set_matrix`` takes them."""
        rows = [ops.convert_to_numpy(self.table).astype(np.float32) * np.float32(self.update_scale)]
        if self.frozen_table is not None:
            rows.append(ops.convert_to_numpy(self.frozen_table).astype(np.float32))
        return np.concatenate(rows)

    def call(self, inputs: Tensor) -> Tensor:
        """Look up ids."""
        inputs = checked_ids(self, inputs, self.vocab_size)
        num_trained = self.table.shape[0]
        trained = ops.take(
            self.table, ops.minimum(inputs, num_trained - 1) if self.num_frozen_words else inputs, axis=0
        )
        if self.update_scale != 1:
            trained = trained * self.update_scale
        if self.frozen_table is not None:
            frozen = ops.take(self.frozen_table, ops.maximum(inputs - num_trained, 0), axis=0)
            trained = ops.where((inputs < num_trained)[..., None], trained, frozen)
        return ops.cast(trained, self.compute_dtype)

    def compute_output_shape(self, inputs_shape: Shape) -> Shape:
        """Return (batch, time, embedding_dim)."""
        return (*inputs_shape, self.embedding_dim)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        return {
            **super().get_config(),
            "vocab_size": self.vocab_size,
            "embedding_dim": self.embedding_dim,
            "num_frozen_words": self.num_frozen_words,
            "update_scale": self.update_scale,
        }
