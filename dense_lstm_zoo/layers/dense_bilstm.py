"""Densely connected Bi-LSTM encoder."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from dense_lstm_zoo import checks
from dense_lstm_zoo.layers import recurrence
from dense_lstm_zoo.layers.initializers import InitializerLike, find_initializer, fresh
from dense_lstm_zoo.layers.kernel_layer import KernelLayer
from dense_lstm_zoo.layers.lstm import BiLSTM
from dense_lstm_zoo.layers.recurrence.tensors import Shape, Tensor
from dense_lstm_zoo.layers.saving import arguments_of, hand_down_trainable


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class DenseBiLSTM(KernelLayer):
    """Densely connected Bi-LSTM: each layer reads the input and the states of all layers below it.

    With M_0 = x, for l = 1..dl: H_l = BiLSTM_dh(M_{l-1}), M_l = [M_{l-1}; H_l]. The output is
    H_top = BiLSTM_th(M_dl). Parameters: sum_{l=1..dl} 8 dh (e + 2 dh (l-1) + dh + 1) + 8 th (e + 2 dh dl + th + 1).

    Args:
        num_dense_layers: Narrow layers below the top (dl). 0 leaves a single Bi-LSTM of ``top_units``.
        dense_units: Units of a narrow layer, one direction (dh). 0 also leaves the narrow layers out.
        top_units: Units of the top layer, one direction (th).
        couple_directions: Whether both directions of a layer read both directions below. Otherwise each reads its own
            and the input (Eqs 7-8 of Xie et al. 2019), and 2 dh becomes dh in the sums above.
        return_all_layers: Whether to return the list [H_1, ..., H_dl, H_top] instead of H_top.
        remat: Whether to recompute each layer in the backward pass instead of keeping its inputs, whose concatenations
            make memory quadratic in depth. Values and gradients stay the same. A step costs up to a third more.
        kernel_initializer, recurrent_initializer, unit_forget_bias, kernel: As in ``LSTM``, for every layer.
        **kwargs: Arguments of ``keras.layers.Layer``.

    Call arguments:
        inputs: (batch, time, features), right-padded.
        lengths: (batch,), the real steps of each row. None means those of ``mask``, else all steps.
        mask: (batch, time), right-padded.

    Returns:
        (batch, time, 2 top_units), with zeros past the length, or the list of every layer's states.

    Raises:
        ValueError: A number that is not an integer, is negative, or is 0 for ``top_units``, or an input of another
            rank.

    Reference: Ding et al. 2018, Eqs 10-13.

    Example:
        >>> import numpy as np
        >>> encoder = DenseBiLSTM(num_dense_layers=2, dense_units=3, top_units=4)
        >>> encoder(np.ones((2, 6, 5), "float32"), lengths=np.array([6, 2])).shape
        TensorShape([2, 6, 8])
    """

    def __init__(
        self,
        num_dense_layers: int = 15,
        dense_units: int = 13,
        top_units: int = 100,
        *,
        couple_directions: bool = True,
        return_all_layers: bool = False,
        remat: bool = False,
        kernel_initializer: InitializerLike = "glorot_uniform",
        recurrent_initializer: InitializerLike = "orthogonal",
        unit_forget_bias: bool = True,
        kernel: str = "auto",
        **kwargs: Any,
    ) -> None:
        super().__init__(kernel, **kwargs)
        self.num_dense_layers = checks.integer("num_dense_layers", num_dense_layers, minimum=0)
        self.dense_units = checks.integer("dense_units", dense_units, minimum=0)
        self.top_units = checks.integer("top_units", top_units)
        self.couple_directions = couple_directions
        self.return_all_layers = return_all_layers
        self.remat = remat
        self.kernel_initializer = find_initializer(kernel_initializer)
        self.recurrent_initializer = find_initializer(recurrent_initializer)
        self.unit_forget_bias = unit_forget_bias
        num_narrow = self.num_dense_layers if self.dense_units else 0
        self.layers = [self._bilstm(self.dense_units, f"dense_{i + 1}") for i in range(num_narrow)]
        self.layers.append(self._bilstm(self.top_units, "top"))

    def _bilstm(self, units: int, name: str) -> BiLSTM:
        return BiLSTM(
            units,
            kernel_initializer=fresh(self.kernel_initializer),
            recurrent_initializer=fresh(self.recurrent_initializer),
            unit_forget_bias=self.unit_forget_bias,
            kernel=self.kernel,
            dtype=self.dtype_policy,
            name=name,
        )

    def build(self, inputs_shape: Shape) -> None:
        """Create the weights for inputs of shape (batch, time, features)."""
        width = checks.num_features(self, inputs_shape)
        for layer in self.layers:
            layer.build((*inputs_shape[:2], width))
            width += layer.output_units if self.couple_directions else layer.units
        hand_down_trainable(self)

    def call(
        self, inputs: Tensor, lengths: Tensor | None = None, mask: Tensor | None = None, training: bool | None = None
    ) -> Tensor | list[Tensor]:
        """Run every layer. See the class for the arguments."""
        inputs, lengths = recurrence.real_inputs(inputs, lengths, mask, self.compute_dtype)
        loop = recurrence.open_loop(inputs, lengths, self.kernel, training, "layer")
        if loop.kernel.groups_layers and not self.remat:
            states = recurrence.dense_bilstm(
                loop, [layer.direction_weights() for layer in self.layers], self.couple_directions
            )
        else:
            sequences = [loop.inputs]
            for layer in self.layers:
                sequences = self._run(layer, loop, sequences)
            states = [ops.concatenate(sequences[i : i + 2], axis=-1) for i in range(1, len(sequences), 2)]
        return loop.close(states) if self.return_all_layers else loop.close(states[-1:])[0]

    def _run(self, layer: BiLSTM, loop: recurrence.Loop, sequences: list[Tensor]) -> list[Tensor]:
        """Return a layer's inputs followed by its states. The directions stay separate until they are read.

        The inputs pass through ``run`` to the layers above, so that their gradients come back as one sum instead of
        being kept, one per reader, until the last one has arrived.
        """

        def run(*states: Tensor) -> list[Tensor]:
            forward = backward = list(states)
            if not self.couple_directions:
                forward, backward = ([states[0], *states[d::2]] for d in (1, 2))
            return [*states, *layer.run(loop, forward, backward_inputs=backward)[0]]

        return (keras.remat(run) if self.remat else run)(*sequences)

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor | list[Tensor | None] | None:
        """Pass the mask on with the states."""
        return [mask] * len(self.layers) if self.return_all_layers else mask

    def compute_output_shape(self, inputs_shape: Shape, **_: object) -> Shape | list[Shape]:
        """Return the shape of the top states, or those of every layer."""
        shapes = [(*inputs_shape[:2], layer.output_units) for layer in self.layers]
        return shapes if self.return_all_layers else shapes[-1]

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        names = (
            *("num_dense_layers", "dense_units", "top_units", "couple_directions", "return_all_layers", "remat"),
            *("kernel_initializer", "recurrent_initializer", "unit_forget_bias", "kernel"),
        )
        return super().get_config() | arguments_of(self, *names)
