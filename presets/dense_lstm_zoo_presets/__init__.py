"""The word vectors and trained models of dense_lstm_zoo, as plain files; ``dense_lstm_zoo`` finds them here."""

__version__ = "0.2.0"
