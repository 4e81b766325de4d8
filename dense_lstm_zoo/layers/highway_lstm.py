"""Highway LSTM (Zhang et al. 2016): a cell, and a deep bidirectional stack of such cells."""

from __future__ import annotations

from typing import Any, ClassVar

import keras
from keras import ops

from dense_lstm_zoo import checks
from dense_lstm_zoo.layers import recurrence
from dense_lstm_zoo.layers.bidirectional import DIRECTIONS, BidirectionalEncoder
from dense_lstm_zoo.layers.gated_skip_lstm import GatedSkipLSTMCell
from dense_lstm_zoo.layers.initializers import OrthogonalBlocks, scaled_normal
from dense_lstm_zoo.layers.recurrence.gated_skip import skip_loop
from dense_lstm_zoo.layers.recurrence.highway import highway_loop, highway_step
from dense_lstm_zoo.layers.recurrence.tensors import Shape, Tensor
from dense_lstm_zoo.layers.saving import hand_down_trainable


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class HighwayLSTMCell(keras.layers.Layer):
    """An LSTM step whose c also receives the c of the layer below, through a gate.

    c = f c' + i s + d c_below, where d = sigmoid(W_d x + w_c c' + w_l c_below + b_d). Then h = o tanh(c).

    Args:
        units: Width n of the state, and of ``c_below``.
        input_dim: Features of x. An input must have ``units`` more than that. Without ``input_dim``, the last ``units``
            features of any input are used as ``c_below``.
        **kwargs: Arguments of ``keras.layers.Layer``.

    Call arguments:
        inputs: [x; c_below], (batch, features + units), since ``keras.layers.RNN`` passes one tensor per step.
        states: h and c, (batch, units) each.

    Returns:
        h, (batch, units), and the list [h, c].

    Raises:
        ValueError: A value out of range, or an input that does not hold x and ``c_below``.

    Reference: Zhang et al. 2016, as compared in Wu et al. 2016, Table 2.
    """

    def __init__(self, units: int, *, input_dim: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units = checks.integer("units", units)
        self.input_dim = None if input_dim is None else checks.integer("input_dim", input_dim)
        self.state_size, self.output_size = [self.units, self.units], self.units

    def build(self, inputs_shape: Shape) -> None:
        """Create the weights for inputs of shape (batch, features + units)."""
        n = self.units
        width = checks.cell_width(inputs_shape, "c", n, self.input_dim)
        self.kernel = self.add_weight(name="kernel", shape=(width, 5 * n), initializer=scaled_normal())
        self.recurrent_kernel = self.add_weight(
            name="recurrent_kernel", shape=(n, 4 * n), initializer=OrthogonalBlocks()
        )
        self.bias = self.add_weight(name="bias", shape=(5 * n,), initializer="zeros")
        self.peepholes = self.add_weight(name="peepholes", shape=(2, n), initializer="zeros")

    def project(self, x: Tensor) -> Tensor:
        """Return W x + b for all gates, for one step or for all of them."""
        return ops.matmul(x, self.kernel) + self.bias

    def call(self, inputs: Tensor, states: list[Tensor], training: bool | None = None) -> tuple[Tensor, list[Tensor]]:
        """Run one step. See the class for the arguments."""
        width, (h, c) = ops.shape(inputs)[-1] - self.units, states
        recurrent = ops.pad(ops.matmul(h, self.recurrent_kernel), [[0, 0], [0, self.units]])
        h, c = highway_step(self.project(inputs[..., :width]) + recurrent, c, inputs[..., width:], self.peepholes)
        return h, [h, c]

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the cell."""
        return {**super().get_config(), "units": self.units, "input_dim": self.input_dim}


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class HighwayBiLSTM(BidirectionalEncoder):
    """Stacked highway LSTM layers, with separate forward and backward stacks. The first layer is an LSTM.

    Args:
        num_layers: Depth L.
        units: Width n of a layer, one direction.
        dropout: Dropout rate on the outputs of the first and the last layer.
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

    Reference: Zhang et al. 2016, as compared in Wu et al. 2016, Table 2.

    Example:
        >>> import numpy as np
        >>> HighwayBiLSTM(2, 4)(np.ones((2, 6, 5), "float32"), lengths=np.array([6, 2])).shape
        TensorShape([2, 6, 8])
    """

    ARGUMENTS: ClassVar[tuple[str, ...]] = ("num_layers", "units", "dropout", "kernel", "seed")

    def __init__(
        self,
        num_layers: int,
        units: int,
        *,
        dropout: float = 0.0,
        kernel: str = "auto",
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, dropout, kernel, seed, **kwargs)
        self.num_layers = checks.integer("num_layers", num_layers)
        self.cells = [[self._cell(layer, name) for name in DIRECTIONS] for layer in range(1, self.num_layers + 1)]

    def _cell(self, layer: int, direction: str) -> keras.layers.Layer:
        options = {"dtype": self.dtype_policy, "name": f"{direction}_{layer}"}
        return (
            GatedSkipLSTMCell(self.units, "none", **options) if layer == 1 else HighwayLSTMCell(self.units, **options)
        )

    def build(self, inputs_shape: Shape) -> None:
        """Create the weights for inputs of shape (batch, time, features)."""
        features = checks.num_features(self, inputs_shape)
        for layer, cells in enumerate(self.cells):
            for cell in cells:
                cell.build((inputs_shape[0], features if layer == 0 else 2 * self.units))
        hand_down_trainable(self)

    def call(
        self, inputs: Tensor, lengths: Tensor | None = None, mask: Tensor | None = None, training: bool | None = None
    ) -> Tensor:
        """Run every layer. See the class for the arguments."""
        inputs, lengths = recurrence.real_inputs(inputs, lengths, mask, self.compute_dtype)
        loop = recurrence.open_loop(inputs, lengths, self.kernel, training)
        return loop.close([ops.concatenate([self._direction(loop, d, training) for d in (0, 1)], axis=-1)])[0]

    def _direction(self, loop: recurrence.Loop, d: int, training: bool | None) -> Tensor:
        inputs, c_below, reverse = loop.inputs, None, bool(d)
        dtype = inputs.dtype
        for layer, cells in enumerate(self.cells, start=1):
            cell = cells[d]
            recurrent = recurrence.wide(cell.recurrent_kernel)
            if c_below is None:
                # The layer above reads c, which the project's LSTM kernels do not return.
                projected = recurrence.wide(cell.project(inputs, None))
                states, c_below = skip_loop(loop, projected, None, recurrent, skip="none", reverse=reverse).values()
            else:
                projected, peepholes = recurrence.wide(cell.project(inputs)), recurrence.wide(cell.peepholes)
                states, c_below = highway_loop(loop, projected, c_below, recurrent, peepholes, reverse=reverse)
            inputs = ops.cast(states, dtype)
            if training and self.dropout and layer in (1, self.num_layers):
                inputs = keras.random.dropout(inputs, self.dropout, seed=self.seed_generator)
        return inputs
