"""Importing this module registers every class of the models that ``build`` returns, and of what they are compiled with.

``keras.saving.load_model`` needs that for a ``.keras`` file, as it finds only classes that are registered. For layers
inside models of your own, ``import dense_lstm_zoo.layers`` is enough.
"""

import keras

import dense_lstm_zoo.classification.network
import dense_lstm_zoo.layers
import dense_lstm_zoo.models.adam
import dense_lstm_zoo.models.label_sets
import dense_lstm_zoo.models.sgd

if keras.config.backend() == "tensorflow":  # no other backend runs these
    import dense_lstm_zoo.classification.text_ids
    import dense_lstm_zoo.data.text
    import dense_lstm_zoo.data.token_ids
    import dense_lstm_zoo.interfaces.language_model
    import dense_lstm_zoo.interfaces.text_classifier
    import dense_lstm_zoo.interfaces.token_classifier
    import dense_lstm_zoo.language.assembly
    import dense_lstm_zoo.language.vocabulary
    import dense_lstm_zoo.tagging.assembly  # noqa: F401
