"""Steps and loops of the highway LSTM (Zhang et al. 2016) and the recurrent highway network (Zilly et al. 2016)."""

from __future__ import annotations

from keras import ops

from dense_lstm_zoo.layers.recurrence.loop import Loop
from dense_lstm_zoo.layers.recurrence.tensors import Tensor


def highway_step(z: Tensor, c: Tensor, c_below: Tensor, peepholes: Tensor) -> tuple[Tensor, Tensor]:
    """Return h and c after one step of a highway LSTM.

    c = f c' + i s + d c_below, where d = sigmoid(z_d + w_c c' + w_l c_below). Then h = o tanh(c).

    Args:
        z: Sums of the gates, [B, 5n] in the order i, f, c, o, d, where d reads no h.
        c: [B, n].
        c_below: c of the layer below at this step, [B, n].
        peepholes: w_c and w_l, [2, n].
    """
    i, f, s, o, d = ops.split(z, 5, axis=-1)
    d = ops.sigmoid(d + peepholes[0] * c + peepholes[1] * c_below)
    c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(s) + d * c_below
    return ops.sigmoid(o) * ops.tanh(c), c


def highway_loop(
    loop: Loop, projected: Tensor, c_below: Tensor, recurrent: Tensor, peepholes: Tensor, *, reverse: bool
) -> tuple[Tensor, Tensor]:
    """Run one direction of a highway LSTM, and return the states h and c, [T, B, n] each, zeros past the length.

    Args:
        loop: The open loop, which sets the kernel and the lengths.
        projected: x W + b, [T, B, 5n].
        c_below: [T, B, n].
        recurrent: U, [n, 4n]: the gate d reads no h.
        peepholes: [2, n].
        reverse: Whether to run from each row's last real step to its first.
    """
    weights = [ops.pad(recurrent, [[0, 0], [0, recurrent.shape[0]]]), peepholes]
    inputs = ops.concatenate([projected, c_below], axis=-1)
    carries = loop.run_steps(_packed_step, 2 * recurrent.shape[0], inputs, weights, reverse=reverse)
    h, c = ops.split(carries, 2, axis=-1)
    return h, c


def _packed_step(carry: Tensor, inputs: Tensor, recurrent: Tensor, peepholes: Tensor) -> Tensor:
    units, gates = recurrent.shape
    z = inputs[:, :gates] + ops.matmul(carry[:, :units], recurrent)
    return ops.concatenate(highway_step(z, carry[:, units:], inputs[:, gates:], peepholes), axis=-1)


def recurrent_highway_step(
    z: Tensor, z_o: Tensor, y: Tensor, recurrent: Tensor, biases: Tensor, output_recurrent: Tensor
) -> Tensor:
    """Return y after one step of a recurrent highway network with an output gate.

    s_0 is y', the previous output. The micro-layers l = 1..L make s_l = h_l t_l + s_{l-1} c_l, where h is the tanh, and
    t and c are the sigmoids, of s_{l-1} R_l + b_l, plus x W in the first. Then y = sigmoid(z_o + y' R_o) tanh(s_L).
    With two blocks instead of three, c = 1 - t (coupled).

    Args:
        z: x W, [B, 3n] in the order h, t, c, or [B, 2n] coupled.
        z_o: x W_o + b_o, [B, n].
        y: The previous output, [B, n].
        recurrent: R, [L, n, 3n].
        biases: b, [L, 3n].
        output_recurrent: R_o, [n, n].
    """
    num_blocks = recurrent.shape[2] // recurrent.shape[1]
    s = y
    for layer in range(recurrent.shape[0]):
        sums = ops.matmul(s, recurrent[layer]) + biases[layer]
        blocks = ops.split(sums + z if layer == 0 else sums, num_blocks, axis=-1)
        transform = ops.sigmoid(blocks[1])
        carry = ops.sigmoid(blocks[2]) if num_blocks == 3 else 1 - transform
        s = ops.tanh(blocks[0]) * transform + s * carry
    return ops.sigmoid(z_o + ops.matmul(y, output_recurrent)) * ops.tanh(s)


def recurrent_highway_loop(
    loop: Loop, projected: Tensor, recurrent: Tensor, biases: Tensor, output_recurrent: Tensor, *, reverse: bool
) -> Tensor:
    """Run one direction of a recurrent highway network, and return y [T, B, n], zeros past the length.

    Args:
        loop: The open loop, which sets the kernel and the lengths.
        projected: x W followed by x W_o + b_o: [T, B, 4n], or [T, B, 3n] coupled.
        recurrent: As in a step.
        biases: As in a step.
        output_recurrent: As in a step.
        reverse: Whether to run from each row's last real step to its first.
    """
    weights = [recurrent, biases, output_recurrent]
    return loop.run_steps(_recurrent_highway_step, recurrent.shape[1], projected, weights, reverse=reverse)


def _recurrent_highway_step(
    y: Tensor, inputs: Tensor, recurrent: Tensor, biases: Tensor, output_recurrent: Tensor
) -> Tensor:
    width = recurrent.shape[2]
    return recurrent_highway_step(inputs[:, :width], inputs[:, width:], y, recurrent, biases, output_recurrent)
