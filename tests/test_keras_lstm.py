"""Differences from ``keras.layers.LSTM``: all are on a page, and errors say what to use instead."""

import inspect
import re
from pathlib import Path

import keras
import numpy as np
import pytest

from dense_lstm_zoo import layers
from dense_lstm_zoo.layers.keras_keywords import INSTEAD

PAGE = (Path(__file__).parents[1] / "docs" / "layers.md").read_text(encoding="utf-8")
THEIRS = inspect.signature(keras.layers.LSTM.__init__).parameters.keys() - {"self"}
OURS = {*inspect.signature(layers.LSTM.__init__).parameters, *inspect.signature(keras.layers.Layer.__init__).parameters}
INPUTS = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)


def rows():
    """The table's rows: Keras's arguments, and what ours say of them."""
    table = PAGE.partition("### Differences from `keras.layers.LSTM`")[2].partition("\n## ")[0]
    lines = [line.strip("|").split(" | ") for line in table.splitlines() if line.startswith("| `")]
    return {name: ours for theirs, ours in lines[1:] for name in re.findall(r"`(\w+)`", theirs.partition(":")[0])}


def test_every_argument_of_keras_stands_in_the_table_as_it_is_treated():
    table = rows()
    assert table.keys() >= THEIRS
    for name in THEIRS:
        assert (name in OURS) == (not table[name].startswith("not taken")), name
        assert (name in OURS) == (name not in INSTEAD), name


@pytest.mark.parametrize("name", sorted(THEIRS - OURS))
@pytest.mark.parametrize("layer", [layers.LSTM, layers.BiLSTM])
def test_an_argument_of_keras_that_is_not_taken_is_named_with_what_to_use(layer, name):
    default = inspect.signature(keras.layers.LSTM.__init__).parameters[name].default
    with pytest.raises(ValueError, match=re.escape(f"{layer.__name__} does not take {name}={default!r}: ")) as error:
        layer(3, **{name: default})
    assert re.search("use |set |put |pass |leave ", str(error.value))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: layers.LSTM(3, return_sequence=True),
            "argument of LSTM: 'return_sequence'. Did you mean 'return_sequences'",
        ),
        (lambda: layers.BiLSTM(3, kernel_initialiser="zeros"), "Did you mean 'kernel_initializer'"),
        (lambda: layers.DenseBiLSTM(2, 3, 4, drop_out=0.1), "argument of DenseBiLSTM: 'drop_out'"),
        (lambda: layers.SkipBiLSTM(2, 3, stateful=True), "SkipBiLSTM does not take stateful=True: use return_state"),
    ],
)
def test_a_misspelt_argument_is_answered_with_the_near_one(make, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        make()


@pytest.mark.parametrize("layer", [layers.LSTM, layers.BiLSTM])
def test_keras_bidirectional_says_what_takes_its_place(layer):
    with pytest.raises(ValueError, match=r"use layers\.BiLSTM\(units\).* in place of keras\.layers\.Bidirectional"):
        keras.layers.Bidirectional(layer(3))
    with pytest.raises(AttributeError, match=r"use layers\.BiLSTM\(units\)"):
        keras.layers.Bidirectional(layer(3), backward_layer=layer(3))


@pytest.mark.slow
def test_a_last_state_over_time_and_a_weights_regularizer_and_constraint_work_as_the_table_says():
    layer = layers.LSTM(2, return_sequences=False, activity_regularizer="l2")
    outer = keras.layers.TimeDistributed(layer)
    assert outer(INPUTS[:, :, None]).shape == (2, 3, 2)
    layer.weights[0].regularizer, layer.weights[0].constraint = keras.regularizers.L2(2.0), keras.constraints.NonNeg()
    model = keras.Sequential([layer])
    model.compile("sgd", "mse")
    expected = 2 * (layer.get_weights()[0] ** 2).sum()
    layer(INPUTS)
    assert any(abs(float(loss) - expected) < 1e-4 for loss in layer.losses)
    model.fit(INPUTS, np.zeros((2, 2)), verbose=0)
    assert (layer.get_weights()[0] >= 0).all()


def test_a_state_goes_from_one_call_to_the_next_as_in_a_stateful_layer():
    theirs = keras.layers.LSTM(2, return_sequences=True, stateful=True)
    expected = [theirs(INPUTS), theirs(INPUTS)]
    ours = layers.LSTM(2, return_state=True)
    ours.build(INPUTS.shape)
    ours.set_weights(theirs.get_weights()[:3])
    first, *state = ours(INPUTS)
    second, *_ = ours(INPUTS, initial_state=state)
    for states, expected_states in zip((first, second), expected, strict=True):
        np.testing.assert_allclose(states, expected_states, atol=1e-5)
