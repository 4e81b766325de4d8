"""The states of language models of both directions over padded texts, and a learnt mixture of layers."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from dense_lstm_zoo import checks
from dense_lstm_zoo.layers import recurrence
from dense_lstm_zoo.layers.bidirectional import DIRECTIONS
from dense_lstm_zoo.layers.initializers import InitializerLike, find_initializer, fresh
from dense_lstm_zoo.layers.kernel_layer import KernelLayer
from dense_lstm_zoo.layers.recurrence.tensors import Shape, Tensor
from dense_lstm_zoo.layers.recurrent_stack import RecurrentStack
from dense_lstm_zoo.layers.saving import arguments_of, hand_down_trainable


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class TextEncoderStates(KernelLayer):
    """Every layer's states of a forward and a backward language model, side by side at each word.

    With a text x_1..x_T and the vector <eos> that every text begins with, layer l of the two stacks gives

        h_{l,t} = [f_t; b_t], where f_t = forward_l(<eos>, x_1, ..., x_t) and b_t = backward_l(<eos>, x_T, ..., x_t).

    Both states have read the word that they stand at. Their language models predict the one after it, and the one
    before it. Padding is read by neither.

    Args:
        num_layers: Depth L of one direction.
        units: Width of a layer, one direction.
        wiring: How the layers of a direction are connected. See ``layers.RecurrentStack``.
        cell: ``"lstm"``, ``"gru"`` or ``"simple_rnn"``.
        directions: 2, or 1 for the forward direction alone.
        dropout: Rate on the words and between layers, with a new mask at each step. The states returned have none.
        weight_dropout: Rate on the LSTMs' recurrent kernels, one mask per call (Merity et al. 2018).
        recurrent_initializer: Initialiser of the recurrent kernels.
        unit_forget_bias: Whether the LSTM's forget gates start with a bias of 1.
        kernel: The kernel that runs the loop over time of an LSTM. See ``dense_lstm_zoo.layers.recurrence.kernels``.
        seed: Seed for the dropout masks.
        **kwargs: Arguments of ``keras.layers.Layer``. With ``trainable=False`` the states are constants: no gradient
            is computed through the loops, and nothing is dropped.

    Call arguments:
        inputs: Word vectors (batch, time, features). ``residual`` needs as many features as units.
        lengths: (batch,), the real steps of each row. None means those of ``mask``, else all steps.
        mask: (batch, time), right-padded.
        training: Whether to apply dropout.

    Returns:
        A list with the states of each layer, bottom to top, (batch, time, directions * units). Zeros past the lengths.

    Raises:
        ValueError: A value out of range, or a width that ``residual`` cannot add.

    Reference: Peters et al. 2018, section 3.1 (one language model per direction, trained apart).

    Example:
        >>> import numpy as np
        >>> layer = TextEncoderStates(2, 4, wiring="dense")
        >>> lower, upper = layer(np.ones((3, 5, 6), "float32"), lengths=np.array([5, 2, 0]))
        >>> lower.shape, upper[1, 2:].numpy().any()
        (TensorShape([3, 5, 8]), np.False_)
    """

    def __init__(
        self,
        num_layers: int,
        units: int,
        *,
        wiring: str = "stacked",
        cell: str = "lstm",
        directions: int = 2,
        dropout: float = 0.0,
        weight_dropout: float = 0.0,
        recurrent_initializer: InitializerLike = "orthogonal",
        unit_forget_bias: bool = True,
        kernel: str = "auto",
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(kernel, **kwargs)
        if checks.integer("directions", directions) > 2:
            raise ValueError(f"directions must be 1 (forward) or 2 (forward and backward); received {directions}.")
        self.directions, self.seed = directions, seed
        self.recurrent_initializer = find_initializer(recurrent_initializer)
        self.stacks = [
            RecurrentStack(
                num_layers,
                units,
                wiring=wiring,
                cell=cell,
                dropout=dropout,
                weight_dropout=weight_dropout,
                return_all_layers=True,
                recurrent_initializer=fresh(self.recurrent_initializer),
                unit_forget_bias=unit_forget_bias,
                kernel=kernel,
                seed=None if seed is None else seed + i,
                dtype=self.dtype_policy,
                name=name,
            )
            for i, name in enumerate(DIRECTIONS[:directions])
        ]

    @property
    def width(self) -> int:
        """Features of a layer's states."""
        return int(self.stacks[0].units * self.directions)

    def build(self, inputs_shape: Shape) -> None:
        """Create the weights for word vectors of shape (batch, time, features): ``<eos>``, then each direction's."""
        features = checks.num_features(self, inputs_shape)
        self.eos = self.add_weight(name="eos", shape=(features,), initializer="uniform")
        for stack in self.stacks:
            stack.build((inputs_shape[0], None, features))
        hand_down_trainable(self)

    def call(
        self, inputs: Tensor, lengths: Tensor | None = None, mask: Tensor | None = None, training: bool | None = None
    ) -> list[Tensor]:
        """Run both directions. See the class for the arguments."""
        inputs, lengths = recurrence.real_inputs(inputs, lengths, mask, self.compute_dtype)
        if not self.trainable:
            inputs, training = ops.stop_gradient(inputs), False
        start = ops.cast(ops.broadcast_to(self.eos, (ops.shape(inputs)[0], 1, self.eos.shape[0])), inputs.dtype)
        layers_by_direction = []
        for direction, stack in zip(DIRECTIONS, self.stacks, strict=False):
            stack.kernel = self.kernel
            is_backward = direction == "backward"
            words = ops.concatenate([start, _turned(inputs, lengths) if is_backward else inputs], axis=1)
            layers = keras.tree.flatten(stack(words, lengths=lengths + 1, training=training))
            states = [layer[:, 1:] for layer in layers]
            layers_by_direction.append([_turned(state, lengths) for state in states] if is_backward else states)
        joined = [
            ops.concatenate(parts, axis=-1) if len(parts) > 1 else parts[0]
            for parts in zip(*layers_by_direction, strict=True)
        ]
        return joined if self.trainable else [ops.stop_gradient(states) for states in joined]

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> list[Tensor | None]:
        """Pass the mask on with every layer's states."""
        return [mask] * self.stacks[0].num_layers

    def compute_output_shape(self, inputs_shape: Shape, **_: object) -> list[Shape]:
        """Return the shape of every layer's states."""
        return [(*inputs_shape[:2], self.width)] * self.stacks[0].num_layers

    def explain_kernel(self) -> str:
        """Return which kernel runs, and why."""
        self.stacks[0].kernel = self.kernel
        return str(self.stacks[0].explain_kernel())

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        stack = self.stacks[0].get_config()
        names = ("num_layers", "units", "wiring", "cell", "dropout", "weight_dropout", "unit_forget_bias")
        config = super().get_config() | {name: stack[name] for name in names}
        return config | arguments_of(self, "recurrent_initializer", "directions", "kernel", "seed")


def _turned(x: Tensor, lengths: Tensor) -> Tensor:
    """Reverse the real steps of each row of (batch, time, features). Whole rows are gathered, which is fast."""
    batch, time = ops.shape(x)[:2]
    steps = ops.arange(time, dtype="int32")[None, :]
    source = ops.where(steps < lengths[:, None], lengths[:, None] - 1 - steps, steps)
    rows = source + ops.arange(batch, dtype="int32")[:, None] * time
    features = x.shape[-1]
    turned = ops.take(ops.reshape(x, (-1, features)), ops.reshape(rows, (-1,)), axis=0)
    return ops.reshape(turned, (batch, time, features))


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class LayerMixture(keras.layers.Layer):
    """Mix the states of several layers with learnt weights: gamma * sum_l s_l h_l with s = softmax(w).

    It starts from the mean of the layers. The sum runs in float32 under half-precision policies.

    Args:
        **kwargs: Arguments of ``keras.layers.Layer``.

    Call arguments:
        inputs: A list of tensors of one shape.

    Returns:
        A tensor of that shape.

    Reference: Peters et al. 2018, Eq 1.

    Example:
        >>> import numpy as np
        >>> LayerMixture()([np.full((1, 1, 2), 2.0), np.full((1, 1, 2), 4.0)]).numpy().tolist()
        [[[3.0, 3.0]]]
    """

    def build(self, inputs_shape: list[Shape]) -> None:
        """Create w, one number per layer, and gamma."""
        shapes = {tuple(shape) for shape in inputs_shape} if isinstance(inputs_shape, list | tuple) else set()
        if len(shapes) != 1:
            raise ValueError(
                f"LayerMixture takes a list of tensors of one shape; received shapes {inputs_shape!r:.200}."
            )
        shape = (len(inputs_shape),)
        self.layer_weights = self.add_weight(name="layer_weights", shape=shape, initializer="zeros", autocast=False)
        self.gamma = self.add_weight(name="gamma", shape=(), initializer="ones", autocast=False)

    def call(self, inputs: list[Tensor]) -> Tensor:
        """Mix the layers."""
        powers = ops.exp(recurrence.wide(self.layer_weights) - ops.max(recurrence.wide(self.layer_weights)))
        shares = recurrence.wide(self.gamma) * powers / ops.sum(powers)
        mixed = sum(shares[i] * recurrence.wide(x) for i, x in enumerate(inputs))
        return ops.cast(mixed, self.compute_dtype)

    def compute_mask(self, inputs: list[Tensor], mask: Tensor | None = None) -> Tensor | None:
        """Pass the first layer's mask on."""
        return mask[0] if isinstance(mask, list) else mask

    def compute_output_shape(self, inputs_shape: list[Shape]) -> Shape:
        """Return the shape of one layer."""
        return tuple(inputs_shape[0])
