"""Looking inside a classifier: which words influenced it, and which its pooling attended to, layer by layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import keras
import numpy as np
import tensorflow as tf

from dense_lstm_zoo.data.batching import Ids
from dense_lstm_zoo.display import notebook
from dense_lstm_zoo.layers import DynamicInteractionPooling, DynamicSelfAttention


@dataclass(frozen=True, eq=False)
class Explanation:
    """Word-level contributions to one prediction.

    Args:
        text: The text.
        label: The label that is explained: the likeliest one, or the one that was named.
        probability: The label's probability.
        tokens: The words that the model read, (tokens).
        saliency: Gradient times input, (tokens): how much the label's logit rises with a word's vector, to first order.
            Below 0 the word counts against the label.
        layers: Names of the columns of ``shares``. Empty if the pooling has no shares.
        shares: The pooling's c of Algorithm 1 (Xie et al. 2019), or the shares of self-attention, (tokens, layers), and
            each column sums to 1.
    """

    text: str
    label: str
    probability: float
    tokens: list[str]
    saliency: np.ndarray
    layers: list[str]
    shares: np.ndarray

    def _repr_html_(self) -> str:
        return notebook.explanation(self)


def share_names(model: keras.Model) -> list[str]:
    """Return the names of the columns of shares: the layers below the top, or heads, or empty for other poolings."""
    pooling = model.get_layer("pooling")
    if isinstance(pooling, DynamicInteractionPooling):
        return [f"layer {j}" for j in range(1, len(pooling.lower_widths) + 1)]
    if isinstance(pooling, DynamicSelfAttention):
        return [f"head {j}" for j in range(1, pooling.num_heads + 1)]
    return []


def explainer(model: keras.Model) -> Callable[..., dict[str, tf.Tensor]]:
    """Return a graph function from the model's inputs to ``logits``, ``saliency`` and ``shares``.

    The saliency is that of the likeliest label, or of the one at the place that is a second argument, unless it is -1.

    ``saliency`` is (batch, time). ``shares`` is (batch, time, columns), with no columns where the pooling has none.
    Both are zero at padding. A word's saliency covers all its inputs: its vector and its characters.
    """
    channels = {layer.name: layer for layer in model.layers}
    vectors_of = channels.get("channels", channels["embedding"]).output
    embed = keras.Model(model.inputs, vectors_of)
    pooling = model.get_layer("pooling")
    origins = [tensor._keras_history for tensor in model.inputs]
    # After the logits come the pooling's inputs: states, then lengths.
    classify = keras.Model([*model.inputs, vectors_of], [model.outputs[0], *pooling.input])
    for tensor, origin in zip(model.inputs, origins, strict=True):
        tensor._keras_history = origin  # Keras moved it to the copy of the graph, and could not save the model any more

    def shares(states: list[tf.Tensor], lengths: tf.Tensor, batch_and_time: tf.Tensor) -> tf.Tensor:
        if isinstance(pooling, DynamicInteractionPooling):
            return pooling(states, lengths=lengths, return_routing=True)[1]["c"]
        if isinstance(pooling, DynamicSelfAttention):
            return pooling(states[0], lengths=lengths, return_attention=True)[1]
        return tf.zeros((*tf.unstack(batch_and_time), 0))

    def explain(inputs: Ids, place: tf.Tensor | None = None) -> dict[str, tf.Tensor]:
        ids = keras.tree.flatten(inputs)
        token_ids = inputs["token_ids"] if isinstance(inputs, dict) else inputs
        vectors = embed(ids, training=False)
        with tf.GradientTape() as tape:
            tape.watch(vectors)
            logits, *states, lengths = classify([*ids, vectors], training=False)
            if place is None:
                best = tf.reduce_max(logits, axis=1)
            else:
                places = tf.where(place < 0, tf.argmax(logits, axis=1, output_type=tf.int32), place)
                best = tf.gather(logits, places, axis=1, batch_dims=1)
        products = tf.cast(tape.gradient(best, vectors), tf.float32) * tf.cast(vectors, tf.float32)
        saliency = tf.where(token_ids != 0, tf.reduce_sum(products, axis=2), 0.0)
        columns = tf.cast(shares(states, lengths, tf.shape(token_ids)), tf.float32)
        return {"logits": logits, "saliency": saliency, "shares": columns}

    return explain
