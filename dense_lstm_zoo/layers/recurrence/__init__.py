"""The time loop of every recurrent layer: the kernels and the rule that picks one.

A kernel takes hoisted projections, lengths and recurrent kernels of one direction and returns states; nothing outside
this folder knows how the loop over time runs. ``lstm`` is what the layers call.
"""

from dense_lstm_zoo.layers.recurrence.kernels import over_time
from dense_lstm_zoo.layers.recurrence.lengths import real_steps, resolve_lengths, sequence_mask
from dense_lstm_zoo.layers.recurrence.loop import run_steps, wide
from dense_lstm_zoo.layers.recurrence.lstm import LSTMWeights, lstm
from dense_lstm_zoo.layers.recurrence.padding import lengths_from_mask, unchecked

__all__ = [
    "LSTMWeights",
    "lengths_from_mask",
    "lstm",
    "over_time",
    "real_steps",
    "resolve_lengths",
    "run_steps",
    "sequence_mask",
    "unchecked",
    "wide",
]
