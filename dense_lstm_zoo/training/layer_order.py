"""The layers of a model from the top down, for training them one after the other or at different rates."""

from __future__ import annotations

from collections.abc import Sequence

import keras

from dense_lstm_zoo.layers import DenseBiLSTM, HighwayBiLSTM, RecurrentStack, SkipBiLSTM, TextEncoderStates
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.models.adam import FusedAdam
from dense_lstm_zoo.models.compiling import inner_optimizer

HEAD = ("logits", "softmax", "crf")  # layers on top of the encoder
WORDS = "embedding"
_BELOW = ("static_embedding", "characters", "affixes", "case", "window", "context_mixture")  # beside the word vectors


def head_layers(model: keras.Model) -> list[keras.layers.Layer]:
    """Return the layers that turn the encoder's states into labels or words, a CRF among them."""
    layers = [*registry.network(model).layers, *([model.crf] if hasattr(model, "crf") else [])]
    return [layer for layer in layers if layer.name in HEAD]


def weights_from_the_top(model: keras.Model) -> list[list[keras.Variable]]:
    """Return the trainable weights of each layer of a model, the last layer's first and the word vectors last.

    Both directions of a layer are together. The layers of a stack count one by one. What a stack has beside its layers
    belongs to the lowest. Characters and the like go with the words.

    Example:
        >>> import dense_lstm_zoo as zoo
        >>> model = zoo.build("stacked_bilstm", vocab_size=9, num_classes=2)
        >>> [weights[0].path.split("/")[0] for weights in weights_from_the_top(model)]
        ['logits', 'bilstm_2', 'bilstm_1', 'embedding']
    """
    head, below, inner = head_layers(model), [], []
    for layer in reversed(registry.network(model).layers):
        if layer.name == WORDS or layer.name in _BELOW:
            below.append(layer)
        elif layer.name not in HEAD:
            inner += [[*parts] for parts in reversed(_stacked(layer))]
            inner[-1].append(layer)
    grouped: set[int] = set()
    groups = []
    for layers in (head, *inner, below):
        weights = {id(weight): weight for layer in layers for weight in layer.trainable_variables}
        groups.append([weight for key, weight in weights.items() if key not in grouped])
        grouped |= weights.keys()
    return [weights for weights in groups if weights]


def _stacked(layer: keras.layers.Layer) -> Sequence[Sequence[keras.layers.Layer]]:
    """Return the layers that a layer stacks, from the lowest to the top, each as its parts, or the layer alone."""
    if isinstance(layer, RecurrentStack | DenseBiLSTM):
        return [[one] for one in layer.layers]
    if isinstance(layer, SkipBiLSTM | HighwayBiLSTM):
        return list(layer.cells)
    if isinstance(layer, TextEncoderStates):
        return list(zip(*(stack.layers for stack in layer.stacks), strict=True))
    return [[layer]]


def decay_rates(model: keras.Model, layer_decay: float) -> None:
    """Give each layer the learning rate of the one above it, divided by ``layer_decay``.

    The last layer keeps the model's rate (Howard and Ruder 2018, section 3.2).

    Raises:
        ValueError: The model is not trained with Adam.
    """
    optimizer = inner_optimizer(model.optimizer)
    if not isinstance(optimizer, FusedAdam):
        raise ValueError(
            f"layer_decay={layer_decay!r} needs Adam; the model is trained with {type(optimizer).__name__}. Give "
            "optimizer='adam' with a learning rate that suits it, or leave layer_decay out."
        )
    optimizer.sums_words = True  # as the results of such trainings were measured
    rate = {id(w): layer_decay**-depth for depth, part in enumerate(weights_from_the_top(model)) for w in part}
    optimizer.scale_rates([rate[id(weight)] for weight in model.trainable_variables])
