"""The layers of a densely connected Bi-LSTM, in the groups that a kernel runs together."""

from __future__ import annotations

from keras import ops

from dense_lstm_zoo.layers.recurrence.loop import Loop
from dense_lstm_zoo.layers.recurrence.lstm import LSTMWeights
from dense_lstm_zoo.layers.recurrence.projection import join
from dense_lstm_zoo.layers.recurrence.tensors import Tensor, of_shape


def dense_bilstm(loop: Loop, layers: list[list[LSTMWeights]], coupled: bool) -> list[Tensor]:
    """Run layers that each read the input and the states of all layers below. See ``layers.DenseBiLSTM``.

    Args:
        loop: The open loop, whose kernel must group layers.
        layers: The weights of each layer's two directions. All layers but the last are of one width.
        coupled: Whether both directions of a layer read both directions below. Otherwise each reads its own.

    Returns:
        The states of each layer, [T, B, 2u], zeros past the length.
    """
    from dense_lstm_zoo.layers.recurrence.compiled import missing_steps
    from dense_lstm_zoo.layers.recurrence.dense_group import Group, group_sizes, run_group

    units = [weights[0].recurrent_kernel.shape[0] for weights in layers]
    sizes = [*(group_sizes(len(layers) - 1, units[0]) if len(layers) > 1 else []), 1]
    streams: list[list[Tensor]] = [[] for _ in range(1 if coupled else 2)]
    states: list[Tensor] = []
    missing = missing_steps(loop.inputs)
    for size in sizes:
        group = Group(size, coupled, has_below=bool(states), pads=missing is not None)
        members = layers[len(states) : len(states) + size]
        below = [join(parts) for parts in streams] if states else []
        weights = [weight for layer in members for direction in layer for weight in direction]
        joined = run_group(group, loop.lengths, missing, loop.inputs, below, weights)
        width = units[len(states)]
        joined = [of_shape(x, (*loop.inputs.shape[:2], size * width * (2 if coupled else 1))) for x in joined]
        for parts, x in zip(streams, joined, strict=True):
            parts.append(x)
        split = [ops.split(x, size, axis=-1) if size > 1 else [x] for x in joined]
        states += [join(list(parts)) for parts in zip(*split, strict=True)]
    return states
