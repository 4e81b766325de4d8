"""A classifier over the layers of a language model, to be fine-tuned with them (Howard and Ruder 2018)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.classification.assembly import classifier, register_classifier
from dense_lstm_zoo.classification.models import pooling_count
from dense_lstm_zoo.models import weight_counts

if TYPE_CHECKING:
    import keras

    from dense_lstm_zoo.layers.recurrence.tensors import Tensor

POOLINGS = ("last_mean_max", "last", "mean", "max", "attention")


def _count(
    *,
    input_dim: int,
    num_layers: int,
    units: int,
    wiring: str,
    cell: str,
    directions: int,
    pooling: str,
    biases: bool,
    **_: object,
) -> int:
    stack = weight_counts.recurrent_stack(input_dim, num_layers, units, wiring=wiring, cell=cell, biases=biases)
    num_read = num_layers if wiring == "dense" else 1
    return input_dim + directions * stack + num_read * pooling_count(directions * units, pooling, biases)


@register_classifier("Howard and Ruder 2018 (ULMFiT), section 3.3, arXiv:1801.06146", _count)
def lm_classifier(
    *,
    num_layers: int = 2,
    units: int = 300,
    wiring: str = "dense",
    cell: str = "lstm",
    directions: int = 2,
    pooling: str = "last_mean_max",
    layer_dropout: float = 0.0,
    weight_dropout: float = 0.0,
    **options: Any,
) -> keras.Model:
    """The layers of a language model, read in one direction or both, pooled into last, mean and largest states.

    With the states h_l of layer l = 1..L (``layers.TextEncoderStates``), H is what the language model's own softmax
    reads of its layers: h_L, or with ``dense`` [h_1; ...; h_L]. The softmax here reads [h_T; mean(H); max(H)], where
    h_T is the last state of each direction. ``train(init_from=...)`` fills words and layers from a text encoder or a
    language model. From scratch, it is a classifier like any other.

    Args:
        num_layers: Depth L of one direction.
        units: Width of a layer, one direction.
        wiring: How the layers are connected: ``dense``, ``stacked``, ``skip`` or ``residual``.
        cell: ``lstm``, ``gru`` or ``simple_rnn``.
        directions: 1, forward alone, or 2, forward and backward side by side.
        pooling: ``last_mean_max``, ``last``, ``mean``, ``max`` or ``attention``, of each layer that is read.
        layer_dropout: Dropout rate between layers, and on the words that each reads.
        weight_dropout: Dropout rate on the LSTMs' recurrent kernels, one mask per batch (Merity et al. 2018).
        **options: See ``classifier``.
    """
    checks.one_of("pooling", pooling, POOLINGS)
    checks.fraction("layer_dropout", layer_dropout)

    def encode(words: Tensor, lengths: Tensor, lstm_options: dict[str, Any]) -> list[Tensor]:
        from dense_lstm_zoo import layers

        encoder = layers.TextEncoderStates(
            num_layers,
            units,
            wiring=wiring,
            cell=cell,
            directions=directions,
            dropout=layer_dropout,
            weight_dropout=weight_dropout,
            name="encoder",
            **lstm_options,
        )
        states = encoder(words, lengths=lengths)
        return states if wiring == "dense" else states[-1:]

    def pool(states: list[Tensor], lengths: Tensor, dtype: str | None) -> Tensor:
        import keras

        from dense_lstm_zoo import layers

        pooled = [
            layers.MaskedPooling(pooling, num_directions=directions, dtype=dtype, name=name)(
                layer_states, lengths=lengths
            )
            for layer_states, name in zip(
                states, [*(f"pooling_{i}" for i in range(1, len(states))), "pooling"], strict=True
            )
        ]
        return pooled[0] if len(pooled) == 1 else keras.layers.Concatenate(dtype=dtype, name="pooled")(pooled)

    return classifier(encode, pool, **options)
