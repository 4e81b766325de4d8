"""Untrained pairs of language models that know a few words, and what they compute one word at a time."""

import dataclasses

import numpy as np

from dense_lstm_zoo.language.encoder import TextEncoder
from tests.bundle_harness import bundle


def language_model(direction="forward", seed=1, model="dense_lstm_lm", **arguments):
    """An untrained language model with random weights. All seeds have the same word vectors."""
    new_bundle = bundle(
        model, **{"num_layers": 2, "units": 4, "embedding_dim": 7, "sampled_softmax": None, **arguments}
    )
    rng = np.random.default_rng(seed)
    stack, embedding = new_bundle.network.get_layer("stack"), new_bundle.network.get_layer("embedding")
    stack.set_weights([rng.normal(scale=0.5, size=w.shape) for w in stack.get_weights()])
    embedding.set_weights([np.random.default_rng(9).normal(scale=0.5, size=embedding.embeddings.shape)])
    if direction != "forward":
        new_bundle.config["text"]["direction"] = direction
    new_bundle.config["training"]["dataset"] = "raw"
    new_bundle.metrics = {"dev_perplexity": 10.0 + seed, "dev_tokens": 50, "dev_unknown_words": 2, "epochs": 3}
    new_bundle.scored_weights = new_bundle.fingerprint()
    new_bundle.train_texts = np.array([3, 5, 8 + seed], np.uint64)
    return new_bundle


def pair(**arguments):
    return language_model("forward", 1, **arguments), language_model("backward", 2, **arguments)


def encoder(**arguments):
    return TextEncoder.from_bundles(*pair(**arguments))


def with_table(bundles, table, but=("film",)):
    """Give language models a table's vectors, fixed, for all words but some. Return the models."""
    for model in bundles:
        layer = model.network.get_layer("embedding")
        values = layer.embeddings.numpy()
        for row, word in enumerate(model.vocabulary.words):
            if word in table and word not in but:
                values[row] = table.vectors([word])[0]
        layer.set_weights([values])
        model.config["training"] |= {"vectors": table.name, "vectors_sha256": table.sha256}
        model.config["arguments"]["trainable_embeddings"] = False
    return bundles


def same(ours, other):
    """Return True for two encoders that are equal in every number."""
    for field in dataclasses.fields(ours):
        if field.name in ("weights", "vectors", "train_texts", "name", "sha256"):
            continue
        assert getattr(ours, field.name) == getattr(other, field.name), field.name
    assert np.array_equal(ours.vectors, other.vectors)
    assert ours.directions == other.directions
    for direction in ours.directions:
        assert all(map(np.array_equal, ours.weights[direction], other.weights[direction]))
    assert (ours.train_texts is None) == (other.train_texts is None)
    return ours.train_texts is None or np.array_equal(ours.train_texts, other.train_texts)
