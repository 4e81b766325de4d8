"""LSTM with a skip connection inside its cell (Wu et al. 2016): the step, and the loop over time.

The skip acts on the recurrent h. A step's inputs from the layers below are known for all steps before the loop starts:
``projected``, x W + b for all gates, and ``skips``, the output k of a lower layer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from keras import ops

from dense_lstm_zoo.layers.recurrence.loop import Loop
from dense_lstm_zoo.layers.recurrence.tensors import Tensor, of_shape

SKIPS = ("none", "gates", "internals", "gated_internals", "outputs", "gated_outputs", "gated_sigmoid")
GATED = ("gated_internals", "gated_outputs", "gated_sigmoid")


def num_gates(skip: str) -> int:
    """Return the gates of a cell, with the candidate: 5 if the skip has one, else 4."""
    return 5 if skip in GATED else 4


def skip_step(z: Tensor, c: Tensor, k: Tensor | None, skip: str) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return h, c and the skip gate (None without one) after one step (Eqs 9-15 and Table 2 of Wu et al. 2016).

    Args:
        z: Sums of all gates, x W + h U + b: [B, 4n] in the order i, f, c, o, or [B, 5n] with the skip gate.
        c: [B, n].
        k: The skipped output, [B, n]. None with ``skip="none"``.
        skip: A name of ``SKIPS``.
    """
    units = c.shape[-1]
    g: Tensor = ops.sigmoid(z[:, 4 * units :]) if skip in GATED else None
    z = z[:, : 4 * units]
    if skip == "gates":
        z = z + ops.tile(k, (1, 4))
    i, f, s, o = ops.split(z, 4, axis=-1)
    c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(s)
    if skip == "internals":
        c = c + k
    elif skip == "gated_internals":
        c = c + g * k
    h = ops.sigmoid(o) * ops.tanh(c)
    if skip == "outputs":
        h = h + k
    elif skip == "gated_outputs":
        h = h + g * k
    elif skip == "gated_sigmoid":
        h = h + g * ops.sigmoid(k)
    return h, c, g


def skip_lstm(
    loop: Loop, projected: Tensor, skips: Tensor | None, recurrent: Tensor, *, skip: str, reverse: bool
) -> Tensor:
    """Run one direction from zero states over right-padded, time-major inputs.

    Args:
        loop: The open loop, which sets the kernel and the lengths.
        projected: x W + b, [T, B, G n] with G = 4, or 5 for a gated skip.
        skips: k, [T, B, n]. None with ``skip="none"``.
        recurrent: U, [n, G n].
        skip: A name of ``SKIPS``.
        reverse: Whether to run from each row's last real step to its first.

    Returns:
        The states [T, B, n], zeros past the length.
    """
    shape = (*projected.shape[:2], recurrent.shape[0])
    if skip == "none":
        kernel = loop.kernel.for_loop("lstm")
        options = {"reverse": reverse, "final_state": False}
        states = kernel.lstm(projected, loop.lengths, recurrent, None, None, **options)[0]
        return of_shape(states, shape)
    kernel = loop.kernel.for_loop("steps")
    if skip in kernel.skips:
        step = _packed_step(skip)
        states = kernel.gated_skip(projected, skips, loop.lengths, recurrent, reverse=reverse, step=step)
        return of_shape(states, shape)
    return skip_loop(loop, projected, skips, recurrent, skip=skip, reverse=reverse)["h"]


def skip_loop(
    loop: Loop, projected: Tensor, skips: Tensor | None, recurrent: Tensor, *, skip: str, reverse: bool
) -> dict[str, Tensor]:
    """Run ``skip_lstm`` step by step, and return the states h and c and, for a gated skip, its gate g."""
    units = recurrent.shape[0]
    inputs = projected if skips is None else ops.concatenate([projected, skips], axis=-1)
    names = "hcg" if skip in GATED else "hc"
    carries = loop.run_steps(_packed_step(skip), len(names) * units, inputs, [recurrent], reverse=reverse)
    return dict(zip(names, ops.split(carries, len(names), axis=-1), strict=True))


@functools.cache
def _packed_step(skip: str) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Return ``skip_step`` for ``Loop.run_steps``: with the carry and the inputs packed into one tensor each."""

    def step(carry: Tensor, inputs: Tensor, recurrent: Tensor) -> Tensor:
        units, gates = recurrent.shape
        z = inputs[:, :gates] + ops.matmul(carry[:, :units], recurrent)
        k = None if skip == "none" else inputs[:, gates:]
        h, c, g = skip_step(z, carry[:, units : 2 * units], k, skip)
        return ops.concatenate([h, c] if g is None else [h, c, g], axis=-1)

    return step
