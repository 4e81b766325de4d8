"""The time loop of every recurrent layer: the kernels and the rule that picks one.

A kernel takes hoisted projections, lengths and recurrent kernels, and returns states; nothing outside this folder
knows how the loop over time runs. ``lstm`` is what the layers call.
"""

from dense_lstm_zoo.layers.recurrence.lengths import lengths_from_mask, reverse_sequence, sequence_mask
from dense_lstm_zoo.layers.recurrence.lstm import LSTMWeights, lstm

__all__ = ["LSTMWeights", "lengths_from_mask", "lstm", "reverse_sequence", "sequence_mask"]
