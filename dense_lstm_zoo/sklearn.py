"""Estimators for scikit-learn: ``from dense_lstm_zoo.sklearn import TextClassifier``. They load TensorFlow to fit."""

from dense_lstm_zoo.interfaces.sklearn_estimators import SequenceTagger as SequenceTagger
from dense_lstm_zoo.interfaces.sklearn_estimators import TextClassifier as TextClassifier

__all__ = ["SequenceTagger", "TextClassifier"]
