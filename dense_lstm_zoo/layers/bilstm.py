"""Bidirectional LSTM layer: both directions in one loop."""

from __future__ import annotations

from typing import ClassVar

import keras

from dense_lstm_zoo.layers.lstm import LSTM


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class BiLSTM(LSTM):
    """Bi-LSTM over right-padded sequences: h_t = [forward h_t; backward h_t].

    The backward direction starts at each row's last real step, so padding never changes a result. It computes the same
    as ``keras.layers.Bidirectional(keras.layers.LSTM(units))`` under a mask, and ``get_weights`` has the same
    order and shapes (forward kernel, recurrent kernel, bias, then backward), so weights can be copied both ways::

        ours.set_weights(theirs.get_weights())
        theirs.set_weights(ours.get_weights())

    Args, call arguments and differences from Keras are those of ``LSTM``. ``units`` (the papers' d) is the width of one
    direction, states are ``2 * units`` wide, and without ``return_sequences`` the output is [last forward state; first
    backward state].

    Reference: Ding et al. 2018, Eqs 5-7.

    Example:
        >>> import numpy as np
        >>> BiLSTM(4)(np.ones((2, 3, 5), "float32"), lengths=np.array([3, 1])).shape
        TensorShape([2, 3, 8])
    """

    direction_names: ClassVar[tuple[str, ...]] = ("forward", "backward")
