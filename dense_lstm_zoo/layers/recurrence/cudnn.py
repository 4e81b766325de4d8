"""The LSTM loop through ``keras.layers.LSTM``, which runs cuDNN's kernel on a GPU (and Keras's own loop elsewhere)."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import keras
from keras import ops

from dense_lstm_zoo.layers.recurrence.lengths import real_steps, reverse_sequence, sequence_mask
from dense_lstm_zoo.layers.recurrence.tensors import Tensor


def cudnn_lstm(
    inputs: Tensor,
    lengths: Tensor,
    weights: Sequence[Tensor],
    hidden: Tensor | None,
    cell: Tensor | None,
    reverse: bool,
) -> list[Tensor]:
    """Run one direction of time-major ``inputs`` [T, B, in], not yet projected, and return states and final h and c.

    ``weights`` are those of a Keras LSTM. The other arguments are those of ``portable_lstm``.
    """
    _explain_missing_gradient()
    units = weights[1].shape[0]
    if reverse:
        inputs = reverse_sequence(inputs, lengths)
    # cuDNN rejects rows without real steps: they run with length 1, and their results are replaced afterwards.
    at_least_one = ops.maximum(lengths, 1)
    num_steps = ops.shape(inputs)[0]
    layer = _layer(inputs.shape[-1], units, keras.backend.standardize_dtype(inputs.dtype))
    if hidden is None:
        zeros = ops.zeros((ops.shape(inputs)[1], units), inputs.dtype)
        hidden = cell = zeros
    (states, final_h, final_c), _ = layer.stateless_call(
        list(weights),
        [variable.value for variable in layer.non_trainable_variables],
        ops.transpose(inputs, (1, 0, 2)),
        mask=real_steps(at_least_one, num_steps)[:, :, 0],
        initial_state=[hidden, cell],
    )
    states = ops.transpose(states, (1, 0, 2))
    if reverse:
        states = reverse_sequence(states, at_least_one)
    empty = (lengths == 0)[:, None]
    states = ops.where(sequence_mask(lengths, num_steps), states, ops.zeros_like(states))
    return [states, ops.where(empty, hidden, final_h), ops.where(empty, cell, final_c)]


@functools.cache
def _explain_missing_gradient() -> None:
    from dense_lstm_zoo.layers.recurrence.own_gradient import explain_missing_gradient

    way_out = "use kernel='portable', for a layer of Keras's use_cudnn=False"
    explain_missing_gradient("CudnnRNNBackpropV3", f"it is that of kernel='cudnn', 'auto' on a GPU, {way_out}")


@functools.cache
def _layer(input_dim: int, units: int, dtype: str) -> keras.layers.LSTM:
    """Return a layer of this shape, of which only the code is used: the weights are passed in."""
    layer = keras.layers.LSTM(units, return_sequences=True, return_state=True, dtype=dtype)
    layer.build((None, None, input_dim))
    return layer
