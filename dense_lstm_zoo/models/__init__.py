"""Factory functions that return compiled models; importing this package registers them. Keras is imported on use."""

from dense_lstm_zoo.models.classifiers import bilstm, dc_bilstm, lstm, residual_bilstm, stacked_bilstm
from dense_lstm_zoo.models.convolution_classifiers import blstm_2dcnn, cnn_mc
from dense_lstm_zoo.models.interaction_classifiers import di_bilstm, dsa_bilstm, dsa_dc_bilstm, stacked_di_bilstm
from dense_lstm_zoo.models.language_models import dense_lstm_lm, residual_lstm_lm, skip_lstm_lm, stacked_lstm_lm
from dense_lstm_zoo.models.taggers import bilstm_tagger, gated_skip_tagger, highway_tagger, rhn_tagger

__all__ = [
    "bilstm",
    "bilstm_tagger",
    "blstm_2dcnn",
    "cnn_mc",
    "dc_bilstm",
    "dense_lstm_lm",
    "di_bilstm",
    "dsa_bilstm",
    "dsa_dc_bilstm",
    "gated_skip_tagger",
    "highway_tagger",
    "lstm",
    "residual_bilstm",
    "residual_lstm_lm",
    "rhn_tagger",
    "skip_lstm_lm",
    "stacked_bilstm",
    "stacked_di_bilstm",
    "stacked_lstm_lm",
]
