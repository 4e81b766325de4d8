"""TensorFlow, for what runs on no other backend of Keras: there, importing this module raises an error that says so."""

from __future__ import annotations

import keras

if keras.config.backend() != "tensorflow":
    raise ValueError(
        "Language models, taggers and text run on Keras's TensorFlow backend only; received "
        f"{keras.config.backend()!r}. Set KERAS_BACKEND=tensorflow before Keras is imported, or build a classifier."
    )

import tensorflow as tf

__all__ = ["tf"]
