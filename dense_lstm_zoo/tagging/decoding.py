"""From a tagger's scores to tags and their probabilities."""

from __future__ import annotations

from typing import Any


def tag(network: Any, crf: Any, ids: dict[str, Any]) -> tuple[Any, Any]:
    """Return the tags (batch, time), int32, and their probabilities, float32, as graph code."""
    tags, own, _, _ = decode(network, crf, ids)
    return tags, own


def decode(network: Any, crf: Any, ids: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    """Return tags, their probabilities, those of all tags and the scores of all tags, as graph code.

    The first two are (batch, time), the others (batch, time, tags).
    """
    import tensorflow as tf

    logits = network(ids, training=False)
    if crf is None:
        shares = tf.nn.softmax(logits)
        tags = tf.argmax(logits, axis=-1, output_type=tf.int32)
    else:
        lengths = tf.reduce_sum(tf.cast(ids["token_ids"] != 0, tf.int32), axis=1)
        shares, tags = crf.marginals(logits, lengths), tf.maximum(crf(logits, lengths=lengths), 0)
    return tags, tf.gather(shares, tags, axis=2, batch_dims=2), shares, logits
