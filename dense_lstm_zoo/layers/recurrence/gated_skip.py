"""LSTM with a skip connection inside its cell (Wu et al. 2016): the step, and the loop over time.

The skip acts on the h that recurs. What a step reads of the layers below is known for all steps before the loop begins:
``projected``, x W + b of all gates, and ``skips``, the output k of a layer further below.
"""

from __future__ import annotations

from typing import Any

from keras import ops

from dense_lstm_zoo.layers.recurrence.loop import run_steps

SKIPS = ("none", "gates", "internals", "gated_internals", "outputs", "gated_outputs", "gated_sigmoid")
GATED = ("gated_internals", "gated_outputs", "gated_sigmoid")


def skip_step(z: Any, c: Any, k: Any, skip: str) -> tuple[Any, Any, Any]:
    """Return h, c and the skip's gate (None without one) after one step; Eqs 9-15 and Table 2 of Wu et al. 2016.

    Args:
        z: Sums of all gates, x W + h U + b: [B, 4n] in the order i, f, c, o, or [B, 5n] with the skip's gate.
        c: [B, n].
        k: What is skipped in, [B, n]; None with ``skip="none"``.
        skip: A name of ``SKIPS``.
    """
    units = c.shape[-1]
    g = ops.sigmoid(z[:, 4 * units :]) if skip in GATED else None
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
    projected: Any, skips: Any, lengths: Any, recurrent: Any, *, skip: str, kernel: str, reverse: bool
) -> Any:
    """Run one direction from zero states over right-padded, time-major inputs.

    Args:
        projected: x W + b, [T, B, G n] with G = 4, or 5 for a gated skip.
        skips: k, [T, B, n]; None with ``skip="none"``.
        lengths: Real steps of each row [B], int32.
        recurrent: U, [n, G n].
        skip: A name of ``SKIPS``.
        kernel: The kernel that ``kernels.over_time`` picked.
        reverse: Whether to run from each row's last real step to its first.

    Returns:
        The states [T, B, n], zeros past the length.
    """
    if skip == "none":
        from dense_lstm_zoo.layers.recurrence import kernels

        return kernels.select(kernel)(projected, lengths, recurrent, None, None, reverse=reverse, final_state=False)[0]
    if skip == "gated_outputs" and kernel in ("compiled", "compiled_if_small"):
        from dense_lstm_zoo.layers.recurrence.compiled_gated_skip import compiled_gated_outputs

        return compiled_gated_outputs(projected, skips, lengths, recurrent, reverse)
    return skip_loop(projected, skips, lengths, recurrent, skip=skip, reverse=reverse)[0]


def skip_loop(projected: Any, skips: Any, lengths: Any, recurrent: Any, *, skip: str, reverse: bool) -> tuple[Any, Any]:
    """Run ``skip_lstm`` in ``keras.ops`` alone; return the states and the gates of the skip (None without one)."""
    units, gates = recurrent.shape
    gated = skip in GATED

    def step(carry: Any, read: Any) -> Any:
        h, c = carry[:, :units], carry[:, units : 2 * units]
        k = None if skips is None else read[:, gates:]
        h, c, g = skip_step(read[:, :gates] + ops.matmul(h, recurrent), c, k, skip)
        return ops.concatenate([h, c, g] if gated else [h, c], axis=-1)

    inputs = projected if skips is None else ops.concatenate([projected, skips], axis=-1)
    carries = run_steps(step, (3 if gated else 2) * units, inputs, lengths, reverse)
    return carries[:, :, :units], carries[:, :, 2 * units :] if gated else None
