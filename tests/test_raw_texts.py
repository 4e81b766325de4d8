"""The benchmark of raw texts: its sides answer alike, and what is wrong is said before anything is loaded."""

import numpy as np
import pytest

import dense_lstm_zoo as zoo
from benchmarks import raw_texts
from tests.bundle_harness import bundle, with_random_weights


def test_batches_of_a_training_give_the_answers_of_the_bundle():
    trained = with_random_weights(bundle("bilstm", num_frozen_words=0), seed=1, scale=0.7)
    texts = ["the film was n't very good", "", "a", "good " * 30] * 70
    shares, is_known = raw_texts.in_large_batches(trained, texts), [True, False, False, True] * 70
    np.testing.assert_allclose(shares[is_known], trained.probabilities(texts)[is_known], atol=1e-6)


@pytest.mark.parametrize("arguments", [("p", "demo", 0, 1), ("p", "demo", 1, 0)])
def test_a_number_below_1_is_refused_before_a_preset_is_loaded(arguments, monkeypatch):
    monkeypatch.setattr(zoo, "from_preset", lambda name: pytest.fail("it was loaded"))
    with pytest.raises(ValueError, match="must be an integer of at least 1"):
        raw_texts.measure(*arguments)
