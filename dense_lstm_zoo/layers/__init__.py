"""Layers, each usable alone in any Keras model.

Importing this package registers every class, which ``keras.saving.load_model`` needs to find them.
"""

from dense_lstm_zoo.layers.bilstm import BiLSTM
from dense_lstm_zoo.layers.dense_bilstm import DenseBiLSTM
from dense_lstm_zoo.layers.dense_lstm import DenseLSTM
from dense_lstm_zoo.layers.lstm import LSTM
from dense_lstm_zoo.layers.pooling import POOLINGS, MaskedPooling
from dense_lstm_zoo.layers.recurrent_stack import RecurrentStack
from dense_lstm_zoo.layers.word_embedding import SequenceLengths, WordEmbedding

__all__ = [
    "LSTM",
    "POOLINGS",
    "BiLSTM",
    "DenseBiLSTM",
    "DenseLSTM",
    "MaskedPooling",
    "RecurrentStack",
    "SequenceLengths",
    "WordEmbedding",
]
