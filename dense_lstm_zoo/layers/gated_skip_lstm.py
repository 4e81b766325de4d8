"""LSTM cell with a skip connection inside (Wu et al. 2016)."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from dense_lstm_zoo import checks
from dense_lstm_zoo.layers.initializers import InitializerLike, OrthogonalBlocks, find_initializer, fresh, scaled_normal
from dense_lstm_zoo.layers.recurrence.gated_skip import SKIPS, num_gates, skip_step
from dense_lstm_zoo.layers.recurrence.tensors import Shape, Tensor
from dense_lstm_zoo.layers.saving import arguments_of

_ARGUMENTS = (
    *("units", "gate_inputs", "input_dim", "forget_bias", "gate_bias"),
    *("kernel_initializer", "recurrent_initializer"),
)


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class GatedSkipLSTMCell(keras.layers.Layer):
    """An LSTM step with a skip connection from the output k of a lower layer, which also enters the recurrent h.

    With z = W x + U h' + b, s = tanh(z_s), and the gates i, f, o the sigmoids of theirs:

    - ``none`` (Eq 9): c = f c' + i s and h = o tanh(c)
    - ``gates`` (Eq 10): as ``none``, with z + [k; k; k; k]
    - ``internals`` (Eqs 11-12): c = f c' + i s + k
    - ``gated_internals`` (Table 2): c = f c' + i s + g k
    - ``outputs`` (Eqs 13-14): h = o tanh(c) + k
    - ``gated_outputs`` (Eq 15): h = o tanh(c) + g k
    - ``gated_sigmoid`` (Table 2): h = o tanh(c) + g sigmoid(k)

    where g = sigmoid(W_g x + U_g h' + b_g). Weights have the shapes of a Keras LSTM's, with the skip gate as the fifth.

    Args:
        units: Width n of the state, and of k.
        skip: One of the above. None means ``"gated_outputs"``. A step's single input tensor does not show whether it
            holds k, so either ``skip`` (or ``gate_inputs="skip"``) or ``input_dim`` must be given.
        gate_inputs: Input of g besides h': ``"below"``, the layer's input (Eq 15), or ``"skip"``, k (section 6.1.4).
        input_dim: Features of x. An input must have ``input_dim`` features, plus ``units`` with a skip.
        forget_bias: Initial value of the forget gate's bias.
        gate_bias: Initial value of the bias of g.
        kernel_initializer: Initialiser of the input kernels. None means N(0, 0.1 / sqrt(fan_in)).
        recurrent_initializer: Initialiser of the recurrent kernel. None means one orthogonal matrix per gate.
        **kwargs: Arguments of ``keras.layers.Layer``.

    Call arguments:
        inputs: [x; k], (batch, features + units), since ``keras.layers.RNN`` passes one tensor per step, or x alone
            with ``skip="none"``.
        states: h and c, (batch, units) each.

    Returns:
        h, (batch, units), and the list [h, c].

    Raises:
        ValueError: A value out of range, an input that is too narrow to hold k or does not match ``input_dim``, or
            neither ``skip`` nor ``input_dim`` given.

    Example:
        >>> import numpy as np
        >>> rnn = keras.layers.RNN(GatedSkipLSTMCell(4, "gated_outputs", input_dim=5), return_sequences=True)
        >>> x, k = np.ones((2, 3, 5), "float32"), np.ones((2, 3, 4), "float32")
        >>> rnn(np.concatenate([x, k], axis=-1)).shape
        TensorShape([2, 3, 4])
    """

    def __init__(
        self,
        units: int,
        skip: str | None = None,
        *,
        gate_inputs: str = "below",
        input_dim: int | None = None,
        forget_bias: float = 0.0,
        gate_bias: float = 0.0,
        kernel_initializer: InitializerLike = None,
        recurrent_initializer: InitializerLike = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units = checks.integer("units", units)
        self.skip = "gated_outputs" if skip is None else checks.one_of("skip", skip, SKIPS)
        self.gate_inputs = checks.one_of("gate_inputs", gate_inputs, ("below", "skip"))
        self.input_dim = None if input_dim is None else checks.integer("input_dim", input_dim)
        self._holds_skip = not (skip is None and gate_inputs == "below" and input_dim is None)
        self.forget_bias, self.gate_bias = float(forget_bias), float(gate_bias)
        self.kernel_initializer = find_initializer(kernel_initializer or scaled_normal())
        self.recurrent_initializer = find_initializer(recurrent_initializer or OrthogonalBlocks())
        self.state_size = [self.units, self.units]
        self.output_size = self.units

    @property
    def num_gates(self) -> int:
        """5 if the skip has a gate, else 4."""
        return num_gates(self.skip)

    @property
    def skip_width(self) -> int:
        """The number of last input features that are k."""
        return 0 if self.skip == "none" else self.units

    def build(self, inputs_shape: Shape) -> None:
        """Create the weights for inputs of shape (batch, features + skip_width)."""
        if not self._holds_skip:
            raise ValueError(
                f"GatedSkipLSTMCell cannot tell whether its input holds k: it would take the last {self.units} "
                f"features as the output of a lower layer; received inputs of shape {tuple(inputs_shape)}, "
                f"and neither skip nor input_dim. Give input_dim, the features of x without k, or skip='none' for "
                f"inputs that hold no k; skip='gated_outputs' for inputs that do."
            )
        width = checks.cell_width(inputs_shape, "k", self.skip_width, self.input_dim)
        gates, gate_reads_skip = self.num_gates, self.num_gates == 5 and self.gate_inputs == "skip"
        self.kernel = self.add_weight(
            name="kernel",
            shape=(width, (4 if gate_reads_skip else gates) * self.units),
            initializer=fresh(self.kernel_initializer),
        )
        self.recurrent_kernel = self.add_weight(
            name="recurrent_kernel",
            shape=(self.units, gates * self.units),
            initializer=fresh(self.recurrent_initializer),
        )
        self.bias = self.add_weight(name="bias", shape=(gates * self.units,), initializer=self._initial_bias)
        self.skip_kernel = None
        if gate_reads_skip:
            self.skip_kernel = self.add_weight(
                name="skip_kernel", shape=(self.units, self.units), initializer=fresh(self.kernel_initializer)
            )

    def _initial_bias(self, shape: tuple[int, ...], dtype: str | None = None) -> Tensor:
        values = [0.0, self.forget_bias, 0.0, 0.0, self.gate_bias][: self.num_gates]
        return ops.repeat(ops.convert_to_tensor(values, dtype or "float32"), self.units)

    def project(self, x: Tensor, k: Tensor | None) -> Tensor:
        """Return W x + b for all gates, for one step or for all of them: (..., num_gates * units)."""
        z = ops.matmul(x, self.kernel)
        if self.skip_kernel is not None:
            z = ops.concatenate([z, ops.matmul(k, self.skip_kernel)], axis=-1)
        return z + self.bias

    def call(self, inputs: Tensor, states: list[Tensor], training: bool | None = None) -> tuple[Tensor, list[Tensor]]:
        """Run one step. See the class for the arguments."""
        width = ops.shape(inputs)[-1] - self.skip_width
        x, k = inputs[..., :width], inputs[..., width:] if self.skip_width else None
        h, c = states
        h, c, _ = skip_step(self.project(x, k) + ops.matmul(h, self.recurrent_kernel), c, k, self.skip)
        return h, [h, c]

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the cell."""
        config = super().get_config() | arguments_of(self, *_ARGUMENTS)
        return config | {"skip": self.skip if self._holds_skip else None}
