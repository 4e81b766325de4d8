"""A softmax tied to the word vectors: one table, its gradient from both uses, saved once."""

import json
import zipfile

import h5py
import keras
import numpy as np
import pytest
import tensorflow as tf

import dense_lstm_zoo as zoo
from dense_lstm_zoo import layers
from tests.language_windows import WORDS, text, tiny

MODELS = zoo.list_models(task="language_model")
models = pytest.mark.parametrize("name", MODELS)


def table(model):
    return model.core.get_layer("embedding").embeddings


def gradients(model, ids, training=False):
    """Of the model's loss on a text whose state starts from zeros."""
    with tf.GradientTape() as tape:
        loss = model.compute_loss(y=ids[:, 1:], y_pred=model(ids[:, :-1], training=training))
    return tape.gradient(loss, [w.value for w in model.trainable_variables])


def test_a_bias_is_added_to_the_last_axis_and_its_config_rebuilds_it():
    layer = layers.Bias("ones")
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    layer.build(x.shape)
    layer.set_weights([np.arange(4) + layer.get_weights()[0]])
    np.testing.assert_allclose(layer(x) - x, np.tile(np.arange(1.0, 5.0), (2, 3, 1)), atol=1e-6)
    again = layers.Bias.from_config(json.loads(json.dumps(layer.get_config())))
    np.testing.assert_array_equal(again(np.zeros((1, 4), np.float32)), np.ones((1, 4)))


@models
def test_tied_logits_are_the_word_vectors_times_the_projected_stack(name):
    model, ids = tiny(name, softmax="tied", units=5 if name != "residual_lstm_lm" else 6), text()[:, :-1]
    core, words = model.core, table(model).numpy().astype(np.float64)
    features = np.asarray(core.get_layer("stack")(words[ids].astype(np.float32))[0], np.float64)
    if name != "residual_lstm_lm":
        projection = core.get_layer("projection")
        assert projection.bias is None
        features = features @ projection.kernel.numpy()
    bias = core.get_layer("logits").bias.numpy()
    assert np.abs(bias).max() > 0.03
    np.testing.assert_allclose(model(ids), features @ words.T + bias, atol=1e-6)


@models
@pytest.mark.parametrize("units", [6, 8])
def test_a_tied_model_has_one_table_and_no_projection_between_equal_widths(name, units):
    vocabulary, e, depth = 40, units if name == "residual_lstm_lm" else 6, 3
    model = tiny(name, softmax="tied", vocab_size=vocabulary, units=units, embedding_dim=e, num_layers=depth)
    reads = {
        "dense_lstm_lm": [e, e + units, e + 2 * units],
        "stacked_lstm_lm": [e, units, units],
        "skip_lstm_lm": [e, units + e, units + units],
        "residual_lstm_lm": [e, units, units],
    }[name]
    recurrent = sum(4 * units * (input_size + units + 1) for input_size in reads)
    width = e + depth * units if name == "dense_lstm_lm" else units
    projection = width * e if width != e else 0
    assert model.count_params() == vocabulary * e + recurrent + projection + vocabulary
    size = {"num_layers": depth, "units": units, "embedding_dim": e, "softmax": "tied"}
    for biases in (True, False):
        count = zoo.count_encoder_parameters(model, biases=biases)
        assert count == zoo.count_encoder_parameters(name, biases=biases, **size)
        assert count == recurrent + projection - (0 if biases else 4 * units * depth)
        by_formula = zoo.count_encoder_parameters(name, biases=biases, cell="gru", **size)
        gru = tiny(name, cell="gru", **size)
        assert by_formula == zoo.count_encoder_parameters(gru, biases=biases)


@models
def test_a_tied_model_saves_its_table_once_and_comes_back_however_it_is_rebuilt(name, tmp_path):
    model, ids = tiny(name, softmax="tied"), text()
    model.save(tmp_path / "m.keras")
    with zipfile.ZipFile(tmp_path / "m.keras") as archive:
        archive.extract("model.weights.h5", tmp_path)
    shapes = []
    with h5py.File(tmp_path / "model.weights.h5") as file:
        file.visititems(lambda path, x: shapes.append(x.shape) if isinstance(x, h5py.Dataset) else None)
    assert shapes.count((WORDS, 6)) == 1
    again = keras.saving.load_model(tmp_path / "m.keras")
    rebuilt = keras.Model.from_config(json.loads(json.dumps(model.core.get_config())))
    rebuilt.set_weights(model.get_weights())
    start = [tf.constant(ids), *model.zero_states(3)]
    for other in (again.core, rebuilt, keras.Model(model.core.inputs, model.core.outputs)):
        assert [w.shape for w in other.weights] == [w.shape for w in model.weights]
        np.testing.assert_allclose(other(start)[0], model(ids), atol=1e-6)
        other.get_layer("embedding").embeddings.assign(np.zeros((WORDS, 6)))
        logits = np.asarray(other(start)[0])  # without word vectors there is nothing but the bias left
        np.testing.assert_allclose(logits, np.broadcast_to(other.get_layer("logits").bias, logits.shape))


@pytest.mark.parametrize("options", [{"softmax": "tied"}, {"optimizer": "adam", "learning_rate": 0.01}])
def test_the_tables_gradient_adds_up_lookups_and_scores(options):
    model, ids = tiny("dense_lstm_lm", dtype="float64", **options), np.tile(text(steps=3), 4)  # words come again
    gradient = gradients(model, ids)[0]
    assert not isinstance(gradient, tf.IndexedSlices)
    start, step = table(model).numpy(), 1e-2
    # Uphill, so that the differences stand out of what float32 logits leave of them.
    direction = np.random.default_rng(1).random(start.shape) * np.sign(gradient)
    losses = []
    for sign in (1, -1):
        table(model).assign(start + sign * step * direction)
        losses.append(float(model.compute_loss(y=ids[:, 1:], y_pred=model(ids[:, :-1]))))
    difference = (losses[0] - losses[1]) / (2 * step)
    assert np.sum(gradient * direction) == pytest.approx(difference, rel=2e-3)
