"""Memory that a model leaves in the process that trained it does not add up from model to model."""

import collections
import gc

import keras
import numpy as np
import pytest
import tensorflow as tf

from dense_lstm_zoo import layers
from dense_lstm_zoo.bundles.bundle import Bundle
from tests import model_harness, training_harness


def alive():
    """Count the living objects of the large kinds, by kind."""
    gc.collect()
    kinds = (Bundle, keras.Model, keras.Variable, keras.optimizers.Optimizer, tf.Graph)
    counts = collections.Counter()
    for thing in gc.get_objects():
        counts.update(kind.__name__ for kind in kinds if issubclass(type(thing), kind))
    return counts


def differentiate(name):
    """Make a model, run it forward and backward in a graph, and drop it."""
    model = model_harness.tiny(name)
    inputs = model_harness.inputs(model, model_harness.ids())

    @tf.function
    def gradients(inputs):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(inputs, training=True)) + tf.reduce_sum(model(inputs, training=False))
        return tape.gradient(loss, [v.value for v in model.trainable_variables])

    assert all(gradient is not None for gradient in gradients(inputs))


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("gated_skip_tagger", "highway_tagger")]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dc_bilstm", *SLOW])
def test_a_model_that_was_differentiated_is_freed(name):
    differentiate(name)  # the first one makes the programs that all share
    before = alive()
    for _ in range(2):
        differentiate(name)
    assert alive() <= before  # what earlier tests left may be freed meanwhile


@pytest.mark.slow
def test_a_training_leaves_nothing_that_the_next_one_adds_to(tmp_path):
    training_harness.train(tmp_path / "first", epochs=1)
    before = alive()
    for i in range(3):
        training_harness.train(tmp_path / str(i), epochs=1)
    assert alive() <= before  # what earlier tests left may be freed meanwhile


def test_layers_of_many_widths_do_not_make_tensorflow_warn_of_retracing(caplog):
    for wiring in ("dense", "stacked"):
        stack = layers.RecurrentStack(8, 5, wiring=wiring)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(stack(np.ones((2, 3, 4), np.float32), training=True))
        assert tape.gradient(loss, stack.trainable_variables[0].value) is not None
    assert "retracing" not in caplog.text
