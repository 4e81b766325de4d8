"""How the zoo's word vectors and presets are made; the distribution itself is in ``dense_lstm_zoo_presets``."""
