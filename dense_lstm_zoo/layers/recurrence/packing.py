"""The real steps of a batch, for what is computed for each word by itself.

On TensorFlow the real steps stand one below the other, so that padding costs nothing. XLA compiles this too: it knows
the largest size that the packed rows may have. JAX's shapes must be known, and there, as on PyTorch, padding stays.
"""

from __future__ import annotations

import keras
from keras import ops

from dense_lstm_zoo.layers.recurrence.lengths import real_steps
from dense_lstm_zoo.layers.recurrence.tensors import Tensor


def real_words(lengths: Tensor, num_steps: int | Tensor) -> Words:
    """Return the real steps of a batch with ``num_steps`` steps: the first ``lengths[b]`` of row b."""
    kind = PackedWords if keras.config.backend() == "tensorflow" else Words
    return kind(real_steps(lengths, num_steps))


def padded_words(lengths: Tensor, num_steps: int | Tensor) -> Words:
    """Return the same with the padding between, for what is computed of a sentence's words together."""
    return Words(real_steps(lengths, num_steps))


class Words:
    """The steps where a mask [B, T, 1] is true, at their places between padding."""

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def pack(self, x: Tensor) -> Tensor:
        """Return [B, T, n] with zeros as padding."""
        return ops.where(self.mask, x, ops.zeros_like(x))

    def unpack(self, x: Tensor) -> Tensor:
        """Return [B, T, n], with zeros as padding, of what was computed for packed words."""
        return self.pack(x)

    def total(self, x: Tensor) -> Tensor:
        """Return the sum [B, n] of packed words over each row's real steps."""
        return ops.sum(self.unpack(x), axis=1)


class PackedWords(Words):
    """The same as rows [N, n], N being the number of real steps."""

    def __init__(self, mask: Tensor) -> None:
        super().__init__(mask)
        import tensorflow as tf

        self._places = tf.where(mask[..., 0])

    def pack(self, x: Tensor) -> Tensor:
        """Return [N, n] of [B, T, n]."""
        import tensorflow as tf

        return tf.gather_nd(x, self._places)

    def unpack(self, x: Tensor) -> Tensor:
        """Return [B, T, n], with zeros as padding, of [N, n]."""
        import tensorflow as tf

        batch, steps, _ = tf.unstack(tf.shape(self.mask, "int64"))
        return tf.scatter_nd(self._places, x, tf.stack([batch, steps, x.shape[-1]]))

    def total(self, x: Tensor) -> Tensor:
        """Return the sum [B, n] of rows [N, n] over each row's real steps."""
        import tensorflow as tf

        return tf.math.unsorted_segment_sum(x, self._places[:, 0], tf.shape(self.mask)[0])
