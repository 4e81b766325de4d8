"""A small HTTP server over ``dense_lstm_zoo_runtime.Predictor``: ``python -m dense_lstm_zoo_runtime.serve --help``."""
