"""Stacked recurrent layers, wired densely or otherwise, with states as inputs and outputs (Godin et al. 2017)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import keras
from keras import ops

from dense_lstm_zoo import checks
from dense_lstm_zoo.layers import recurrence
from dense_lstm_zoo.layers.dropout import drop
from dense_lstm_zoo.layers.initializers import InitializerLike, find_initializer, fresh
from dense_lstm_zoo.layers.kernel_layer import KernelLayer
from dense_lstm_zoo.layers.lstm import LSTM
from dense_lstm_zoo.layers.recurrence import kernels
from dense_lstm_zoo.layers.recurrence.tensors import Shape, Tensor
from dense_lstm_zoo.layers.saving import arguments_of, hand_down_trainable

WIRINGS = ("dense", "stacked", "skip", "residual")
CELLS = ("lstm", "gru", "simple_rnn")
_Part = TypeVar("_Part")
# (layer, its inputs, its initial states) -> its outputs over time, its final states
Run = Callable[[int, list[Tensor], list[Tensor] | None], tuple[Tensor, list[Tensor]]]


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class RecurrentStack(KernelLayer):
    """Stacked recurrent layers with states as inputs and outputs, in the wirings compared by Godin et al. 2017.

    With h_0 = e, the input, layer l = 1..L reads

    - ``dense`` (Eq 10): [e; h_1; ...; h_{l-1}]
    - ``stacked`` (Eqs 6-7): h_{l-1}
    - ``skip`` (Eq 8): [h_{l-1}; h_{l-2}], layer 1 only the input
    - ``residual`` (Eq 9): h_{l-1} + h_{l-2}, layer 1 only the input

    ``dense`` returns [e; h_1; ...; h_L], the others h_L.

    Args:
        num_layers: Depth L.
        units: Width h of every layer.
        wiring: ``"dense"``, ``"stacked"``, ``"skip"`` or ``"residual"``.
        cell: ``"lstm"``, ``"gru"`` or ``"simple_rnn"``. The LSTM runs on the project's kernels, the others on Keras's.
        dropout: Rate on the input and on every layer's output, but not on the recurrence, with a new mask each step.
        variational_dropout: Whether to use one mask for all steps of a call instead.
        input_dropout: A separate rate on the input. None uses ``dropout``.
        output_dropout: A separate rate on the output, which then has its own masks. None uses ``dropout``.
        recurrent_dropout: Rate on the recurrent state, one mask for all steps of a call. The LSTM then trains on the
            portable kernel.
        weight_dropout: Rate on the LSTM's recurrent kernels, with one mask per call (DropConnect, Merity et al. 2018).
        dropout_sharing: ``"per_output"``, one mask per output, shared by all its readers, or ``"per_reader"``.
        return_state: Whether to return the final states as well.
        return_all_layers: Whether to return a list of every layer's outputs, without dropout, instead of the top.
        kernel_initializer: Initialiser of the input kernels.
        recurrent_initializer: Initialiser of the recurrent kernels.
        bias_initializer: Initialiser of the biases.
        unit_forget_bias: Whether the LSTM's forget gates start with a bias of 1 instead.
        kernel: The kernel that runs the loop over time of an LSTM. See ``dense_lstm_zoo.layers.recurrence.kernels``.
        seed: Seed for the dropout masks.
        **kwargs: Arguments of ``keras.layers.Layer``.

    Call arguments:
        inputs: (batch, time, features). ``residual`` needs as many features as units. Without an LSTM, Keras's loop
            needs a time of at least 1.
        lengths: (batch,), the real steps of each row. None means those of ``mask``, else all steps.
        mask: (batch, time), right-padded.
        initial_state: A list with h and c (only h for other cells) of each layer, bottom to top, (batch, units) each.
            The default is zeros.
        training: Whether to apply dropout.

    Returns:
        (batch, time, features + L units) with ``dense``, else (batch, time, units). Zeros past the lengths. With
        ``return_state`` a list of that and the final states, in the order of ``initial_state``.

    Raises:
        ValueError: A value out of range, a width that ``residual`` cannot add, ``weight_dropout`` for another cell.

    Example:
        >>> import numpy as np
        >>> layer = RecurrentStack(2, 4, wiring="dense", return_state=True)
        >>> y, *state = layer(np.ones((3, 5, 6), "float32"))
        >>> y.shape, len(state), layer(np.ones((3, 5, 6), "float32"), initial_state=state)[0].shape
        (TensorShape([3, 5, 14]), 4, TensorShape([3, 5, 14]))
    """

    def __init__(
        self,
        num_layers: int,
        units: int,
        *,
        wiring: str = "stacked",
        cell: str = "lstm",
        dropout: float = 0.0,
        variational_dropout: bool = False,
        input_dropout: float | None = None,
        output_dropout: float | None = None,
        recurrent_dropout: float = 0.0,
        weight_dropout: float = 0.0,
        dropout_sharing: str = "per_output",
        return_state: bool = False,
        return_all_layers: bool = False,
        kernel_initializer: InitializerLike = "glorot_uniform",
        recurrent_initializer: InitializerLike = "orthogonal",
        bias_initializer: InitializerLike = "zeros",
        unit_forget_bias: bool = True,
        kernel: str = "auto",
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(kernel, **kwargs)
        self.num_layers = checks.integer("num_layers", num_layers)
        self.units = checks.integer("units", units)
        self.wiring = checks.one_of("wiring", wiring, WIRINGS)
        self.cell = checks.one_of("cell", cell, CELLS)
        self.dropout = checks.fraction("dropout", dropout)
        self.variational_dropout = variational_dropout
        self.input_dropout = None if input_dropout is None else checks.fraction("input_dropout", input_dropout)
        self.output_dropout = None if output_dropout is None else checks.fraction("output_dropout", output_dropout)
        self.recurrent_dropout = checks.fraction("recurrent_dropout", recurrent_dropout)
        if self.recurrent_dropout and keras.config.backend() == "tensorflow":
            self.supports_jit = False  # the portable loop has it, whatever the kernel
        self.weight_dropout = checks.fraction("weight_dropout", weight_dropout)
        if weight_dropout and cell != "lstm":
            raise ValueError(f"weight_dropout masks the recurrent kernels of an LSTM; received cell={cell!r}.")
        self.dropout_sharing = checks.one_of("dropout_sharing", dropout_sharing, ("per_output", "per_reader"))
        self.return_state = return_state
        self.return_all_layers = return_all_layers
        self.kernel_initializer = find_initializer(kernel_initializer)
        self.recurrent_initializer = find_initializer(recurrent_initializer)
        self.bias_initializer = find_initializer(bias_initializer)
        self.unit_forget_bias = unit_forget_bias
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.layers = [self._cell(i) for i in range(self.num_layers)]

    @property
    def states_per_layer(self) -> int:
        """2 for an LSTM (h, c), else 1 (h)."""
        return 2 if self.cell == "lstm" else 1

    def _cell(self, i: int) -> keras.layers.Layer:
        # An initialiser gives the same numbers each time it is called: so each weight gets its own clone.
        common = {
            "kernel_initializer": fresh(self.kernel_initializer),
            "recurrent_initializer": fresh(self.recurrent_initializer),
            "bias_initializer": fresh(self.bias_initializer),
            "return_state": True,
            "dtype": self.dtype_policy,
            "name": f"{self.cell}_{i + 1}",
        }
        if self.cell == "lstm":
            return LSTM(self.units, unit_forget_bias=self.unit_forget_bias, kernel=self.kernel, **common)
        common |= {"return_sequences": True, "recurrent_dropout": self.recurrent_dropout}
        common["seed"] = None if self.seed is None else self.seed + i + 1
        if self.cell == "simple_rnn":
            return keras.layers.SimpleRNN(self.units, **common)
        # Exports are for machines without a GPU too.
        return keras.layers.GRU(self.units, use_cudnn="auto" if self.kernel in ("auto", "cudnn") else False, **common)

    def build(self, inputs_shape: Shape) -> None:
        """Create the weights for inputs of shape (batch, time, features)."""
        features = checks.num_features(self, inputs_shape)
        if self.wiring == "residual" and self.num_layers > 1 and features != self.units:
            raise ValueError(
                f"wiring='residual' adds layers to the input and needs as many features as units = {self.units}; "
                f"received {features}."
            )
        widths = [features]
        for layer in self.layers:
            width = sum(self._inputs_of_next(widths, sum_of=lambda parts: parts[0]))
            layer.build((*inputs_shape[:2], width))
            widths.append(self.units)
        hand_down_trainable(self)

    def _inputs_of_next(self, below: list[_Part], sum_of: Callable[[list[_Part]], _Part]) -> list[_Part]:
        """Return the inputs of the next layer, as parts to concatenate, from the input and the layers below."""
        if self.wiring == "dense":
            return below
        if self.wiring == "stacked" or len(below) == 1:
            return below[-1:]
        return below[-2:][::-1] if self.wiring == "skip" else [sum_of(below[-2:])]

    def call(
        self,
        inputs: Tensor,
        lengths: Tensor | None = None,
        mask: Tensor | None = None,
        initial_state: Sequence[Tensor] | None = None,
        training: bool | None = None,
    ) -> Tensor | list[Tensor]:
        """Run every layer. See the class for the arguments."""
        mask = recurrence.attached_mask(inputs) if lengths is None and mask is None else mask
        padded = lengths is not None or mask is not None
        inputs, lengths = recurrence.real_inputs(inputs, lengths, mask, self.compute_dtype)
        start: list[list[Tensor] | None] = [None] * self.num_layers
        if initial_state is not None:
            start = checks.layer_states(initial_state, self.num_layers, self.states_per_layer, self.units)
        if self.cell == "lstm":
            dropping = training and self.recurrent_dropout
            loop = recurrence.open_loop(inputs, lengths, "portable" if dropping else self.kernel, training, "layer")
            weight_dropout = self.weight_dropout if training else 0.0

            def drop_weights(recurrent_kernel: Tensor) -> Tensor:
                return drop(recurrent_kernel, weight_dropout, self.seed_generator)

            def run(i: int, parts: list[Tensor], start: list[Tensor] | None) -> tuple[Tensor, list[Tensor]]:
                recurrent_mask = self._recurrent_mask(parts[0]) if dropping else None
                (states,), (h,), (c,) = self.layers[i].run(
                    loop, parts, start, True, recurrent_mask=recurrent_mask, drop_weights=drop_weights
                )
                return states, [h, c]

            results = loop.close(self._wire(loop.inputs, run, start, training, time_axis=0))
        else:
            real = recurrence.real_steps(lengths, ops.shape(inputs)[1])[:, :, 0]

            def run(i: int, parts: list[Tensor], start: list[Tensor] | None) -> tuple[Tensor, list[Tensor]]:
                outputs, *states = self.layers[i](
                    ops.concatenate(parts, axis=-1), mask=real, initial_state=start, training=training
                )
                return outputs, states

            results = self._wire(inputs, run, start, training, time_axis=1)
        sequences = results[: len(results) - self.num_layers * self.states_per_layer]
        if padded and self.cell != "lstm":  # Keras repeats the last state at padding
            real = recurrence.real_steps(lengths, ops.shape(inputs)[1])
            sequences = [ops.where(real, x, ops.zeros_like(x)) for x in sequences]
        states = results[len(sequences) :] if self.return_state else []
        return [*sequences, *states] if len(sequences) + len(states) > 1 else sequences[0]

    def _wire(
        self, inputs: Tensor, run: Run, start: list[list[Tensor] | None], training: bool | None, time_axis: int
    ) -> list[Tensor]:
        """Return the sequences that the layer returns, followed by the final states of all layers."""
        axis = time_axis if self.variational_dropout else None

        def drop_at(rate: float, x: Tensor) -> Tensor:
            return drop(x, rate if training else 0.0, self.seed_generator, shared_axis=axis)

        # The readable tensors, each with the dropout rate that a reader still has to apply.
        def offer(x: Tensor, rate: float) -> tuple[Tensor, float]:
            return (drop_at(rate, x), 0.0) if self.dropout_sharing == "per_output" else (x, rate)

        below = [offer(inputs, self.dropout if self.input_dropout is None else self.input_dropout)]
        outputs, states = [], []
        for i in range(self.num_layers):
            offers = self._inputs_of_next(below, sum_of=lambda parts: (parts[0][0] + parts[1][0], parts[1][1]))
            output, final = run(i, [drop_at(rate, x) for x, rate in offers], start[i])
            below.append(offer(output, self.dropout))
            outputs.append(output)
            states += final
        if self.return_all_layers:
            return [*outputs, *states]
        if self.output_dropout is not None:
            below = [(x, self.output_dropout) for x in (inputs, *outputs)]
        top = below if self.wiring == "dense" else below[-1:]
        return [ops.concatenate([drop_at(rate, x) for x, rate in top], axis=-1), *states]

    def _recurrent_mask(self, inputs: Tensor) -> Tensor:
        """Return a mask of the recurrent state for time-major inputs: 0, or 1 / (1 - rate), the same for all steps."""
        return drop(
            ops.ones((ops.shape(inputs)[1], self.units), "float32"), self.recurrent_dropout, self.seed_generator
        )

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor | list[Tensor | None] | None:
        """Pass the mask on with the sequences, and drop it with the states."""
        sequences = self.num_layers if self.return_all_layers else 1
        states = self.num_layers * self.states_per_layer if self.return_state else 0
        return mask if sequences + states == 1 else [mask] * sequences + [None] * states

    def compute_output_shape(self, inputs_shape: Shape, **_: object) -> Shape | list[Shape]:
        """Return the shapes of the sequences and the states."""
        width = self.units
        if self.wiring == "dense" and not self.return_all_layers:
            width = checks.num_features(self, inputs_shape) + self.num_layers * self.units
        shapes = [(*inputs_shape[:2], width)] * (self.num_layers if self.return_all_layers else 1)
        if self.return_state:
            shapes += [(inputs_shape[0], self.units)] * (self.num_layers * self.states_per_layer)
        return shapes if len(shapes) > 1 else shapes[0]

    def explain_kernel(self) -> str:
        """Return which kernel runs, and why."""
        if self.cell != "lstm":
            return f"keras: a {self.cell} has no kernel here"
        if not self.recurrent_dropout:
            return super().explain_kernel()
        return f"portable in training: recurrent dropout; otherwise {kernels.explain(self.kernel, in_training=False)}"

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        names = (
            *("num_layers", "units", "wiring", "cell", "dropout", "variational_dropout", "input_dropout"),
            *("output_dropout", "recurrent_dropout", "weight_dropout", "dropout_sharing"),
            *("return_state", "return_all_layers", "unit_forget_bias", "kernel", "seed"),
            *("kernel_initializer", "recurrent_initializer", "bias_initializer"),
        )
        return super().get_config() | arguments_of(self, *names)


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class DenseLSTM(RecurrentStack):
    """Densely connected LSTM with states as inputs and outputs (Godin et al. 2017, Eq 10).

    x_l = [e; h_1; ...; h_{l-1}],  h_l, c_l = LSTM_l(x_l),  y = [e; h_1; ...; h_L].

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
