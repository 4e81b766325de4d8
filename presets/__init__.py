"""Scripts that make the zoo's word vectors and presets. The distribution itself is in ``dense_lstm_zoo_presets``."""
