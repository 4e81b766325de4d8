"""Neighbouring layers of a densely connected Bi-LSTM as one function, whose products are few and large.

A narrow layer's own product, [T B, in] x [in, 4u], has too few columns to keep a processor busy. But most of what it
reads was there before the layer below it ran: the input and the states of all layers below the group. So the layers of
a group project that together, ``_WIDTH`` columns at a time, and each adds the product of what it reads from its own
group. It is the same backward: the gradients of a group's projections are joined before they are multiplied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import tensorflow as tf

from dense_lstm_zoo.layers.recurrence.compiled import flat, pad_rows, plain_from_zeros, run_backward, run_forward
from dense_lstm_zoo.layers.recurrence.own_gradient import WithGradient, unwatched, with_own_gradient
from dense_lstm_zoo.layers.recurrence.tensors import Tensor

_WIDTH = 512  # columns of a joint product: more gain little, and small groups keep memory low


def group_sizes(num_layers: int, units: int) -> list[int]:
    """Return how many layers of a width to run together: as equal as possible, so that they share programs.

    Example:
        >>> group_sizes(15, 13), group_sizes(7, 13), group_sizes(2, 100)
        ([5, 5, 5], [4, 3], [1, 1])
    """
    largest = max(1, round(_WIDTH / (8 * units)))
    count = -(-num_layers // largest)
    return [num_layers // count + (i < num_layers % count) for i in range(count)]


class Group(NamedTuple):
    """A group's shape, on which its graph depends.

    Args:
        num_layers: Bi-LSTMs in the group.
        coupled: Whether both directions read both directions below. Otherwise each reads its own.
        has_below: Whether there are states of layers below the group.
        pads: Whether steps may be missing that programs are compiled for.
    """

    num_layers: int
    coupled: bool
    has_below: bool
    pads: bool

    @property
    def num_streams(self) -> int:
        """Number of tensors that states are joined to: 1 if coupled, otherwise one for each direction."""
        return 1 if self.coupled else 2

    def stream(self, direction: int) -> int:
        """Return which of them a direction reads and writes."""
        return 0 if self.coupled else direction

    @property
    def blocks(self) -> list[list[int]]:
        """The loops (2 layer + direction) whose projections are computed together."""
        if self.coupled and self.num_layers > 1:
            return [list(range(2 * self.num_layers))]
        return [list(range(d, 2 * self.num_layers, 2)) for d in (0, 1)]


def run_group(
    group: Group, lengths: Tensor, missing: Tensor | None, inputs: Tensor, below: list[Tensor], weights: list[Tensor]
) -> list[Tensor]:
    """Run the layers of a group.

    Args:
        group: What to run.
        lengths: Real steps of each row [B], int32.
        missing: By how many steps [1] the input is shorter than what programs are compiled for, if ``group.pads``.
        inputs: The encoder's input, [T, B, e].
        below: The states of all layers below, joined: [T, B, n] for each stream, or nothing.
        weights: Kernel, recurrent kernel and bias of each layer's forward and then backward direction, shaped as in
            ``keras.layers.LSTM``.

    Returns:
        The states of the group's layers, joined, for each stream.
    """
    steps = tf.constant([0]) if missing is None else missing
    return list(with_own_gradient(_run, (group,), lengths, steps, inputs, *below, *weights, plain=_plain))


def _pad(group: Group, rows: Tensor, missing: Tensor, batch: Tensor) -> Tensor:
    """Return [T B, n] with the missing steps. XLA never sees this where it compiles a whole model for one shape."""
    return pad_rows(rows, missing[0] * batch) if group.pads else rows


class _ForwardPass(NamedTuple):
    """A group's forward pass: what it read and what came out, as its backward pass needs it."""

    stream_inputs: list[Tensor]  # what was there before the group ran, for each stream, [T, B, n]
    joint: list[Tensor]  # the kernels that multiply it, side by side, for each block
    kernels: list[Tensor]  # of each loop, like those that follow
    recurrents: list[Tensor]
    # From here on with the steps that programs are compiled for, T or some more.
    inside: list[Tensor]  # what it reads from its own group
    results: list[Tensor]  # its states, c and gates
    streams: list[list[Tensor]]  # the states, for each stream


def _joined(forward: _ForwardPass) -> list[Tensor]:
    return [tf.concat(states, axis=-1) for states in forward.streams]


def _outputs(forward: _ForwardPass) -> list[Tensor]:
    return [states[: tf.shape(forward.stream_inputs[0])[0]] for states in _joined(forward)]


def _forward(
    group: Group,
    lengths: Tensor,
    missing: Tensor,
    inputs: Tensor,
    tensors: list[Tensor],
    loop: Callable[..., list[Tensor]] = run_forward,
) -> _ForwardPass:
    below, weights = tensors[: group.num_streams * group.has_below], tensors[group.num_streams * group.has_below :]
    kernels, recurrents, biases = weights[0::3], weights[1::3], weights[2::3]
    stream_inputs = [tf.concat([inputs, states], axis=-1) for states in below] or [inputs] * group.num_streams
    outside = kernels[0].shape[0]  # rows of the kernels that multiply what is there before the group runs
    joint = [tf.concat([kernels[n][:outside] for n in block], axis=1) for block in group.blocks]
    projected = _project(group, missing, stream_inputs, joint, biases)

    state_dtype = tf.float64 if inputs.dtype == tf.float64 else tf.float32
    forward = _ForwardPass(stream_inputs, joint, kernels, recurrents, [], [], [[] for _ in range(group.num_streams)])
    for layer in range(group.num_layers):
        joined = _joined(forward) if layer else [None] * group.num_streams
        for d in (0, 1):
            n = 2 * layer + d
            forward.inside.append(joined[group.stream(d)])
            z = projected[n]
            if layer:
                z = z + _like(tf.matmul(flat(forward.inside[n]), kernels[n][outside:]), z)
            r = tf.cast(recurrents[n], state_dtype)
            forward.results.append(loop(tf.cast(z, state_dtype), lengths, r, bool(d)))
        for d in (0, 1):
            states = tf.cast(forward.results[2 * layer + d][0], inputs.dtype)
            states.set_shape((None, None, recurrents[0].shape[0]))
            forward.streams[group.stream(d)].append(states)
    return forward


def _run(group: Group, lengths: Tensor, missing: Tensor, inputs: Tensor, *tensors: Tensor) -> WithGradient:
    inputs, *tensors = unwatched(inputs, *tensors)  # type: ignore[assignment]
    forward = _forward(group, lengths, missing, inputs, list(tensors))

    def gradient(*upstream: Tensor) -> tuple[Tensor | None, ...]:
        return (None, None, *_gradient(group, lengths, missing, inputs.shape[-1], forward, upstream))

    return _outputs(forward), gradient


def _plain(group: Group, lengths: Tensor, missing: Tensor, inputs: Tensor, *tensors: Tensor) -> list[Tensor]:
    def loop(z: Tensor, lengths: Tensor, r: Tensor, reverse: bool) -> list[Tensor]:
        return [plain_from_zeros(reverse, z, lengths, r)]

    return _outputs(_forward(group, lengths, missing, inputs, list(tensors), loop))


def _project(
    group: Group, missing: Tensor, stream_inputs: list[Tensor], joint: list[Tensor], biases: list[Tensor]
) -> dict[int, Tensor]:
    """Return the projections of what is there before the group runs, for each loop: [T, B, 4u], T with those missing.

    The missing steps are zeros. Programs do not read past the lengths.
    """
    num_steps, batch = tf.unstack(tf.shape(stream_inputs[0])[:2])
    all_steps = num_steps + missing[0] if group.pads else num_steps
    projected: dict[int, Tensor] = {}
    for block, kernel in zip(group.blocks, joint, strict=True):
        inputs = stream_inputs[group.stream(block[0] % 2)]
        z = tf.nn.bias_add(tf.matmul(flat(inputs), kernel), tf.concat([biases[n] for n in block], axis=0))
        z = _pad(group, z, missing, batch)
        pieces = tf.split(z, len(block), axis=1) if len(block) > 1 else [z]
        for n, piece in zip(block, pieces, strict=True):
            projected[n] = tf.reshape(piece, (all_steps, batch, piece.shape[1]))
    return projected


def _gradient(
    group: Group,
    lengths: Tensor,
    missing: Tensor,
    features: int,
    forward: _ForwardPass,
    upstream: Sequence[Tensor],
) -> list[Tensor]:
    """Return the gradients of the input, of the states below and of the weights."""
    dtype = forward.stream_inputs[0].dtype
    num_steps, batch = tf.unstack(tf.shape(forward.stream_inputs[0])[:2])
    d_streams = [_pad(group, flat(d), missing, batch) for d in upstream]
    dz, d_recurrents = _through_loops(group, lengths, forward, d_streams)
    weights: dict[int, list[Tensor]] = {}
    d_reads: list[list[Tensor]] = [[] for _ in forward.stream_inputs]
    for block, kernel in zip(group.blocks, forward.joint, strict=True):
        stream = group.stream(block[0] % 2)
        d_joint = tf.concat([dz[n] for n in block], axis=1) if len(block) > 1 else dz[block[0]]
        d_joint = d_joint[: num_steps * batch]  # without a copy
        d_reads[stream].append((d_joint, kernel))
        # As a product, this sum takes a fraction of the time.
        d_biases = tf.split(tf.matmul(tf.ones((1, tf.shape(d_joint)[0]), dtype), d_joint)[0], len(block))
        d_kernels = tf.split(
            tf.matmul(flat(forward.stream_inputs[stream]), d_joint, transpose_a=True), len(block), axis=1
        )
        for n, d_kernel, d_bias in zip(block, d_kernels, d_biases, strict=True):
            if forward.inside[n] is not None:
                own = tf.matmul(flat(forward.inside[n]), dz[n], transpose_a=True)
                d_kernel = tf.concat([d_kernel, own], axis=0)
            weights[n] = [d_kernel, tf.cast(d_recurrents[n], dtype), d_bias]
    return [
        *_read_gradients(group, d_reads, forward.stream_inputs, features),
        *(g for n in sorted(weights) for g in weights[n]),
    ]


def _through_loops(
    group: Group, lengths: Tensor, forward: _ForwardPass, d_streams: list[Tensor]
) -> tuple[dict[int, Tensor], dict[int, Tensor]]:
    """Return the gradients of each loop's projections, [T B, 4u], and of its recurrent kernel, from the top down.

    T counts the missing steps. ``d_streams`` are the gradients of the states, [T B, n], for each stream.
    """
    dtype, units = forward.stream_inputs[0].dtype, forward.recurrents[0].shape[0]
    outside = forward.joint[0].shape[0]
    dz: dict[int, Tensor] = {}
    d_recurrents: dict[int, Tensor] = {}
    for layer in reversed(range(group.num_layers)):
        d_inside: list[list[Tensor]] = [[] for _ in d_streams]
        for d in (0, 1):
            n, stream = 2 * layer + d, group.stream(d)
            states, cells, gates = forward.results[n]
            at = units * (n if group.coupled else layer)
            d_states = _like(tf.cast(d_streams[stream][:, at : at + units], states.dtype), states)
            recurrent = tf.cast(forward.recurrents[n], states.dtype)
            dz_n, d_recurrents[n] = run_backward(states, cells, gates, lengths, recurrent, bool(d), d_states)
            dz[n] = tf.cast(flat(dz_n), dtype)
            if layer:
                d_inside[stream].append(tf.matmul(dz[n], forward.kernels[n][outside:], transpose_b=True))
        if layer:
            width = units * layer * (2 if group.coupled else 1)
            d_streams = [tf.add_n([d[:, :width], *more]) for d, more in zip(d_streams, d_inside, strict=True)]
    return dz, d_recurrents


def _read_gradients(
    group: Group, d_reads: list[list[Tensor]], stream_inputs: list[Tensor], features: int
) -> list[Tensor]:
    """Return the gradient of the input and, apart from it, of each stream's states below: a graph may need only one."""

    def through(rows: slice, pairs: list[Tensor], like: Tensor) -> Tensor:
        parts = [tf.matmul(d_joint, kernel[rows], transpose_b=True) for d_joint, kernel in pairs]
        return _like(tf.add_n(parts), like)

    inputs = through(slice(0, features), [pair for pairs in d_reads for pair in pairs], stream_inputs[0])
    if not group.has_below:
        return [inputs]
    return [
        inputs,
        *(through(slice(features, None), pairs, like) for pairs, like in zip(d_reads, stream_inputs, strict=True)),
    ]


def _like(rows: Tensor, sequence: Tensor) -> Tensor:
    """Return [T B, n] as [T, B, n], with T and B of a sequence."""
    return tf.reshape(rows, tf.concat([tf.shape(sequence)[:2], tf.shape(rows)[1:]], axis=0))
