"""A tagger's features of a token: each layer against NumPy."""

import keras
import numpy as np
import pytest
from keras import ops

import dense_lstm_zoo as zoo
from dense_lstm_zoo import layers
from tests import backends
from tests.backends import numpy
from tests.reference import sigmoid

LENGTHS = np.array([5, 2, 1, 0], np.int32)


def windows(size=3, **options):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 5, 6)).astype(np.float32)
    layer = layers.GatedContextWindow(size, **options)
    layer.build(x.shape)
    layer.set_weights([rng.normal(size=w.shape) for w in layer.get_weights()])
    return layer, x


@pytest.mark.parametrize(("size", "gated"), [(1, True), (3, True), (5, True), (3, False)])
def test_a_window_holds_its_neighbours_scaled_by_gates_and_the_boundary_past_both_ends(size, gated):
    layer, x = windows(size, gated=gated)
    weights = [w.astype(np.float64) for w in layer.get_weights()]
    boundary, gate = (weights[0], weights[1:]) if size > 1 else (None, weights)
    outputs = numpy(layer(x, lengths=LENGTHS))
    reach = size // 2
    for b, n in enumerate(LENGTHS):
        words = [*[boundary] * reach, *x[b, :n].astype(np.float64), *[boundary] * reach]
        for t in range(n):
            window = np.concatenate(words[t : t + size])
            r = sigmoid(window @ gate[0] + gate[1]) if gated else np.ones(size)
            np.testing.assert_allclose(outputs[b, t], window * np.repeat(r, 6), atol=1e-5)
        assert not outputs[b, n:].any()
    longer = np.concatenate([x, np.full((4, 3, 6), 9, np.float32)], axis=1)
    np.testing.assert_allclose(layer(longer, lengths=LENGTHS)[:, :5], outputs, atol=1e-6)
    mask = np.arange(5) < LENGTHS[:, None]
    np.testing.assert_array_equal(layer(x, mask=mask), outputs)


@pytest.mark.parametrize("size", [1, 3])
def test_nan_in_padding_reaches_no_result_and_no_gradient(size):
    layer, x = windows(size)
    dirty = np.where(np.arange(5)[None, :, None] < LENGTHS[:, None, None], x, np.float32(np.nan))
    outputs, gradients = [], []
    for inputs in (dirty, np.nan_to_num(dirty)):
        outputs.append(numpy(layer(inputs, lengths=LENGTHS)))
        loss = backends.Loss(lambda i=inputs: ops.sum(layer(i, lengths=LENGTHS) ** 2), [], layer.trainable_variables)
        gradients.append(loss.gradients())
    np.testing.assert_array_equal(*outputs)
    for ours, right in zip(*gradients, strict=True):
        np.testing.assert_allclose(ours, right, rtol=1e-5)


def test_whole_words_of_a_window_are_dropped_each_window_for_itself_in_training_only():
    layer, x = windows(dropout=0.4, seed=1, gated=False)
    in_training = numpy(layer(x, lengths=np.full(4, 5), training=True)).reshape(4, 5, 3, 6)
    in_prediction = numpy(layer(x, lengths=np.full(4, 5))).reshape(4, 5, 3, 6)
    dropped = (in_training == 0).all(axis=3)
    np.testing.assert_allclose(in_training[~dropped], in_prediction[~dropped] / 0.6, rtol=1e-5)
    assert 0.2 < dropped.mean() < 0.6
    assert (dropped[:, 1:, 0] != dropped[:, :-1, 1]).any()  # the same word in two windows
    np.testing.assert_array_equal(layer(x, training=False), layer(x))


def test_affixes_are_their_characters_side_by_side():
    layer = layers.AffixEmbedding(7, 2)
    ids = np.array([[[1, 0, 6], [3, 3, 3]]])
    expected = layer.get_weights()[0][ids].reshape(1, 2, 6)
    np.testing.assert_allclose(layer(ids), expected, atol=1e-7)
    assert layer(ids).shape == layer.compute_output_shape(ids.shape)


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("sizes", [(5,), (2, 3), (3, 4, 5)])
def test_character_convolutions_see_a_words_own_characters_only(sizes, depth):
    layer = layers.CharacterCNN(9, 3, 4, kernel_sizes=sizes, num_layers=depth)
    rng = np.random.default_rng(0)
    layer.set_weights([rng.normal(size=w.shape) for w in layer.get_weights()])
    table, *convolutions = (w.astype(np.float64) for w in layer.get_weights())
    words = [[1, 2, 3, 4, 5, 6, 7], [8], [3, 1], [2] * 5, [], [3, 1], [8]]
    ids = np.zeros((1, 7, 7), np.int32)
    for row, word in zip(ids[0], words, strict=True):
        row[: len(word)] = word
    outputs = numpy(layer(ids))[0]
    for word, values in zip(words, outputs, strict=True):
        expected = []
        for i, size in enumerate(sizes):
            short = max(0, depth * (size - 1) + 1 - len(word))
            values_of_places = np.concatenate([table[word].reshape(-1, 3), np.zeros((short, 3))])
            for number in range(depth * i, depth * (i + 1)):
                kernel, bias = convolutions[2 * number : 2 * number + 2]
                layer_input, places = values_of_places, range(len(values_of_places) - size + 1)
                rows = [np.tensordot(layer_input[p : p + size], kernel, 2) + bias for p in places]
                values_of_places = np.maximum(rows, 0)
            expected.append(values_of_places.max(axis=0))
        assert [len(part) for part in expected] == {1: [4], 2: [2, 2], 3: [2, 1, 1]}[len(sizes)]
        np.testing.assert_allclose(values, np.concatenate(expected), atol=1e-5)
    np.testing.assert_allclose(
        numpy(backends.traced(layer.__call__)(ops.convert_to_tensor(ids)))[0], outputs, atol=1e-6
    )
    wider = np.pad(ids, [[0, 0], [0, 2], [0, 6]])
    np.testing.assert_allclose(layer(wider)[0, :7], outputs, atol=1e-6)
    for shape in ((0, 5, 7), (2, 0, 7), (2, 3, 7)):
        assert layer(np.zeros(shape, np.int32)).shape == (*shape[:2], 4)


FEATURES = {
    "window": lambda: (layers.GatedContextWindow(3, dropout=0.2), keras.Input((None, 6))),
    "affixes": lambda: (layers.AffixEmbedding(7, 2), keras.Input((None, 10), dtype="int32")),
    "characters": lambda: (layers.CharacterCNN(7, 3, 4), keras.Input((None, None), dtype="int32")),
}


@pytest.mark.parametrize("name", FEATURES)
def test_features_work_in_models_of_any_batch_and_time_that_save_and_train(name, tmp_path):
    layer, inputs = FEATURES[name]()
    model = keras.Model(inputs, layer(inputs))
    model.save(tmp_path / "m.keras")
    again = keras.saving.load_model(tmp_path / "m.keras")
    for batch, time in ((2, 4), (1, 1)):
        shape = (batch, time, *(n or 5 for n in inputs.shape[2:]))
        x = np.random.default_rng(0).integers(1, 6, shape).astype(inputs.dtype)
        outputs = model(x)
        np.testing.assert_allclose(again(x), outputs, atol=1e-6)
        assert outputs.shape == model.compute_output_shape(x.shape)
    loss = backends.Loss(lambda: ops.sum(model(x) ** 2), [], model.trainable_variables)
    assert all(np.abs(gradient).max() > 0 for gradient in loss.gradients())


def test_convolutions_of_two_layers_have_paths_of_their_own():
    first, second = (layers.CharacterCNN(9, 3, 4, name=name) for name in ("first", "second"))
    assert [weight.path for weight in first.weights] == ["first/table", "first/width_5/kernel", "first/width_5/bias"]
    ids = keras.Input((None, None), dtype="int32")
    model = keras.Model(ids, ops.add(first(ids), second(ids)))
    assert len({weight.path for weight in model.weights}) == len(model.weights)


def test_bad_sizes_are_refused():
    with pytest.raises(ValueError, match="size must be odd"):
        layers.GatedContextWindow(2)
    for filters, sizes in ((1, (2, 3)), (5, ())):
        with pytest.raises(ValueError, match=f"at most filters={filters} widths; received"):
            layers.CharacterCNN(9, 3, filters, kernel_sizes=sizes)
    with pytest.raises(ValueError, match="kernel_sizes must be an integer of at least 1; received 0"):
        layers.CharacterCNN(9, 3, 5, kernel_sizes=(0,))


@pytest.mark.tensorflow
@pytest.mark.parametrize("options", [{"char_kernel_sizes": (3, 4, 5)}, {"char_layers": 2}])
def test_a_classifier_takes_several_widths_and_two_convolutions_over_characters(options):
    characters = {"char_filters": 50, "num_chars": 9, **options}
    model = zoo.build("bilstm", vocab_size=9, num_classes=2, units=2, embedding_dim=4, **characters)
    characters_layer = model.get_layer("characters")
    assert characters_layer.output.shape[-1] == 50
    kernels = [tuple(w.shape) for w in characters_layer.weights if len(w.shape) == 3]
    two = [(5, 50, 50), (5, 50, 50)]
    assert kernels == (two if "char_layers" in options else [(3, 50, 17), (4, 50, 17), (5, 50, 16)])
