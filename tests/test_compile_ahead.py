"""Programs that are compiled beside the first steps of a training."""

import itertools
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from dense_lstm_zoo import layers, machine
from dense_lstm_zoo.classification import batches as classification_batches
from dense_lstm_zoo.classification.batches import TrainingBatches
from dense_lstm_zoo.layers.lstm import compiled_units
from dense_lstm_zoo.layers.recurrence import compile_ahead as ahead
from dense_lstm_zoo.layers.recurrence import compiled
from dense_lstm_zoo.models import registry


def is_compiling(run, folder):
    """Return whether XLA compiles anything in a call."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    tf.profiler.experimental.start(str(folder))
    run()
    tf.profiler.experimental.stop()
    space = xplane_pb2.XSpace()
    space.ParseFromString(next(Path(folder).rglob("*.xplane.pb")).read_bytes())
    planes = [(plane, event) for plane in space.planes for line in plane.lines for event in line.events]
    return any("Compile" in plane.event_metadata[event.metadata_id].name for plane, event in planes)


def test_a_step_finds_the_programs_that_were_compiled_ahead_of_it(tmp_path):
    layer = layers.BiLSTM(3)
    layer.build((None, None, 2))

    @tf.function(autograph=False, input_signature=[tf.TensorSpec((None, None, 2))])
    def step(inputs):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(inputs, training=True))
        return tape.gradient(loss, layer.trainable_variables)

    step.get_concrete_function()
    thread = ahead.compile_ahead(compiled_units(layer), [(9, 5)])
    if thread is None:
        pytest.skip("a single core")
    thread.join()
    assert not is_compiling(lambda: step(tf.ones((5, 9, 2))), tmp_path / "ahead")
    assert is_compiling(lambda: step(tf.ones((5, 20, 2))), tmp_path / "later")


def test_the_shapes_of_programs_are_those_that_batches_are_padded_to():
    for time, batch in itertools.product((1, 8, 9, 33, 130), (1, 3, 5, 20, 33, 200)):
        padded, _ = compiled.pad_to_few_shapes(tf.zeros((time, batch, 1)), tf.zeros((batch,), tf.int32))
        assert compiled.program_shape(time, batch) == tuple(padded.shape[:2])


def test_a_training_compiles_for_all_batches_of_an_epoch_those_of_most_batches_first(monkeypatch):
    calls = []
    monkeypatch.setattr(classification_batches, "compile_ahead", lambda *arguments: calls.append(arguments))
    rows = [np.ones(n, np.int32) for n in [3] * 4 + [10] * 10]
    batches = TrainingBatches(rows, [0] * 14, batch_size=4, seed=1)
    assert {(time, batch) for batch, time in (ids.shape for ids, _ in batches.dataset)} == {(4, 4), (12, 4), (12, 2)}
    model = registry.build("dc_bilstm", vocab_size=9, num_classes=2, num_dense_layers=2, dense_units=3, top_units=4)
    batches.set_model(model)
    batches.on_train_begin()
    [(units, shapes)] = calls
    assert units == {3, 4}
    assert shapes == [(12, 4), (4, 4), (12, 2)]
    monkeypatch.setattr(type(model), "jit_compile", True)  # the whole step is one program
    batches.on_train_begin()
    assert len(calls) == 1


def test_layers_without_compiled_programs_have_no_units_to_compile():
    assert compiled_units(layers.DenseBiLSTM(2, 3, 4)) == {3, 4}
    assert compiled_units(layers.DenseBiLSTM(2, 3, 4, kernel="native")) == set()
    assert compiled_units(layers.LSTM(3, dtype="float64")) == set()
    assert compiled_units(layers.LSTM(3, dtype="mixed_bfloat16")) == {3}
    block = keras.layers.Dense(1)
    block.layers = 4  # of a user's own
    assert compiled_units(keras.Sequential([layers.BiLSTM(2), block])) == {2}


def test_nothing_is_compiled_ahead_on_a_single_core_and_an_error_is_left_to_the_training(monkeypatch):
    monkeypatch.setattr(machine, "cores", lambda: 1)
    assert ahead.compile_ahead([3], [(8, 4)]) is None
    monkeypatch.setattr(machine, "cores", lambda: 2)

    def fail():
        raise tf.errors.InternalError(None, None, "no compiler")

    monkeypatch.setattr(ahead, "_step", lambda: lambda *_: fail())
    ahead.compile_ahead([3], [(8, 4)]).join()  # an error in a thread would be a warning, and fail


def test_the_largest_programs_are_left_to_the_training_which_has_the_memory_for_them(monkeypatch):
    calls = []
    monkeypatch.setattr(machine, "cores", lambda: 2)
    monkeypatch.setattr(ahead, "_MOST_NUMBERS", 4 * 3 * 8 * 4)
    monkeypatch.setattr(ahead, "_step", lambda: lambda z, *_: calls.append(tuple(z.shape)))
    ahead.compile_ahead([3, 4], [(16, 4), (8, 4)]).join()
    assert calls == [(8, 4, 12)]
