"""Layers, each usable alone in any Keras model.

Importing this package registers every class, which ``keras.saving.load_model`` needs to find them.
"""

from dense_lstm_zoo.layers.convolution import ConvolutionPooling, MapConvolutionPooling
from dense_lstm_zoo.layers.crf import CRF
from dense_lstm_zoo.layers.dense_bilstm import DenseBiLSTM
from dense_lstm_zoo.layers.dynamic_interaction import DynamicInteractionPooling
from dense_lstm_zoo.layers.dynamic_self_attention import DynamicSelfAttention
from dense_lstm_zoo.layers.gated_skip_lstm import GatedSkipLSTMCell
from dense_lstm_zoo.layers.highway_lstm import HighwayBiLSTM, HighwayLSTMCell
from dense_lstm_zoo.layers.initializers import OrthogonalBlocks
from dense_lstm_zoo.layers.lstm import LSTM, BiLSTM
from dense_lstm_zoo.layers.pooling import POOLINGS, MaskedPooling
from dense_lstm_zoo.layers.recurrent_highway import BiRecurrentHighway, RecurrentHighwayCell
from dense_lstm_zoo.layers.recurrent_stack import DenseLSTM, RecurrentStack
from dense_lstm_zoo.layers.skip_bilstm import SkipBiLSTM
from dense_lstm_zoo.layers.standardization import Standardization
from dense_lstm_zoo.layers.text_encoder import LayerMixture, TextEncoderStates
from dense_lstm_zoo.layers.tied_embedding import Bias, TiedEmbedding
from dense_lstm_zoo.layers.token_features import AffixEmbedding, CharacterCNN, GatedContextWindow
from dense_lstm_zoo.layers.word_embedding import SequenceLengths, WordEmbedding
from dense_lstm_zoo.layers.word_scores import WordScores

__all__ = [
    "CRF",
    "LSTM",
    "POOLINGS",
    "AffixEmbedding",
    "BiLSTM",
    "BiRecurrentHighway",
    "Bias",
    "CharacterCNN",
    "ConvolutionPooling",
    "DenseBiLSTM",
    "DenseLSTM",
    "DynamicInteractionPooling",
    "DynamicSelfAttention",
    "GatedContextWindow",
    "GatedSkipLSTMCell",
    "HighwayBiLSTM",
    "HighwayLSTMCell",
    "LayerMixture",
    "MapConvolutionPooling",
    "MaskedPooling",
    "OrthogonalBlocks",
    "RecurrentHighwayCell",
    "RecurrentStack",
    "SequenceLengths",
    "SkipBiLSTM",
    "Standardization",
    "TextEncoderStates",
    "TiedEmbedding",
    "WordEmbedding",
    "WordScores",
]
