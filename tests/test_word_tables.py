"""Word vectors and word scores of language models: lookups, their gradients and refused ids, on any backend."""

import keras
import numpy as np
import pytest
from keras import ops

from dense_lstm_zoo import layers
from tests import backends
from tests.backends import numpy

IDS = np.array([[3, 1, 3], [0, 3, 6]])


@pytest.mark.parametrize("sparse_gradient", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_a_lookup_gives_rows_and_the_gradients_of_a_repeated_word_add_up(sparse_gradient, training):
    words = layers.TiedEmbedding(7, 2, sparse_gradient=sparse_gradient)
    words.build()
    table = numpy(words.embeddings)
    np.testing.assert_array_equal(numpy(words(IDS, training=training)), table[IDS])
    factors = np.random.default_rng(0).normal(size=(*IDS.shape, 2)).astype(np.float32)
    expected_gradient = np.zeros((7, 2))
    np.add.at(expected_gradient, IDS, factors)
    loss = backends.Loss(
        lambda: ops.sum(words(IDS, training=training) * ops.convert_to_tensor(factors)), [], [words.embeddings]
    )
    np.testing.assert_allclose(loss.gradients()[0], expected_gradient, atol=1e-6)


def test_vectors_score_words_and_scores_are_products_with_rows():
    words, scores = layers.TiedEmbedding(7, 4), layers.WordScores(7)
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    words.build()
    np.testing.assert_allclose(numpy(words(x, reverse=True)), x @ numpy(words.embeddings).T, atol=1e-6)
    actual = numpy(scores(x))
    np.testing.assert_allclose(actual, x @ numpy(scores.kernel).T, atol=1e-6)


@pytest.mark.parametrize("sparse_gradient", [False, True])
def test_dropped_words_are_zeros_wherever_they_stand_and_others_are_scaled(sparse_gradient):
    words = layers.TiedEmbedding(50, 2, dropout=0.5, sparse_gradient=sparse_gradient, seed=1)
    ids = np.tile(np.arange(50), (3, 1))
    share = numpy(words(ids, training=True)) / numpy(words(ids))
    np.testing.assert_array_equal(share[0], share[1])
    np.testing.assert_array_equal(share[0], share[2])
    assert sorted(set(np.round(share, 4).ravel().tolist())) == [0.0, 2.0]


@pytest.mark.parametrize("sparse_gradient", [False, True])
@pytest.mark.parametrize("wrong", [-1, 7])
def test_an_id_outside_the_table_is_refused(sparse_gradient, wrong):
    words = layers.TiedEmbedding(7, 2, sparse_gradient=sparse_gradient)
    with pytest.raises(ValueError, match=rf"takes ids from 0 to 6; received {wrong}\."):
        words(np.array([[wrong]]))


@pytest.mark.parametrize("sparse_gradient", [False, True])
def test_fit_moves_the_rows_of_its_words_only(sparse_gradient):
    token_ids = keras.Input((3,), dtype="int32")
    words = layers.TiedEmbedding(7, 2, sparse_gradient=sparse_gradient)
    model = keras.Model(token_ids, layers.Bias()(layers.WordScores(5)(words(token_ids))))
    model.compile(keras.optimizers.SGD(1.0), "mse", jit_compile=backends.BACKEND == "jax")
    before = numpy(words.embeddings).copy()
    with backends.training():
        model.fit(IDS, np.ones((2, 3, 5)), verbose=0)
    assert np.flatnonzero(np.abs(numpy(words.embeddings) - before).max(axis=1)).tolist() == [0, 1, 3, 6]


@pytest.mark.parametrize("sparse_gradient", [False, True])
def test_lora_adds_a_product_to_the_table_and_trains_its_factors_alone(sparse_gradient, tmp_path):
    token_ids = keras.Input((3,), dtype="int32")
    words = layers.TiedEmbedding(7, 4, sparse_gradient=sparse_gradient)
    model = keras.Model(token_ids, words(token_ids))
    table, factors = numpy(words.embeddings), np.random.default_rng(0).normal(size=(2, 4)).astype(np.float32)
    words.enable_lora(2)
    words.lora_embeddings_b.assign(factors)
    expected = table + numpy(words.lora_embeddings_a) @ factors
    for training in (False, True):
        np.testing.assert_allclose(numpy(words(IDS, training=training)), expected[IDS], atol=1e-6)
    np.testing.assert_allclose(numpy(words(expected[IDS], reverse=True)), expected[IDS] @ expected.T, atol=1e-5)
    with pytest.raises(ValueError, match="call set_matrix before enable_lora"):
        words.set_matrix(table)
    loss = backends.Loss(lambda: ops.sum(words(IDS, training=True) ** 2), [], words.trainable_variables)
    assert [tuple(gradient.shape) for gradient in loss.gradients()] == [(7, 2), (2, 4)]
    model.save(tmp_path / "m.keras")
    np.testing.assert_allclose(numpy(keras.saving.load_model(tmp_path / "m.keras")(IDS)), expected[IDS], atol=1e-6)
