"""Context beside words: the frozen states of a text encoder as more features of every word (Peters et al. 2018)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks

if TYPE_CHECKING:
    import keras
    import numpy as np

# Layers that belong to no encoder's count: the text encoder's words and states, and the mixture of its layers.
LAYERS = ("context_embedding", "context", "context_mixture")
# fmt: off
ARGUMENTS = (
    "context_units", "context_layers", "context_wiring", "context_cell", "context_directions", "context_dim",
    "context_weights",
)
# fmt: on


@dataclass(frozen=True, eq=False)
class ContextWeights:
    """A text encoder's numbers, for a model with the words of a vocabulary.

    Args:
        states: The weights of ``TextEncoderStates``, in their order.
        vectors: What the encoder reads for each id (vocab_size, context_dim), or None with ``context_dim=0``.
    """

    states: list[np.ndarray]
    vectors: np.ndarray | None


def context_features(
    token_ids: keras.KerasTensor,
    own_vectors: keras.KerasTensor,
    lengths: keras.KerasTensor,
    vocab_size: int,
    kernel: str,
    dtype: str | None,
    *,
    context_units: int = 0,
    context_layers: int = 1,
    context_wiring: str = "stacked",
    context_cell: str = "lstm",
    context_directions: int = 2,
    context_dim: int = 0,
    context_weights: ContextWeights | None = None,
) -> keras.KerasTensor | None:
    """Return gamma * sum_l softmax(w)_l h_l(x) for every word (batch, time, directions * units), or None without.

    h_l are the states of a text encoder's layer l, which are never trained, unlike w and gamma (Peters et al. 2018,
    Eq 1).
    ``train(context=...)`` derives these arguments from a text encoder.

    Args:
        token_ids: The model's ids (batch, time).
        own_vectors: Its word vectors (batch, time, features).
        lengths: The real steps of each row.
        vocab_size: Number of ids.
        kernel: Which loop over time runs.
        dtype: Keras dtype policy.
        context_units: Width of one direction of the text encoder; 0 means there is none.
        context_layers: Its depth.
        context_wiring: How its layers are connected (see ``layers.RecurrentStack``).
        context_cell: ``lstm``, ``gru`` or ``simple_rnn``.
        context_directions: 1, forward alone, or 2, forward and backward.
        context_dim: Length of its word vectors; 0 means that it reads the model's own, which are not trained then.
        context_weights: Its weights and word vectors. They are random by default.

    Raises:
        ValueError: A value out of range.
    """
    if not checks.integer("context_units", context_units, minimum=0):
        return None
    checks.integer("context_layers", context_layers)
    checks.integer("context_dim", context_dim, minimum=0)

    from dense_lstm_zoo import layers

    vectors = own_vectors
    if context_dim:
        embedding = layers.WordEmbedding(
            vocab_size, context_dim, trainable=False, dtype=dtype, name="context_embedding"
        )
        if context_weights is not None:
            assert context_weights.vectors is not None  # as they are with a context_dim
            embedding.set_matrix(context_weights.vectors)
        vectors = embedding(token_ids)
    encoder = layers.TextEncoderStates(
        context_layers,
        context_units,
        wiring=context_wiring,
        cell=context_cell,
        directions=context_directions,
        trainable=False,
        kernel=kernel,
        dtype=dtype,
        name="context",
    )
    states = encoder(vectors, lengths=lengths)
    if context_weights is not None:
        encoder.set_weights(context_weights.states)
    return layers.LayerMixture(dtype=dtype, name="context_mixture")(states)


def context_width(arguments: Mapping[str, Any]) -> int:
    """Return how many features the context of a word has, from a model's arguments.

    Example:
        >>> context_width({"context_units": 300, "context_directions": 2}), context_width({"context_units": 0})
        (600, 0)
    """
    units: int = arguments.get("context_units", 0)
    return units * int(arguments.get("context_directions", 2)) if units else 0
