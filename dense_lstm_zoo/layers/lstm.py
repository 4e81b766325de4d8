"""LSTM layer on the project's time loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import keras
from keras import ops

from dense_lstm_zoo import checks
from dense_lstm_zoo.layers import recurrence
from dense_lstm_zoo.layers.initializers import InitializerLike, find_initializer, fresh
from dense_lstm_zoo.layers.kernel_layer import KernelLayer
from dense_lstm_zoo.layers.recurrence import kernels
from dense_lstm_zoo.layers.recurrence.tensors import Shape, Tensor
from dense_lstm_zoo.layers.saving import arguments_of


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class LSTM(KernelLayer):
    """Long short-term memory over right-padded sequences, with explicit lengths.

    z = W x_t + R h_{t-1} + b is split into i, f, c and o. Then
    c_t = sigmoid(z_f) c_{t-1} + sigmoid(z_i) tanh(z_c) and h_t = sigmoid(z_o) tanh(c_t).

    It computes the same as ``keras.layers.LSTM`` under a right-padded mask, and its weights have the same order, shapes
    and names, so ``set_weights`` and ``get_weights`` copy them both ways. The differences:

    - ``return_sequences`` is true by default, and all arguments but ``units`` are keywords.
    - Lengths are passed explicitly, and states past them are zeros. Keras repeats the last state there.
    - A mask with padding before a real step is refused. Keras skips such steps.
    - Gates and bias are fixed: no ``activation``, ``recurrent_activation`` and ``use_bias``.
    - No ``dropout``, ``recurrent_dropout`` and ``seed``, no ``stateful``, ``unroll`` and ``use_cudnn``.
    - No regularizers and constraints of weights as arguments, such as ``kernel_regularizer`` and ``bias_constraint``.
    - No ``go_backwards``, and so no ``keras.layers.Bidirectional`` around it. ``BiLSTM`` is both.

    Each keyword of Keras that is not taken raises an error that says what to use instead.

    Args:
        units: Width u of the state.
        return_sequences: Whether to return every state (default) or the one after each row's last real step.
        return_state: Whether to return the final h and c as well.
        kernel_initializer: Initialiser of the input kernels.
        recurrent_initializer: Initialiser of the recurrent kernels.
        bias_initializer: Initialiser of the biases.
        unit_forget_bias: Whether the forget gate's bias starts at 1 instead.
        kernel: The kernel that runs the loop over time: ``"auto"`` (default), ``"portable"``, ``"native"``,
            ``"compiled"`` or ``"cudnn"``. See ``dense_lstm_zoo.layers.recurrence.kernels``. All compute the same.
        **kwargs: Arguments of ``keras.layers.Layer`` (``name``, ``dtype``, ``trainable``).

    Call arguments:
        inputs: (batch, time, features), time at least 1.
        lengths: (batch,), the real steps of each row, 0 to time. None means those of ``mask``, else all steps.
        mask: (batch, time), right-padded. Keras passes it after ``Embedding(mask_zero=True)``.
        initial_state: h and c, each (batch, units). The default is zeros.

    Returns:
        (batch, time, units), or (batch, units) without ``return_sequences``. With ``return_state``, a list of that
        followed by h and c, each (batch, units).

    Raises:
        ValueError: ``units`` is not a positive integer, an argument is unknown or one of Keras that is not taken, the
            kernel is unknown or cannot run here, the input is not three-dimensional, or the mask has padding before a
            real step. In ``fit``, ``evaluate`` and ``predict``, the mask raises TensorFlow's ``InvalidArgumentError``.
            With ``jit_compile=True`` and in exports it is unchecked.

    Reference: Ding et al. 2018, Eqs 1-4 (gates stored in Keras's order).

    Example:
        >>> import numpy as np
        >>> states = LSTM(4)(np.ones((2, 3, 5), "float32"), lengths=np.array([3, 1]))
        >>> states.shape, states[1, 1:].numpy().any()
        (TensorShape([2, 3, 4]), np.False_)
    """

    direction_names: ClassVar[tuple[str, ...]] = ("forward",)

    def __init__(
        self,
        units: int,
        *,
        return_sequences: bool = True,
        return_state: bool = False,
        kernel_initializer: InitializerLike = "glorot_uniform",
        recurrent_initializer: InitializerLike = "orthogonal",
        bias_initializer: InitializerLike = "zeros",
        unit_forget_bias: bool = True,
        kernel: str = "auto",
        **kwargs: Any,
    ) -> None:
        super().__init__(kernel, **kwargs)
        self.units = checks.integer("units", units)
        self.return_sequences = return_sequences
        self.return_state = return_state
        self.kernel_initializer = find_initializer(kernel_initializer)
        self.recurrent_initializer = find_initializer(recurrent_initializer)
        self.bias_initializer = find_initializer(bias_initializer)
        self.unit_forget_bias = unit_forget_bias

    @property
    def output_units(self) -> int:
        """Width of the output: ``units`` times the number of directions."""
        return self.units * len(self.direction_names)

    def build(self, inputs_shape: Shape) -> None:
        """Create the weights for inputs of shape (batch, time, features)."""
        features = checks.num_features(self, inputs_shape)
        self._directions = [self._add_direction(name, features) for name in self.direction_names]

    def _add_direction(self, direction: str, input_dim: int) -> list[keras.Variable]:
        prefix = f"{direction}_" if len(self.direction_names) > 1 else ""
        # An initialiser gives the same numbers each time it is called: so each weight gets its own clone.
        return [
            self.add_weight(
                name=f"{prefix}kernel",
                shape=(input_dim, 4 * self.units),
                initializer=fresh(self.kernel_initializer),
            ),
            self.add_weight(
                name=f"{prefix}recurrent_kernel",
                shape=(self.units, 4 * self.units),
                initializer=fresh(self.recurrent_initializer),
            ),
            self.add_weight(name=f"{prefix}bias", shape=(4 * self.units,), initializer=self._initial_bias),
        ]

    def _initial_bias(self, shape: tuple[int, ...], dtype: str | None = None) -> Tensor:
        bias = fresh(self.bias_initializer or keras.initializers.Zeros())(shape, dtype=dtype)
        if not self.unit_forget_bias:
            return bias
        return ops.concatenate([bias[: self.units], ops.ones((self.units,), dtype), bias[2 * self.units :]])

    def call(
        self,
        inputs: Tensor,
        lengths: Tensor | None = None,
        mask: Tensor | None = None,
        initial_state: Sequence[Tensor] | None = None,
        training: bool | None = None,
    ) -> Tensor | list[Tensor]:
        """Run the loop. See the class for the arguments."""
        mask = recurrence.attached_mask(inputs) if lengths is None and mask is None else mask
        inputs, lengths = recurrence.real_inputs(inputs, lengths, mask, self.compute_dtype)
        if initial_state is not None:
            (initial_state,) = checks.layer_states(initial_state, 1, 2, self.output_units)
        loop = recurrence.open_loop(inputs, lengths, self.kernel, training, "layer")
        final_state = self.return_state or not self.return_sequences
        parts = self.run(loop, [loop.inputs], initial_state, final_state)
        states, *final = loop.close([ops.concatenate(directions, axis=-1) for directions in parts])
        output = states if self.return_sequences else final[0]
        return [output, *final] if self.return_state else output

    def direction_weights(self) -> list[recurrence.LSTMWeights]:
        """Return the weights of each direction."""
        return [recurrence.LSTMWeights(*(w.value for w in d)) for d in self._directions]

    def run(
        self,
        loop: recurrence.Loop,
        inputs: list[Tensor],
        initial_state: Sequence[Tensor] | None = None,
        final_state: bool = False,
        recurrent_mask: Tensor | None = None,
        drop_weights: Callable[[Tensor], Tensor] | None = None,
        backward_inputs: list[Tensor] | None = None,
    ) -> list[list[Tensor]]:
        """Run ``recurrence.lstm`` with the layer's weights. See there for the arguments.

        The result of ``drop_weights`` on a recurrent kernel replaces it, which every kernel supports.
        """
        weights = self.direction_weights()
        if drop_weights is not None:
            weights = [w._replace(recurrent_kernel=drop_weights(w.recurrent_kernel)) for w in weights]
        return recurrence.lstm(
            loop,
            inputs,
            weights,
            initial_state,
            final_state=final_state,
            recurrent_mask=recurrent_mask,
            backward_inputs=backward_inputs,
        )

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor | list[Tensor | None] | None:
        """Pass the mask on with the sequence, and drop it with the last state."""
        output = mask if self.return_sequences else None
        return [output, None, None] if self.return_state else output

    def compute_output_shape(self, inputs_shape: Shape, **_: object) -> Shape | list[Shape]:
        """Return the shape, or with ``return_state`` the three shapes, of the output."""
        state = (inputs_shape[0], self.output_units)
        output = (*inputs_shape[:2], self.output_units) if self.return_sequences else state
        return [output, state, state] if self.return_state else output

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        names = (
            *("units", "return_sequences", "return_state"),
            *("kernel_initializer", "recurrent_initializer", "bias_initializer", "unit_forget_bias", "kernel"),
        )
        return super().get_config() | arguments_of(self, *names)


def compiled_units(layer: keras.layers.Layer) -> set[int]:
    """Return the units of the LSTMs in a layer or model whose training step runs programs for float32."""
    if isinstance(layer, LSTM):
        is_compiled = kernels.pick(layer.kernel, training=True).name == "compiled"
        return {layer.units} if is_compiled and layer.compute_dtype != "float64" else set()
    inner = getattr(layer, "layers", ())  # of a user's own layer it may be anything
    layers = [part for part in inner if isinstance(part, keras.layers.Layer)] if isinstance(inner, list | tuple) else []
    return set().union(*map(compiled_units, layers))


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
