"""Densely connected LSTM with states as inputs and outputs (Godin et al. 2017)."""

from __future__ import annotations

from typing import Any

import keras

from dense_lstm_zoo.layers.recurrent_stack import RecurrentStack


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class DenseLSTM(RecurrentStack):
    """Densely connected LSTM with states as inputs and outputs (Godin et al. 2017, Eq 10).

    x_l = [e; h_1; ...; h_{l-1}];  h_l, c_l = LSTM_l(x_l);  y = [e; h_1; ...; h_L].

    Args:
        num_layers: Depth L.
        units: Width h of every layer.
        **options: The arguments of ``RecurrentStack`` except ``wiring`` and ``cell``.

    Call arguments and results are those of ``RecurrentStack``.

    Example:
        >>> import numpy as np
        >>> DenseLSTM(3, 4)(np.ones((2, 5, 6), "float32")).shape
        TensorShape([2, 5, 18])
    """

    def __init__(self, num_layers: int, units: int, **options: Any) -> None:
        super().__init__(num_layers, units, wiring="dense", cell="lstm", **options)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        return {name: value for name, value in super().get_config().items() if name not in ("wiring", "cell")}
