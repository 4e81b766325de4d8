"""Sentence classifiers that pool by dynamic interaction or dynamic self-attention (Xie et al. 2019)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.classification.assembly import classifier, register_classifier
from dense_lstm_zoo.classification.models import count_dense, count_stack, dense_encoder, stack_states

if TYPE_CHECKING:
    import keras

    from dense_lstm_zoo.classification.assembly import Encode
    from dense_lstm_zoo.layers.recurrence.tensors import Tensor


def interaction_classifier(
    encode: Encode,
    *,
    iterations: int = 2,
    mode: str = "position",
    weights: str = "routed",
    stop_gradient: bool = False,
    pooling_l2: float = 1e-3,
    **options: Any,
) -> keras.Model:
    """Assemble a classifier in which the lower layers decide how the pooling weighs the top layer's words.

    Args:
        encode: The encoder, which returns the states of every layer.
        iterations: Rounds of the routing.
        mode: What the shares weigh: ``position``, ``vector`` or ``projected_vector``.
        weights: ``routed``, or ``constant``: 0.5 everywhere, without routing.
        stop_gradient: Whether the backward pass treats the shares as constants.
        pooling_l2: L2 penalty of the pooling's kernel.
        **options: See ``classifier``.
    """
    checks.positive("pooling_l2", pooling_l2, zero=True)

    def pool(states: list[Tensor], lengths: Tensor, dtype: str | None) -> Tensor:
        import keras

        from dense_lstm_zoo import layers

        layer = layers.DynamicInteractionPooling(
            iterations,
            mode,
            weights,
            stop_gradient=stop_gradient,
            kernel_regularizer=keras.regularizers.L2(pooling_l2) if pooling_l2 else None,
            dtype=dtype,
            name="pooling",
        )
        return layer(states, lengths=lengths)

    return classifier(encode, pool, **options)


def _count_interaction(lower: list[int], top: int, *, mode: str, weights: str, biases: bool) -> int:
    units = [width if mode == "vector" else top // 2 for width in lower]
    projected = mode == "projected_vector" and weights == "routed"
    return sum(top * u + u * biases + (width * u if projected else 0) for width, u in zip(lower, units, strict=True))


def _count_di(*, num_dense_layers: int, dense_units: int, top_units: int, biases: bool, **arguments: Any) -> int:
    sizes: dict[str, Any] = {"num_dense_layers": num_dense_layers, "dense_units": dense_units, "top_units": top_units}
    encoder = count_dense(biases=biases, **sizes, **arguments)
    options = {name: arguments[name] for name in ("mode", "weights")}
    return encoder + _count_interaction([2 * dense_units] * num_dense_layers, 2 * top_units, biases=biases, **options)


def _count_stacked_di(*, num_layers: int, units: int, mode: str, weights: str, biases: bool, **arguments: Any) -> int:
    pooling = _count_interaction([2 * units] * (num_layers - 1), 2 * units, mode=mode, weights=weights, biases=biases)
    return pooling + count_stack(num_layers=num_layers, units=units, biases=biases, **arguments)


def attention_classifier(
    encode: Encode,
    *,
    attention_units: int = 100,
    num_heads: int = 1,
    iterations: int = 2,
    pooling_l2: float = 1e-3,
    **options: Any,
) -> keras.Model:
    """Assemble a classifier whose pooling is dynamic self-attention.

    Args:
        encode: The encoder, which returns the states of its top layer.
        attention_units: Length of a head's vector.
        num_heads: Number of heads.
        iterations: Rounds of the attention.
        pooling_l2: L2 penalty of the pooling's kernel.
        **options: See ``classifier``.
    """
    checks.positive("pooling_l2", pooling_l2, zero=True)

    def pool(states: Tensor, lengths: Tensor, dtype: str | None) -> Tensor:
        import keras

        from dense_lstm_zoo import layers

        layer = layers.DynamicSelfAttention(
            attention_units,
            num_heads,
            iterations,
            kernel_regularizer=keras.regularizers.L2(pooling_l2) if pooling_l2 else None,
            dtype=dtype,
            name="pooling",
        )
        return layer(states, lengths=lengths)

    return classifier(encode, pool, **options)


def _count_attention(width: int, *, attention_units: int, num_heads: int, biases: bool, **_: object) -> int:
    return num_heads * attention_units * (width + biases)


def _count_dsa(*, units: int, **arguments: Any) -> int:
    return _count_attention(2 * units, **arguments) + count_stack(units=units, **arguments)


def _count_dense_dsa(*, top_units: int, **arguments: Any) -> int:
    return _count_attention(2 * top_units, **arguments) + count_dense(top_units=top_units, **arguments)


@register_classifier("Xie et al. 2019, Algorithm 1", _count_di, interaction_classifier)
def di_bilstm(
    *,
    num_dense_layers: int = 14,
    dense_units: int = 13,
    top_units: int = 100,
    couple_directions: bool = True,
    remat: bool = False,
    **options: Any,
) -> keras.Model:
    """DC-Bi-LSTM with dynamic interaction between its narrow layers and its top layer.

    Args:
        num_dense_layers: Narrow layers below the top, at least 1.
        dense_units: Width of one direction of a narrow layer, at least 1.
        top_units: Width of one direction of the top layer.
        couple_directions: Whether each layer reads both directions below, or each direction only its own.
        remat: Recompute layers in the backward pass, for memory linear in depth.
        **options: See ``interaction_classifier`` and ``classifier``.
    """
    checks.integer("num_dense_layers", num_dense_layers)
    checks.integer("dense_units", dense_units)
    encode = dense_encoder(
        num_dense_layers,
        dense_units,
        top_units,
        couple_directions=couple_directions,
        remat=remat,
        return_all_layers=True,
    )
    return interaction_classifier(encode, **options)


@register_classifier("Xie et al. 2019, Table 3", _count_stacked_di, interaction_classifier)
def stacked_di_bilstm(*, num_layers: int = 4, units: int = 100, **options: Any) -> keras.Model:
    """Stacked Bi-LSTMs with dynamic interaction between the lower layers and the top one.

    Args:
        num_layers: Depth, at least 2.
        units: Width of one direction.
        **options: See ``interaction_classifier`` and ``classifier``.
    """
    checks.integer("num_layers", num_layers, minimum=2)
    checks.integer("units", units)

    def encode(words: Tensor, lengths: Tensor, lstm_options: dict[str, Any]) -> list[Tensor]:
        return stack_states(num_layers, units, words, lengths, lstm_options)

    return interaction_classifier(encode, **options)


_DSA = "Yoon et al. 2018 (dynamic self-attention), as compared in Xie et al. 2019"


@register_classifier(f"{_DSA}, Table 3", _count_dsa, attention_classifier)
def dsa_bilstm(*, num_layers: int = 4, units: int = 100, **options: Any) -> keras.Model:
    """Stacked Bi-LSTMs, with the top layer's states pooled by dynamic self-attention.

    Args:
        num_layers: Depth, at least 1.
        units: Width of one direction.
        **options: See ``attention_classifier`` and ``classifier``.
    """
    checks.integer("num_layers", num_layers)
    checks.integer("units", units)

    def encode(words: Tensor, lengths: Tensor, lstm_options: dict[str, Any]) -> Tensor:
        return stack_states(num_layers, units, words, lengths, lstm_options)[-1]

    return attention_classifier(encode, **options)


@register_classifier(f"{_DSA}, Table 2", _count_dense_dsa, attention_classifier)
def dsa_dc_bilstm(
    *,
    num_dense_layers: int = 14,
    dense_units: int = 13,
    top_units: int = 100,
    couple_directions: bool = True,
    remat: bool = False,
    **options: Any,
) -> keras.Model:
    """DC-Bi-LSTM with the top layer's states pooled by dynamic self-attention.

    Args:
        num_dense_layers: Narrow layers below the top, or 0 for a Bi-LSTM of ``top_units``.
        dense_units: Width of one direction of a narrow layer.
        top_units: Width of one direction of the top layer.
        couple_directions: Whether each layer reads both directions below, or each direction only its own.
        remat: Recompute layers in the backward pass, for memory linear in depth.
        **options: See ``attention_classifier`` and ``classifier``.
    """
    checks.integer("num_dense_layers", num_dense_layers, minimum=0)
    checks.integer("dense_units", dense_units, minimum=0)
    encode = dense_encoder(num_dense_layers, dense_units, top_units, couple_directions=couple_directions, remat=remat)
    return attention_classifier(encode, **options)
