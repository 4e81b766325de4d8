"""The variables of a run in training, to and from arrays."""

from __future__ import annotations

from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf

from dense_lstm_zoo.layers import WordEmbedding


def weights(model: keras.Model) -> list[keras.Variable]:
    """Return the weights and random states that training changes.

    Frozen word vectors do not change, and are too large to save each epoch.
    """
    frozen = {id(layer.frozen_table) for layer in model.layers if isinstance(layer, WordEmbedding)}
    return [variable for variable in model.variables if id(variable) not in frozen]


def state(model: keras.Model) -> list[keras.Variable]:
    """Return those, and the variables of the optimiser."""
    return [*weights(model), *model.optimizer.variables]


def values(variables: Sequence[keras.Variable | tf.Variable]) -> list[np.ndarray]:
    """Return the values of variables as arrays that a file can hold."""
    # NumPy's files cannot hold bfloat16. Float32 represents it exactly.
    arrays = [keras.ops.convert_to_numpy(variable) for variable in variables]
    return [value.astype(np.float32) if value.dtype.name == "bfloat16" else value for value in arrays]


def assign(variables: Sequence[keras.Variable | tf.Variable], values: list[np.ndarray]) -> None:
    """Set variables to values from a file, in the same order."""
    for variable, value in zip(variables, values, strict=True):
        variable.assign(keras.ops.cast(value, keras.backend.standardize_dtype(variable.dtype)))
