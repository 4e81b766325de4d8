"""The time loops of all recurrent layers: the kernels, and the rule that picks one.

A kernel takes hoisted projections, lengths and recurrent kernels of one direction and returns states. No code outside
this folder knows how the loop over time runs. A layer opens a loop with ``open_loop``, runs its cells in it (``lstm``,
or the functions in ``gated_skip`` and ``highway``), and closes it.
"""

from dense_lstm_zoo.layers.recurrence.dense import dense_bilstm
from dense_lstm_zoo.layers.recurrence.lengths import (
    attached_mask,
    floats,
    real_inputs,
    real_steps,
    resolve_lengths,
    sequence_mask,
)
from dense_lstm_zoo.layers.recurrence.loop import Loop, open_loop, wide, wide_dtype
from dense_lstm_zoo.layers.recurrence.lstm import LSTMWeights, lstm
from dense_lstm_zoo.layers.recurrence.packing import Words, padded_words, real_words
from dense_lstm_zoo.layers.recurrence.padding import lengths_from_mask, unchecked

__all__ = [
    "LSTMWeights",
    "Loop",
    "Words",
    "attached_mask",
    "dense_bilstm",
    "floats",
    "lengths_from_mask",
    "lstm",
    "open_loop",
    "padded_words",
    "real_inputs",
    "real_steps",
    "real_words",
    "resolve_lengths",
    "sequence_mask",
    "unchecked",
    "wide",
    "wide_dtype",
]
