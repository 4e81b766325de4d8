"""A classifier's network as a Keras model."""

from __future__ import annotations

import keras

from dense_lstm_zoo.models.ids_only import IdsOnly


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class ClassifierNetwork(IdsOnly, keras.Model):
    """A functional model from ids to logits. It refuses raw text, which ``TextClassifier`` takes.

    Example:
        >>> ids = keras.Input((None,), dtype="int32")
        >>> network = ClassifierNetwork(ids, keras.ops.one_hot(ids[:, 0], 3))
        >>> network.predict(["a film"])
        Traceback (most recent call last):
        TypeError: A model of zoo.build reads ids of words; received raw text. zoo.TextClassifier is a Keras model that
        takes text.
    """

    text_class = "TextClassifier"
