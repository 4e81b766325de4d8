"""A text in windows, as language models are trained on it, and its perplexity by hand."""

import numpy as np
import tensorflow as tf

from tests import model_harness as harness

WORDS = 30


def tiny(name, **options):
    """A tiny model without dropout, on the kernel for which XLA compiles nothing."""
    sizes = {"vocab_size": WORDS, "embedding_dim": 6, "num_layers": 2, "dropout": 0.0, "kernel": "native"}
    return harness.tiny(name, **{**sizes, **options})


def text(batch=3, steps=30, seed=0):
    return np.random.default_rng(seed).integers(0, WORDS, (batch, steps + 1)).astype(np.int32)


def windows(ids, size):
    """Windows of a text as fit wants them. The first starts from zeros."""

    def generate():
        for start in range(0, ids.shape[1] - 1, size):
            x = {"token_ids": ids[:, start : start + size], "is_first": np.full(len(ids), start == 0)}
            yield x, ids[:, start + 1 : start + size + 1]

    spec = tf.TensorSpec((len(ids), size), tf.int32)
    first = tf.TensorSpec((len(ids),), tf.bool)
    dataset = tf.data.Dataset.from_generator(generate, output_signature=({"token_ids": spec, "is_first": first}, spec))
    return dataset.apply(tf.data.experimental.assert_cardinality((ids.shape[1] - 1) // size))


def perplexity_by_hand(model, ids):
    """From the logits of the whole text at once, in float64."""
    logits = model(ids[:, :-1]).numpy().astype(np.float64)
    log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    return np.exp(-np.take_along_axis(log_p, ids[:, 1:, None], axis=2).mean())
