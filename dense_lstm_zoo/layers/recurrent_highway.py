"""Recurrent highway network (Zilly et al. 2016): a cell, and a bidirectional layer of such cells."""

from __future__ import annotations

from typing import Any, ClassVar

import keras
from keras import ops

from dense_lstm_zoo import checks
from dense_lstm_zoo.layers import recurrence
from dense_lstm_zoo.layers.bidirectional import DIRECTIONS, BidirectionalEncoder
from dense_lstm_zoo.layers.initializers import OrthogonalBlocks, scaled_normal
from dense_lstm_zoo.layers.recurrence.highway import recurrent_highway_loop, recurrent_highway_step
from dense_lstm_zoo.layers.recurrence.tensors import Shape, Tensor
from dense_lstm_zoo.layers.saving import arguments_of, hand_down_trainable


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class RecurrentHighwayCell(keras.layers.Layer):
    """A step of ``depth`` highway micro-layers with an output gate. The first micro-layer reads x.

    s_0 = y'. For l = 1..depth, s_l = h_l t_l + s_{l-1} c_l, where h is the tanh, and t and c are the sigmoids, of
    s_{l-1} R_l + b_l (+ x W if l = 1). Then y = sigmoid(W_o x + R_o y' + b_o) tanh(s_depth).

    Args:
        units: Width n.
        depth: Micro-layers per step.
        couple_gates: Whether c = 1 - t, which keeps s between -1 and 1.
        transform_bias: Initial value of the biases of t. Below 0, the state is at first mostly carried on.
        **kwargs: Arguments of ``keras.layers.Layer``.

    Call arguments:
        inputs: x, (batch, features).
        states: A list with the previous output, (batch, units).

    Returns:
        y, (batch, units), and the list [y].

    Reference: Zilly et al. 2016, as compared in Wu et al. 2016, Table 2.
    """

    def __init__(
        self,
        units: int,
        depth: int = 3,
        *,
        couple_gates: bool = False,
        transform_bias: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units, self.depth = checks.integer("units", units), checks.integer("depth", depth)
        self.couple_gates, self.transform_bias = couple_gates, float(transform_bias)
        self.state_size, self.output_size = [self.units], self.units

    def build(self, inputs_shape: Shape) -> None:
        """Create the weights for inputs of shape (batch, features)."""
        n, width = self.units, (2 if self.couple_gates else 3) * self.units

        def orthogonal(shape: tuple[int, ...], dtype: str | None = None) -> Tensor:
            return ops.stack([OrthogonalBlocks()(shape[1:], dtype) for _ in range(shape[0])])

        def biases(shape: tuple[int, ...], dtype: str | None = None) -> Tensor:
            row = [0.0] * n + [self.transform_bias] * n + [0.0] * (width - 2 * n)
            return ops.tile(ops.convert_to_tensor([row], dtype or "float32"), (shape[0], 1))

        # x W and x W_o in one product
        self.kernel = self.add_weight(name="kernel", shape=(inputs_shape[-1], width + n), initializer=scaled_normal())
        self.recurrent_kernel = self.add_weight(
            name="recurrent_kernel", shape=(self.depth, n, width), initializer=orthogonal
        )
        self.bias = self.add_weight(name="bias", shape=(self.depth, width), initializer=biases)
        self.output_recurrent_kernel = self.add_weight(
            name="output_recurrent_kernel", shape=(n, n), initializer=OrthogonalBlocks()
        )
        self.output_bias = self.add_weight(name="output_bias", shape=(n,), initializer="zeros")

    def project(self, x: Tensor) -> Tensor:
        """Return W x followed by W_o x + b_o, for one step or for all of them."""
        z = ops.matmul(x, self.kernel)
        return ops.concatenate([z[..., : -self.units], z[..., -self.units :] + self.output_bias], axis=-1)

    def call(self, inputs: Tensor, states: list[Tensor], training: bool | None = None) -> tuple[Tensor, list[Tensor]]:
        """Run one step. See the class for the arguments."""
        z = self.project(inputs)
        weights = self.recurrent_kernel.value, self.bias.value, self.output_recurrent_kernel.value
        y = recurrent_highway_step(z[..., : -self.units], z[..., -self.units :], states[0], *weights)
        return y, [y]

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the cell."""
        return super().get_config() | arguments_of(self, "units", "depth", "couple_gates", "transform_bias")


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class BiRecurrentHighway(BidirectionalEncoder):
    """Recurrent highway network in both directions: [forward y; backward y].

    Args:
        units: Width n of one direction.
        depth: Micro-layers per step (L).
        couple_gates: Whether c = 1 - t.
        dropout: Dropout rate on the output.
        kernel: The kernel that runs the loop over time. See ``dense_lstm_zoo.layers.recurrence.kernels``.
        seed: Seed for the dropout masks.
        **kwargs: Arguments of ``keras.layers.Layer``.

    Call arguments:
        inputs: (batch, time, features), right-padded.
        lengths: (batch,), the real steps of each row. None means those of ``mask``, else all steps.
        mask: (batch, time), right-padded.
        training: Whether to apply dropout.

    Returns:
        (batch, time, 2 units), zeros past the length.

    Reference: Zilly et al. 2016, as compared in Wu et al. 2016, Table 2 (L = 3, with output gates).

    Example:
        >>> import numpy as np
        >>> BiRecurrentHighway(4)(np.ones((2, 6, 5), "float32"), lengths=np.array([6, 2])).shape
        TensorShape([2, 6, 8])
    """

    ARGUMENTS: ClassVar[tuple[str, ...]] = ("units", "depth", "couple_gates", "dropout", "kernel", "seed")

    def __init__(
        self,
        units: int,
        depth: int = 3,
        *,
        couple_gates: bool = False,
        dropout: float = 0.0,
        kernel: str = "auto",
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, dropout, kernel, seed, **kwargs)
        self.depth, self.couple_gates = depth, couple_gates
        self.cells = [
            RecurrentHighwayCell(units, depth, couple_gates=couple_gates, dtype=self.dtype_policy, name=name)
            for name in DIRECTIONS
        ]

    def build(self, inputs_shape: Shape) -> None:
        """Create the weights for inputs of shape (batch, time, features)."""
        for cell in self.cells:
            cell.build((inputs_shape[0], checks.num_features(self, inputs_shape)))
        hand_down_trainable(self)

    def call(
        self, inputs: Tensor, lengths: Tensor | None = None, mask: Tensor | None = None, training: bool | None = None
    ) -> Tensor:
        """Run both directions. See the class for the arguments."""
        inputs, lengths = recurrence.real_inputs(inputs, lengths, mask, self.compute_dtype)
        loop = recurrence.open_loop(inputs, lengths, self.kernel, training)
        ran = []
        for d, cell in enumerate(self.cells):
            weights = cell.recurrent_kernel, cell.bias, cell.output_recurrent_kernel
            recurrent, bias, output = map(recurrence.wide, weights)
            projected = recurrence.wide(cell.project(loop.inputs))
            ran.append(recurrent_highway_loop(loop, projected, recurrent, bias, output, reverse=bool(d)))
        outputs = loop.close([ops.cast(ops.concatenate(ran, axis=-1), inputs.dtype)])[0]
        if training and self.dropout:
            outputs = keras.random.dropout(outputs, self.dropout, seed=self.seed_generator)
        return outputs
