"""Tiny word tables and models that use their vectors, in a folder that stands for the installed distribution."""

import numpy as np

from dense_lstm_zoo.data.word_table import WordTable, quantised
from tests.bundle_harness import WORDS, bundle

TABLE = "tiny_7d"
IN_TABLE = ("zebra", "quartz", *reversed(WORDS))  # in another order than in a bundle, after words that none has
LAST = WORDS[5:]
OTHERS_LAST = ("was", "the", *LAST)  # the words of a bundle that are not among its first five, in its order


def write_table(presets, name=TABLE, seed=1, words=IN_TABLE, dim=7) -> WordTable:
    """Write a table of random vectors for the bundles' words, in an order of its own."""
    matrix = np.random.default_rng(seed).normal(0, 0.4, (len(words), dim))
    table = quantised(name, words, matrix)
    table.write(presets / "vectors" / name, overwrite=True)
    return table


def with_vectors(table, name="bilstm", own=("film",), **arguments):
    """An untrained bundle whose words have the table's vectors, but for ``own``, which were trained on."""
    new_bundle = bundle(name, embedding_dim=table.dim, **arguments)
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(len(WORDS) + 2, table.dim)).astype(np.float32)
    for i, word in enumerate(WORDS, start=2):
        if word not in own and word in table:
            matrix[i] = table.vectors([word])[0]
    for layer in new_bundle.network.layers:
        if layer.name in ("embedding", "static_embedding"):
            layer.set_matrix(matrix)
    new_bundle.config["training"]["vectors"] = table.name
    return new_bundle
