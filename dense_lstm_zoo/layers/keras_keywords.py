"""Keywords of ``keras.layers.LSTM`` that the package's recurrent layers do not take, and what to use instead."""

from __future__ import annotations

import inspect
from typing import Any

import keras

from dense_lstm_zoo import checks

_OTHER_GATES = "the gates are sigmoid and tanh, as in the papers; use keras.layers.LSTM for others"
_REGULARIZER = "set the regularizer of a weight after build(), such as layer.weights[0].regularizer"
_CONSTRAINT = "set the constraint of a weight after build(), such as layer.weights[0].constraint"
_BOTH_DIRECTIONS = "use layers.BiLSTM(units), which runs both directions, in place of keras.layers.Bidirectional"
INSTEAD = {
    "activation": _OTHER_GATES,
    "recurrent_activation": _OTHER_GATES,
    "use_bias": "there is always a bias; use keras.layers.LSTM for a layer without one",
    "kernel_regularizer": _REGULARIZER,
    "recurrent_regularizer": _REGULARIZER,
    "bias_regularizer": _REGULARIZER,
    "kernel_constraint": _CONSTRAINT,
    "recurrent_constraint": _CONSTRAINT,
    "bias_constraint": _CONSTRAINT,
    "dropout": "put keras.layers.Dropout before the layer",
    "recurrent_dropout": "use layers.RecurrentStack(1, units, recurrent_dropout=...)",
    "seed": "it belongs to the dropout; pass it to keras.layers.Dropout",
    "go_backwards": _BOTH_DIRECTIONS,
    "stateful": "use return_state=True, and pass the state to the next call as initial_state",
    "unroll": "leave it out; kernel= says how the loop runs",
    "use_cudnn": "use kernel='cudnn', or kernel='auto', which is that on a GPU",
}
# Keras reads the last two from the keywords.
_OF_ANY_LAYER = {*inspect.signature(keras.layers.Layer.__init__).parameters, "input_dim", "input_shape"} - {
    "self",
    "kwargs",
}


def check_keywords(layer: type, keywords: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords that every layer of Keras takes.

    Raises:
        ValueError: There is another, with what to use for it or the near match.
    """
    for name in keywords.keys() - _OF_ANY_LAYER:
        if name in INSTEAD:
            raise ValueError(f"{layer.__name__} does not take {name}={keywords[name]!r}: {INSTEAD[name]}.")
        own = inspect.signature(layer).parameters.keys() - {"kwargs"}
        raise checks.unknown_name(f"argument of {layer.__name__}:", name, [*own, *_OF_ANY_LAYER])
    return keywords
