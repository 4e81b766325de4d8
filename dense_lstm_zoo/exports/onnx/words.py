"""The words of a graph: ids that it looks up itself, or vectors that it is given from a shared word table."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.bundles import shared_words
from dense_lstm_zoo.exports.onnx.graph import Graph, Value
from dense_lstm_zoo.layers import WordEmbedding

if TYPE_CHECKING:
    import keras
    import numpy as np

    from dense_lstm_zoo.bundles.bundle import Bundle


def embeddings(model: keras.Model) -> list[WordEmbedding]:
    """Return the layers of a model that look up word vectors."""
    return [layer for layer in model.layers if isinstance(layer, WordEmbedding)]


def word_inputs(graph: Graph, model: keras.Model, shared: bool) -> dict[str, Value]:
    """Add the inputs that stand for a text's words, and return what they replace in the model.

    Args:
        graph: The graph.
        model: The model, with its ids named ``token_ids`` and its lengths ``lengths``.
        shared: Whether the word vectors themselves are inputs.
    """
    if not shared:
        return {"token_ids": graph.input("token_ids", "int32", ("batch", "time"))}
    inputs = {"lengths": graph.input("lengths", "int32", ("batch",))}
    for layer in embeddings(model):
        inputs[layer.name] = graph.input(layer.name, "float32", ("batch", "time", layer.embedding_dim))
        if graph.weights == "int8":
            graph.bounds[inputs[layer.name]] = abs(layer.get_matrix()).max(axis=0)
    return inputs


def _halved(values: np.ndarray) -> np.ndarray:
    """Return numbers in float16 where that changes none, as in a model that was saved so; else as they are."""
    import numpy as np

    with np.errstate(over="ignore"):
        half = values.astype(np.float16)
    return half if (half == values).all() else values


def write_shared(folder: Path, bundle: Bundle) -> dict[str, Any]:
    """Write the words, which row of an installed word table each has, and the vectors that are not a table's.

    Returns:
        What config.json says about it.

    Raises:
        ValueError: No table is installed, or none has any of the vectors of a layer.
    """
    import numpy as np

    layers = embeddings(bundle.network)
    arrays = [(layer.name, 0, 1.0, layer.get_matrix()) for layer in layers]
    shared = shared_words.find_in(arrays, bundle.vocabulary.words, bundle.config["training"].get("vectors"))
    assert shared is not None  # it is required
    if own := [layer.name for layer in layers if layer.name not in {part.array for part in shared.parts}]:
        raise ValueError(
            f"shared_words=True: none of the vectors of {' and '.join(own)} is one of an installed table. Export "
            "without it."
        )
    shared = shared.shortened()
    dataclasses.replace(bundle.vocabulary, words=shared.own_words).write(folder / "vocabulary.txt")
    shared.write_rows(folder / shared_words.ROWS)
    for number, (part, (*_, matrix)) in enumerate(zip(shared.parts, arrays, strict=True)):
        np.save(folder / f"own_words_{number}.npy", _halved(shared.reduced(part.array, matrix)), allow_pickle=False)
    arrays_config = [
        {"input": layer.name, "dim": layer.embedding_dim, "rows": layer.vocab_size, **shared.own_table(part)}
        for layer, part in zip(layers, shared.parts, strict=True)
    ]
    return {**shared.config, "arrays": arrays_config}
