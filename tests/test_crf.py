"""The conditional random field against the enumeration of every tag sequence."""

import itertools

import keras
import numpy as np
import pytest
from keras import ops

from dense_lstm_zoo import layers
from tests import backends
from tests.backends import numpy

TAGS, TIME = 3, 5
LENGTHS = np.array([5, 3, 1, 0], np.int32)


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    layer = layers.CRF(TAGS)
    layer.set_weights([rng.normal(size=w.shape) for w in layer.get_weights()])
    return layer, rng.normal(size=(len(LENGTHS), TIME, TAGS)).astype(np.float32), rng


def enumerate_sequences(layer, potentials, length):
    """Every tag sequence of a sentence with its score, in float64."""
    transitions, start, end = (w.astype(np.float64) for w in layer.get_weights())
    for tags in itertools.product(range(TAGS), repeat=int(length)):
        score = start[tags[0]] + end[tags[-1]] + sum(potentials[t, y] for t, y in enumerate(tags))
        yield tags, score + sum(transitions[pair] for pair in itertools.pairwise(tags))


def test_likelihoods_marginals_and_the_best_sequence_are_those_of_brute_force(case):
    layer, potentials, rng = case
    tags = rng.integers(0, TAGS, (len(LENGTHS), TIME))
    tags[1, 3:] = -1  # what is past the length does not matter
    likelihoods = numpy(layer.log_likelihood(potentials, tags, LENGTHS))
    marginals, best = numpy(layer.marginals(potentials, LENGTHS)), numpy(layer(potentials, lengths=LENGTHS))
    for b, n in enumerate(LENGTHS):
        if n == 0:
            assert likelihoods[b] == 0
            continue
        sequences = dict(enumerate_sequences(layer, potentials[b].astype(np.float64), n))
        log_z = np.log(sum(np.exp(list(sequences.values()))))
        assert likelihoods[b] == pytest.approx(sequences[tuple(tags[b, :n].tolist())] - log_z, abs=1e-5)
        assert tuple(best[b, :n].tolist()) == max(sequences, key=sequences.get)
        expected = np.zeros((n, TAGS))
        for sequence, score in sequences.items():
            expected[np.arange(n), sequence] += np.exp(score - log_z)
        np.testing.assert_allclose(marginals[b, :n], expected, atol=1e-5)
        assert not marginals[b, n:].any()
        assert (best[b, n:] == -1).all()


def test_the_best_sequences_of_many_sentences_are_those_of_brute_force(case):
    layer, _, rng = case  # of a few sentences, they may be the same with the transitions the other way round
    potentials = rng.normal(size=(30, TIME, TAGS)).astype(np.float32)
    for row, best in zip(potentials, numpy(layer(potentials)), strict=True):
        sequences = dict(enumerate_sequences(layer, row.astype(np.float64), TIME))
        assert tuple(best.tolist()) == max(sequences, key=sequences.get)


def test_an_unknown_tag_may_be_any_tag_in_values_and_gradients(case):
    layer, potentials, _ = case
    # Unknown at the start, in the middle, at the end, side by side, and everywhere.
    tags = np.array([[-2, 1, -2, -2, 0], [2, 0, -2, -1, -1], [-2, -1, -1, -1, -1], [-1] * 5])
    likelihoods = layer.log_likelihood(potentials, tags, LENGTHS)
    gradient = backends.Loss(lambda x: ops.sum(layer.log_likelihood(x, tags, LENGTHS)), [potentials]).gradients()[0]
    for b, n in enumerate(LENGTHS[:3]):
        sequences = dict(enumerate_sequences(layer, potentials[b].astype(np.float64), n))
        agreeing = {s: x for s, x in sequences.items() if all(t in (y, -2) for y, t in zip(s, tags[b], strict=False))}
        assert len(agreeing) == TAGS ** np.sum(tags[b, :n] == -2)
        log_sums = [np.log(np.sum(np.exp(list(scores.values())))) for scores in (agreeing, sequences)]
        assert float(likelihoods[b]) == pytest.approx(log_sums[0] - log_sums[1], abs=1e-5)
        expected = np.zeros((TIME, TAGS))  # the difference of the marginals
        for sign, scores, log_sum in zip((1, -1), (agreeing, sequences), log_sums, strict=True):
            for sequence, score in scores.items():
                expected[np.arange(n), sequence] += sign * np.exp(score - log_sum)
        np.testing.assert_allclose(gradient[b], expected, atol=1e-5)
    assert float(likelihoods[2]) == pytest.approx(0, abs=1e-6)  # nothing is known of the sentence
    assert likelihoods[3] == 0
    assert np.isfinite(gradient).all()


def test_padding_changes_nothing_and_graphs_of_any_length_give_the_same(case):
    layer, potentials, rng = case
    longer = np.concatenate([potentials, rng.normal(size=(len(LENGTHS), 4, TAGS)).astype(np.float32)], axis=1)
    graph = backends.traced(lambda p, n: (layer(p, lengths=n), layer.marginals(p, n)), (None, None, TAGS), (None,))
    tags, marginals = graph(longer, LENGTHS)
    np.testing.assert_array_equal(tags[:, :TIME], layer(potentials, lengths=LENGTHS))
    np.testing.assert_allclose(marginals[:, :TIME], layer.marginals(potentials, LENGTHS), atol=1e-6)
    for b, n in enumerate(LENGTHS[:3]):
        np.testing.assert_array_equal(graph(potentials[b : b + 1, :n], LENGTHS[b : b + 1])[0][0], tags[b, :n])


def test_gradients_of_the_likelihood_are_those_of_finite_differences(case):
    layer, potentials, rng = case
    tags = rng.integers(0, TAGS, (len(LENGTHS), TIME))
    weights = layer.trainable_weights
    loss = backends.Loss(lambda x: ops.sum(layer.log_likelihood(x, tags, LENGTHS)), [potentials], weights)
    for i, gradient in enumerate(loss.gradients()):
        direction, step = rng.normal(size=gradient.shape).astype(np.float32), 1e-2
        difference = (loss.loss_after(i, step * direction) - loss.loss_after(i, -step * direction)) / (2 * step)
        assert np.sum(gradient * direction) == pytest.approx(difference, rel=1e-2, abs=1e-3)


def test_a_saved_layer_decodes_the_same(case, tmp_path):
    layer, potentials, _ = case
    inputs, lengths = keras.Input((None, TAGS)), keras.Input((), dtype="int32")
    keras.Model([inputs, lengths], layer(inputs, lengths=lengths)).save(tmp_path / "m.keras")
    again = keras.saving.load_model(tmp_path / "m.keras")
    np.testing.assert_array_equal(again([potentials, LENGTHS]), layer(potentials, lengths=LENGTHS))


def test_no_sentences_have_no_tags(case):
    layer, potentials, _ = case
    values = layer(potentials[:0], lengths=LENGTHS[:0])
    assert (tuple(values.shape), keras.backend.standardize_dtype(values.dtype)) == ((0, TIME), "int32")
    values = layer.marginals(potentials[:0])
    assert (tuple(values.shape), keras.backend.standardize_dtype(values.dtype)) == ((0, TIME, TAGS), "float32")
    for tag in (1, -2):
        assert tuple(layer.log_likelihood(potentials[:0], np.full((0, TIME), tag)).shape) == (0,)


def test_half_precision_around_it_does_not_round_the_scores_that_it_compares():
    potentials = np.array([[[12.26, 12.27, 0.0]]], np.float32)  # equal in bfloat16, whose steps are 0.0625 here
    assert numpy(layers.CRF(3, dtype="mixed_bfloat16")(potentials)).tolist() == [[1]]
