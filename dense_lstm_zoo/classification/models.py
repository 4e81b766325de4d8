"""Sentence classifiers: an encoder between word embeddings and a softmax (Ding et al. 2018, Figure 2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.classification.assembly import Encode, pooled_classifier, register_classifier
from dense_lstm_zoo.models import weight_counts

if TYPE_CHECKING:
    import keras

    from dense_lstm_zoo.layers.recurrence.tensors import Tensor


def pooling_count(width: int, pooling: str, biases: bool) -> int:
    """Return the number of weights of a pooling."""
    return width * (width + 1 + biases) if pooling == "attention" else 0


def _count_lstm(*, input_dim: int, units: int, pooling: str, biases: bool, **_: object) -> int:
    return weight_counts.lstm(input_dim, units, biases=biases) + pooling_count(units, pooling, biases)


def count_stack(*, input_dim: int, units: int, biases: bool, num_layers: int = 1, **_: object) -> int:
    """Return the number of weights that ``stack_states`` creates without ``residual``."""
    widths = [input_dim, *[2 * units] * (num_layers - 1)]
    return sum(weight_counts.lstm(width, units, directions=2, biases=biases) for width in widths)


def _count_stacked(*, units: int, pooling: str, biases: bool, **arguments: Any) -> int:
    return count_stack(units=units, biases=biases, **arguments) + pooling_count(2 * units, pooling, biases)


def _count_residual(*, input_dim: int, units: int, **arguments: Any) -> int:
    projection = input_dim * 2 * units if input_dim != 2 * units else 0
    return projection + _count_stacked(input_dim=input_dim, units=units, **arguments)


def count_dense(
    *,
    input_dim: int,
    num_dense_layers: int,
    dense_units: int,
    top_units: int,
    couple_directions: bool,
    biases: bool,
    **_: object,
) -> int:
    """Return the number of weights of a densely connected Bi-LSTM."""
    return weight_counts.dense_bilstm(
        input_dim, num_dense_layers, dense_units, top_units, couple_directions=couple_directions, biases=biases
    )


def _count_dc(*, top_units: int, pooling: str, biases: bool, **arguments: Any) -> int:
    encoder = count_dense(top_units=top_units, biases=biases, **arguments)
    return encoder + pooling_count(2 * top_units, pooling, biases)


def _register(paper: str, count: Callable[..., int]) -> Callable[..., Any]:
    return register_classifier(paper, count, pooled_classifier)


@_register("Tai et al. 2015, baseline of Ding et al. 2018, Table 1", _count_lstm)
def lstm(*, units: int = 300, **options: Any) -> keras.Model:
    """One LSTM, left to right.

    Args:
        units: Width of the state.
        **options: See ``classifier``.
    """
    checks.integer("units", units)

    def encode(words: Tensor, lengths: Tensor, lstm_options: dict[str, Any]) -> Tensor:
        from dense_lstm_zoo import layers

        return layers.LSTM(units, name="encoder", **lstm_options)(words, lengths=lengths)

    return pooled_classifier(encode, 1, **options)


@_register("Tai et al. 2015, baseline of Ding et al. 2018, Eqs 5-7", _count_stacked)
def bilstm(*, units: int = 300, **options: Any) -> keras.Model:
    """One bidirectional LSTM.

    Args:
        units: Width of one direction (th).
        **options: See ``classifier``.
    """
    return _stack(1, units, residual=False, **options)


@_register("Deep stacked Bi-LSTM, Ding et al. 2018, Eqs 7-9", _count_stacked)
def stacked_bilstm(*, num_layers: int = 2, units: int = 100, **options: Any) -> keras.Model:
    """Stacked Bi-LSTMs, each reading only the layer below. At depth 8 they hardly train.

    Args:
        num_layers: Depth, at least 1.
        units: Width of one direction.
        **options: See ``classifier``.
    """
    return _stack(num_layers, units, residual=False, **options)


@_register("Deep residual Bi-LSTM, Yu et al. 2017, as compared in Ding et al. 2018, section 3.4", _count_residual)
def residual_bilstm(*, num_layers: int = 2, units: int = 100, **options: Any) -> keras.Model:
    """Stacked Bi-LSTMs, with each layer's input added to its output.

    M_l = H_l + M_{l-1}. Word vectors that are ``2 * units`` wide enter the first sum directly. Others go through a
    linear projection without bias.

    Args:
        num_layers: Depth, at least 1.
        units: Width of one direction.
        **options: See ``classifier``.
    """
    return _stack(num_layers, units, residual=True, **options)


def _stack(num_layers: int, units: int, *, residual: bool, **options: Any) -> keras.Model:
    def encode(words: Tensor, lengths: Tensor, lstm_options: dict[str, Any]) -> Tensor:
        return stack_states(num_layers, units, words, lengths, lstm_options, residual=residual)[-1]

    checks.integer("num_layers", num_layers)
    checks.integer("units", units)
    return pooled_classifier(encode, 2, **options)


def stack_states(
    num_layers: int, units: int, words: Tensor, lengths: Tensor, lstm_options: dict[str, Any], *, residual: bool = False
) -> list[Tensor]:
    """Return the states of every layer of a stack of Bi-LSTMs, or with ``residual`` of their sums."""
    import keras

    from dense_lstm_zoo import layers

    inputs = carried = words
    if residual and words.shape[-1] != 2 * units:
        project = keras.layers.Dense(2 * units, use_bias=False, dtype=lstm_options["dtype"], name="projection")
        carried = project(words)
    layers_of_states = []
    for layer in range(num_layers):
        states = layers.BiLSTM(units, name=f"bilstm_{layer + 1}", **lstm_options)(inputs, lengths=lengths)
        if residual:
            states = keras.layers.Add(dtype=lstm_options["dtype"])([carried, states])
        inputs = carried = states
        layers_of_states.append(states)
    return layers_of_states


@_register("Ding et al. 2018 (DC-Bi-LSTM), Eqs 10-13, arXiv:1802.00889", _count_dc)
def dc_bilstm(
    *,
    num_dense_layers: int = 15,
    dense_units: int = 13,
    top_units: int = 100,
    couple_directions: bool = True,
    remat: bool = False,
    **options: Any,
) -> keras.Model:
    """Densely connected Bi-LSTM: narrow layers that each read the words and every layer below.

    Args:
        num_dense_layers: Narrow layers below the top (dl), or 0 for a Bi-LSTM of ``top_units``.
        dense_units: Width of one direction of a narrow layer (dh). With 0, the narrow layers are left out too.
        top_units: Width of one direction of the top layer (th).
        couple_directions: Whether each layer reads both directions below, or each direction only its own.
        remat: Recompute layers in the backward pass, for memory linear in depth.
        **options: See ``classifier``.
    """
    checks.integer("num_dense_layers", num_dense_layers, minimum=0)
    checks.integer("dense_units", dense_units, minimum=0)
    encode = dense_encoder(num_dense_layers, dense_units, top_units, couple_directions=couple_directions, remat=remat)
    return pooled_classifier(encode, 2, **options)


def dense_encoder(num_dense_layers: int, dense_units: int, top_units: int, **choices: Any) -> Encode:
    """Return an encoder made of a ``DenseBiLSTM``."""
    checks.integer("top_units", top_units)

    def encode(words: Tensor, lengths: Tensor, lstm_options: dict[str, Any]) -> Tensor:
        from dense_lstm_zoo import layers

        encoder = layers.DenseBiLSTM(
            num_dense_layers, dense_units, top_units, name="encoder", **choices, **lstm_options
        )
        return encoder(words, lengths=lengths)

    return encode
