"""A training step's losses and gradients on a window, without a tape over the softmax."""

from __future__ import annotations

from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from dense_lstm_zoo.language import full_softmax, sampled_softmax
from dense_lstm_zoo.language.full_softmax import Gradient, Gradients
from dense_lstm_zoo.language.sampled_softmax import WordSampler
from dense_lstm_zoo.layers import WordScores


class WindowStep:
    """The softmax of a language model's network, and the network below it.

    Args:
        core: A language model's network, as ``language_model`` makes it: its last layers are ``softmax``, or the word
            vectors with or without a ``projection``, and a bias, ``logits``.
        num_samples: Number of words that a window's softmax samples. None, or at least all words, means all.
        order: The ids of all words, the most frequent first. By default, ids are ranks.

    Raises:
        KeyError: The network has no such layers.
    """

    def __init__(self, core: keras.Model, num_samples: int | None = None, order: np.ndarray | None = None) -> None:
        by_name = {layer.name: layer for layer in core.layers}
        self.bias: keras.Variable = by_name["logits"].bias
        if "softmax" in by_name:
            layer = by_name["softmax"]
            features, self.kernel, self.by_word = layer.input, layer.kernel, isinstance(layer, WordScores)
        else:
            below = by_name.get("projection", by_name["stack"])
            features = below.output if below.name == "projection" else below.output[0]
            self.kernel, self.by_word = by_name["embedding"].embeddings, True
        self.below = keras.Model(core.inputs, [features, *core.outputs[1:]])
        words = self.bias.shape[0]
        sampled = num_samples is not None and num_samples < words and self.by_word
        self.sampler = WordSampler(words, num_samples, order) if sampled and num_samples is not None else None

    def differentiate(
        self,
        run: Callable[[keras.Model], tf.Tensor],
        targets: tf.Tensor,
        scale: tf.Tensor,
        variables: list[keras.Variable],
        seed: keras.random.SeedGenerator | None,
    ) -> tuple[tf.Tensor, list[Gradient | None]]:
        """Return the loss of every target (batch, time), and the gradients of their sum times ``scale``.

        Args:
            run: Runs the network below the softmax on the window, (batch, time, features).
            targets: int32 (batch, time). -1 does not count.
            scale: A scalar.
            variables: What to differentiate by.
            seed: Where samples come from.
        """
        with tf.GradientTape() as tape:
            features = run(self.below)
        rows = tf.reshape(tf.stop_gradient(features), [-1, features.shape[-1]])
        result = self._softmax(rows, tf.reshape(targets, [-1]), scale, seed)
        upstream = tf.reshape(result.features, tf.shape(features))
        below = tape.gradient(features, [v.value for v in variables], output_gradients=upstream)
        own = {id(self.kernel): result.kernel, id(self.bias): result.bias}
        gradients = [_sum(gradient, own.get(id(v))) for gradient, v in zip(below, variables, strict=True)]
        return tf.reshape(result.losses, tf.shape(targets)), gradients

    def _softmax(
        self, features: tf.Tensor, targets: tf.Tensor, scale: tf.Tensor, seed: keras.random.SeedGenerator | None
    ) -> Gradients:
        kernel, bias = self.kernel.value, self.bias.value
        if self.sampler is None:
            return full_softmax.differentiate(features, kernel, bias, targets, scale, by_word=self.by_word)
        ids = self.sampler.draw(keras.random.uniform((self.sampler.num_samples,), seed=seed))
        log_counts = self.sampler.log_counts(ids, bias.dtype)
        return sampled_softmax.differentiate(features, kernel, bias, targets, scale, ids, log_counts)


def _sum(first: Gradient | None, other: Gradient | None) -> Gradient | None:
    """Return the sum of two gradients of a weight, each of which may be None, or rows. Rows come once each."""
    gradients = [g for g in (first, other) if g is not None]
    rows = [g for g in gradients if isinstance(g, tf.IndexedSlices)]
    tables = [g for g in gradients if not isinstance(g, tf.IndexedSlices)]
    if rows and not tables:
        return sampled_softmax.add_up(*rows)
    if not gradients:
        return None
    dtype = tf.float64 if any(g.dtype == tf.float64 for g in tables) else tf.float32
    table = tf.add_n([tf.cast(g, dtype) for g in tables])
    for g in rows:
        table = tf.tensor_scatter_nd_add(table, g.indices[:, None], tf.cast(g.values, table.dtype))
    return table
