"""Word vectors: frozen words are never trained, ids are checked, scaled vectors move as far as specified."""

import keras
import numpy as np
import pytest
from keras import ops

from dense_lstm_zoo import layers
from tests import backends
from tests.backends import numpy, tf


def test_frozen_words_are_looked_up_and_never_trained():
    embedding = layers.WordEmbedding(6, 2, num_frozen_words=3)
    matrix = np.arange(12.0).reshape(6, 2)
    embedding.set_matrix(matrix)
    ids = np.array([[0, 2, 3, 5]])
    np.testing.assert_array_equal(embedding(ids)[0], matrix[ids[0]])
    assert [w.shape for w in embedding.trainable_weights] == [(3, 2)]
    factors = np.array([1.0, 2.0, 3.0, 4.0], np.float32)[:, None]
    loss = backends.Loss(lambda: ops.sum(embedding(ids) * ops.convert_to_tensor(factors)), [], [embedding.table])
    gradient = loss.gradients()[0]
    assert gradient[:, 0].tolist() == [1, 0, 2]
    assert not layers.WordEmbedding(6, 2, trainable=False).trainable_weights


def test_ids_outside_the_vocabulary_are_an_error_not_another_word():
    for frozen in (0, 3):
        embedding = layers.WordEmbedding(6, 2, num_frozen_words=frozen)
        look_up = backends.traced(lambda ids, embedding=embedding: embedding(ids))
        for wrong in (6, -1, -6, -100):
            with pytest.raises(ValueError, match=rf"takes ids from 0 to 5; received {wrong}\."):
                embedding(np.array([[wrong]]))
            if backends.BACKEND == "jax":  # its programs cannot raise
                assert np.isnan(look_up(np.array([[wrong]]))).all()
            else:
                error = ValueError if tf is None else tf.errors.InvalidArgumentError
                with pytest.raises(error, match="not in" if tf else "takes ids from 0 to 5"):
                    look_up(ops.convert_to_tensor([[wrong]]))


def test_a_step_of_adam_moves_scaled_word_vectors_so_many_times_as_far():
    matrix, steps = np.random.default_rng(0).normal(size=(6, 2)), {}
    for scale in (1.0, 0.25):
        embedding = layers.WordEmbedding(6, 2, num_frozen_words=2, update_scale=scale)
        embedding.set_matrix(matrix)
        ids = np.arange(6)[None]
        np.testing.assert_allclose(embedding(ids)[0], matrix, rtol=1e-6)
        model = keras.Sequential([keras.Input((6,), dtype="int32"), embedding])
        model.compile(keras.optimizers.Adam(0.01), "mse")
        with backends.training():
            model.fit(ids, np.zeros((1, 6, 2)), verbose=0)
        steps[scale] = numpy(embedding(ids)[0]) - matrix
    np.testing.assert_allclose(np.abs(steps[1.0][:4]), 0.01, rtol=1e-3)
    np.testing.assert_allclose(steps[0.25][:4], 0.25 * steps[1.0][:4], rtol=1e-3)
    np.testing.assert_allclose(steps[0.25][4:], 0, atol=1e-6)


def test_embedding_saves_and_loads(tmp_path):
    ids = keras.Input((None,), dtype="int32")
    embedding = layers.WordEmbedding(6, 2, num_frozen_words=3, update_scale=0.5)
    model = keras.Model(ids, [embedding(ids), layers.SequenceLengths()(ids)])
    model.save(tmp_path / "m.keras")
    again = keras.saving.load_model(tmp_path / "m.keras")
    token_ids = np.array([[5, 2, 0], [1, 0, 0]])
    for ours, theirs in zip(model(token_ids), again(token_ids), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert numpy(again(token_ids)[1]).tolist() == [2, 1]


@pytest.mark.parametrize(
    "make",
    [
        lambda **options: layers.WordEmbedding(2100, 4, num_frozen_words=1800, update_scale=2.0, **options),
        lambda **options: layers.AffixEmbedding(2100, 4, **options),
        lambda **options: layers.CharacterCNN(2100, 4, 3, kernel_sizes=(2,), **options),
    ],
)
@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16"])
def test_half_precision_does_not_round_ids_that_are_given_as_floats(make, dtype):
    layer = make(dtype=dtype)
    ids = np.array([[257, 2049, 2051]])
    ids = ids if isinstance(layer, layers.WordEmbedding) else ids[None]
    outputs = layer(ids.astype(np.float32))
    assert keras.backend.standardize_dtype(outputs.dtype) == dtype.removeprefix("mixed_")
    np.testing.assert_array_equal(numpy(outputs).astype(np.float32), numpy(layer(ids)).astype(np.float32))
