"""From a tagger's scores to tags and their probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from dense_lstm_zoo.tagging.assembly import lengths_of

if TYPE_CHECKING:
    import keras

    from dense_lstm_zoo.layers.crf import CRF


def decode(
    network: keras.Model, crf: CRF | None, ids: dict[str, tf.Tensor]
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """Return tags, their probabilities, those of all tags and the scores of all tags, as graph code.

    The first two are (batch, time), the others (batch, time, tags).
    """
    logits = network(ids, training=False)
    if crf is None:
        tags = tf.argmax(logits, axis=-1, output_type=tf.int32)
    else:
        tags = tf.maximum(crf(logits, lengths=lengths_of(ids)), 0)
    shares = probabilities(logits, crf, ids)
    return tags, tf.gather(shares, tags, axis=2, batch_dims=2), shares, logits


def probabilities(logits: tf.Tensor, crf: CRF | None, ids: dict[str, tf.Tensor]) -> tf.Tensor:
    """Return the probability of every tag of every token, float32 (batch, time, tags), as graph code."""
    return tf.nn.softmax(logits) if crf is None else crf.marginals(logits, lengths_of(ids))
