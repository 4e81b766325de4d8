"""Factory functions that return compiled models; importing this package registers them. Keras is imported on use."""

from dense_lstm_zoo.models.classifiers import bilstm, dc_bilstm, lstm, residual_bilstm, stacked_bilstm

__all__ = ["bilstm", "dc_bilstm", "lstm", "residual_bilstm", "stacked_bilstm"]
