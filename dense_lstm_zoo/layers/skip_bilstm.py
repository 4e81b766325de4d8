"""Deep Bi-LSTM with gated skip connections (Wu et al. 2016)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import keras
from keras import ops

from dense_lstm_zoo import checks
from dense_lstm_zoo.layers import recurrence
from dense_lstm_zoo.layers.bidirectional import DIRECTIONS, BidirectionalEncoder
from dense_lstm_zoo.layers.gated_skip_lstm import GatedSkipLSTMCell
from dense_lstm_zoo.layers.initializers import Blocks, InitializerLike, find_initializer, fresh
from dense_lstm_zoo.layers.recurrence import kernels
from dense_lstm_zoo.layers.recurrence.gated_skip import GATED, SKIPS, num_gates, skip_loop, skip_lstm
from dense_lstm_zoo.layers.recurrence.tensors import Shape, Tensor
from dense_lstm_zoo.layers.saving import hand_down_trainable


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class SkipBiLSTM(BidirectionalEncoder):
    """Stacked Bi-LSTM layers with skip connections from each layer's output into the cells two layers above.

    Forward and backward layers are separate stacks that meet at the end (Eq 16). Layer l reads h^{l-1}. From layer
    ``skip_distance`` + 1 on, its cells also read k = h^{l - skip_distance} of the same direction.

    Args:
        num_layers: Depth L.
        units: Width n of a layer, one direction.
        skip: Where k enters. See ``GatedSkipLSTMCell``. ``"none"`` is the deep Bi-LSTM.
        gate_inputs: The input of the skip gates. See ``GatedSkipLSTMCell``.
        skip_distance: How many layers below k comes from.
        project_input: Whether layers with too few layers below get a skip from the input, projected to ``units``.
        interleave: Whether every layer reads both directions of the layer below.
        dropout: Rate on the outputs of the first and the last layer, also to skips, but never on the recurrence.
        recurrent_initializer: Initialiser of each gate's recurrent matrix. None means orthogonal matrices.
        forget_bias: Initial value of the forget gates' biases.
        gate_bias: Initial value of the skip gates' biases.
        kernel: The kernel that runs the loop over time. See ``dense_lstm_zoo.layers.recurrence.kernels``.
        seed: Seed for the dropout masks.
        **kwargs: Arguments of ``keras.layers.Layer``.

    Call arguments:
        inputs: (batch, time, features), right-padded.
        lengths: (batch,), the real steps of each row. None means those of ``mask``, else all steps.
        mask: (batch, time), right-padded.
        training: Whether to apply dropout.

    Returns:
        (batch, time, 2 units), [forward; backward] of the top layer, zeros past the length.

    Raises:
        ValueError: A value out of range, an input of another rank.

    Reference: Wu et al. 2016, Eqs 9-16, Table 2. Parameters: sum_l 2 G_l n (in_l + n + 1) for input width in_l, then n
    (2n with ``interleave``), where G_l = 5 if layer l has a gated skip, else 4.

    Example:
        >>> import numpy as np
        >>> SkipBiLSTM(3, 4)(np.ones((2, 6, 5), "float32"), lengths=np.array([6, 2])).shape
        TensorShape([2, 6, 8])
    """

    ARGUMENTS: ClassVar[tuple[str, ...]] = (
        *("num_layers", "units", "skip", "gate_inputs", "skip_distance", "project_input", "interleave"),
        *("dropout", "recurrent_initializer", "forget_bias", "gate_bias", "kernel", "seed"),
    )

    def __init__(
        self,
        num_layers: int,
        units: int,
        skip: str = "gated_outputs",
        *,
        gate_inputs: str = "below",
        skip_distance: int = 2,
        project_input: bool = False,
        interleave: bool = False,
        dropout: float = 0.0,
        recurrent_initializer: InitializerLike | None = None,
        forget_bias: float = 0.0,
        gate_bias: float = 0.0,
        kernel: str = "auto",
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, dropout, kernel, seed, **kwargs)
        self.num_layers = checks.integer("num_layers", num_layers)
        self.skip = checks.one_of("skip", skip, SKIPS)
        self.gate_inputs = gate_inputs
        self.skip_distance = checks.integer("skip_distance", skip_distance)
        self.project_input, self.interleave = project_input, interleave
        self.recurrent_initializer = recurrent_initializer and find_initializer(recurrent_initializer)
        self.forget_bias, self.gate_bias = float(forget_bias), float(gate_bias)
        self.cells = [[self._cell(layer, name) for name in DIRECTIONS] for layer in range(1, self.num_layers + 1)]
        first = [layer for layer in range(1, self.num_layers + 1) if self._skips_from(layer) == 0]
        self.projections = (
            [
                keras.layers.Dense(
                    self.units,
                    use_bias=False,
                    kernel_initializer=fresh(self.cells[0][0].kernel_initializer),
                    dtype=self.dtype_policy,
                    name=f"{name}_input",
                )
                for name in DIRECTIONS
            ]
            if first
            else []
        )

    def _skips_from(self, layer: int) -> int | None:
        """Return the layer whose output is skipped into ``layer`` (both from 1), 0 for the input, None for none."""
        below = layer - self.skip_distance
        if self.skip == "none" or below < 0 or (below == 0 and not self.project_input):
            return None
        return below

    def _cell(self, layer: int, direction: str) -> GatedSkipLSTMCell:
        skip = "none" if self._skips_from(layer) is None else self.skip
        initializer = self.recurrent_initializer
        return GatedSkipLSTMCell(
            self.units,
            skip,
            gate_inputs=self.gate_inputs,
            recurrent_initializer=initializer and Blocks(fresh(initializer), [self.units] * num_gates(skip)),
            forget_bias=self.forget_bias,
            gate_bias=self.gate_bias,
            dtype=self.dtype_policy,
            name=f"{direction}_{layer}",
        )

    def build(self, inputs_shape: Shape) -> None:
        """Create the weights for inputs of shape (batch, time, features)."""
        features = checks.num_features(self, inputs_shape)
        for layer, cells in enumerate(self.cells):
            width = features if layer == 0 else self.units * (2 if self.interleave else 1)
            for cell in cells:
                cell.build((inputs_shape[0], width + cell.skip_width))
        for projection in self.projections:
            projection.build(inputs_shape)
        hand_down_trainable(self)

    def call(
        self, inputs: Tensor, lengths: Tensor | None = None, mask: Tensor | None = None, training: bool | None = None
    ) -> Tensor:
        """Run every layer. See the class for the arguments."""
        inputs, lengths = recurrence.real_inputs(inputs, lengths, mask, self.compute_dtype)
        loop = recurrence.open_loop(inputs, lengths, self.kernel, training)

        def run(cell: GatedSkipLSTMCell, z: Tensor, k: Tensor | None, reverse: bool) -> Tensor:
            return skip_lstm(loop, z, k, recurrence.wide(cell.recurrent_kernel), skip=cell.skip, reverse=reverse)

        return loop.close([ops.concatenate(self._run(loop.inputs, run, training)[-1], axis=-1)])[0]

    def explain_kernel(self) -> str:
        """Return which kernel runs in which layers, and why."""
        loops = ["lstm" if cells[0].skip == "none" else "steps" for cells in self.cells]
        first = loops.index("steps") if "steps" in loops else self.num_layers  # plain LSTMs come first
        below, above = (kernels.explain(self.kernel, loop) for loop in ("lstm", "steps"))
        if below == above or first in (0, self.num_layers):
            return below if first else above
        return f"layers 1 to {first} {below}; layers {first + 1} to {self.num_layers} {above}"

    def gates(self, inputs: Tensor, lengths: Tensor | None = None) -> list[Tensor]:
        """Return the activations of the skip gates: (batch, time, 2 units) for each layer that has them, bottom up.

        Args:
            inputs: As in a call.
            lengths: As in a call.

        Raises:
            ValueError: A ``skip`` without a gate.
        """
        if self.skip not in GATED:
            raise ValueError(f"skip={self.skip!r} has no gate. Accepted: {', '.join(GATED)}.")
        inputs, lengths = recurrence.real_inputs(inputs, lengths, None, self.compute_dtype)
        loop, activations = recurrence.open_loop(inputs, lengths, "portable", False), []

        def run(cell: GatedSkipLSTMCell, z: Tensor, k: Tensor | None, reverse: bool) -> Tensor:
            recurrent = recurrence.wide(cell.recurrent_kernel)
            states = skip_loop(loop, z, k, recurrent, skip=cell.skip, reverse=reverse)
            activations.extend([states["g"]] if "g" in states else [])
            return states["h"]

        self._run(loop.inputs, run, training=False)
        return loop.close([ops.concatenate(activations[i : i + 2], axis=-1) for i in range(0, len(activations), 2)])

    def _run(
        self,
        inputs: Tensor,
        run: Callable[[GatedSkipLSTMCell, Tensor, Tensor | None, bool], Tensor],
        training: bool | None,
    ) -> list[list[Tensor]]:
        """Return the states of both directions of every layer, with the (projected) input as layer 0."""
        dtype = inputs.dtype
        outputs: list[list[Tensor]] = [[projection(inputs) for projection in self.projections]]
        layer_inputs = [inputs, inputs]
        for layer, cells in enumerate(self.cells, start=1):
            source = self._skips_from(layer)
            states = []
            for d, cell in enumerate(cells):
                k = None if source is None else recurrence.wide(outputs[source][d])
                output = run(
                    cell,
                    recurrence.wide(cell.project(layer_inputs[d], None if k is None else ops.cast(k, dtype))),
                    k,
                    bool(d),
                )
                states.append(ops.cast(output, dtype))
            if training and self.dropout and layer in (1, self.num_layers):
                states = [keras.random.dropout(x, self.dropout, seed=self.seed_generator) for x in states]
            outputs.append(states)
            layer_inputs = [ops.concatenate(states, axis=-1)] * 2 if self.interleave else states
        return outputs
