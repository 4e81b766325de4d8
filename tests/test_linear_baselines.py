"""The linear baselines: rows like the deep models', chosen on dev, blind to word order."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.linear_model import LogisticRegression

import dense_lstm_zoo as zoo
from benchmarks import linear_baselines
from benchmarks.classification_tables import CLASSIFICATION
from benchmarks.nb_svm import NBSVM
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.split import Split

GOOD, BAD = [f"it is good {i}" for i in range(20)], [f"it is bad {i}" for i in range(20)]
EASY = Split(GOOD + BAD, [1] * 20 + [0] * 20)


@pytest.mark.parametrize("model", ["unigram_naive_bayes", "unigram_linear_svm"])
def test_words_are_enough_where_they_tell_and_order_is_never_seen(model):
    corpus = Corpus("easy", ("bad", "good"), EASY, None, Split(["GOOD it is", "BAD", "bad bad", "good"], [1, 0, 0, 1]))
    row = linear_baselines.measure(model, corpus, None, 1)
    assert (row["accuracy_mean"], row["accuracy_std"], row["dev_accuracy_mean"]) == (100, "", 100)
    swapped = Split(["not good , bad", "not bad , good"] * 20, [0, 1] * 20)
    row = linear_baselines.measure(model, Corpus("order", ("bad", "good"), swapped, None, swapped), None, 1)
    assert row["accuracy_mean"] == 50


def test_nb_svm_is_a_regression_over_words_scaled_by_their_ratios():
    features = scipy.sparse.csr_matrix([[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 1, 0]])
    labels = np.array([0, 0, 1, 1])
    fitted = NBSVM(0.5).fit(features, labels)
    # Wang and Manning 2012, equation 2, with alpha 1.
    positive, negative = (1 + features.toarray()[labels == label].sum(axis=0) for label in (1, 0))
    ratio = np.log((positive / positive.sum()) / (negative / negative.sum()))
    scaled = features.toarray() * ratio
    expected = LogisticRegression(C=0.5, solver="liblinear", random_state=1).fit(scaled, labels)
    decisions = (features @ fitted.weights + fitted.biases)[:, 0]
    np.testing.assert_allclose(decisions, expected.decision_function(scaled), rtol=1e-4, atol=1e-6)
    assert list(fitted.predict(features)) == list(expected.predict(scaled))


def test_nb_svm_tells_labels_by_pairs_of_words_and_more_than_two_labels():
    swapped = Split(["not good , bad", "not bad , good"] * 20, [0, 1] * 20)
    for model in ("nb_svm", linear_baselines.BASELINE):
        row = linear_baselines.measure(model, Corpus("order", ("bad", "good"), swapped, None, swapped), None, 1)
        assert row["accuracy_mean"] == 100
    three = Split(["red apple", "blue sky", "green grass"] * 10, [0, 1, 2] * 10)
    row = linear_baselines.measure("nb_svm", Corpus("colours", ("r", "b", "g"), three, None, three), None, 1)
    assert row["accuracy_mean"] == 100


def test_a_row_has_the_columns_of_the_results_and_folds_their_spread():
    row = linear_baselines.measure("unigram_naive_bayes", Corpus("easy", ("bad", "good"), EASY, None, None), 5, 1)
    assert set(row) == set(pd.read_csv(CLASSIFICATION, nrows=0))
    assert (row["protocol"], row["accuracy_std"], row["accuracies"]) == (
        "5 folds, seed 1",
        0,
        "100.0 100.0 100.0 100.0 100.0",
    )
    assert (
        row["command"] == "python -m benchmarks.linear_baselines --dataset easy --models unigram_naive_bayes --folds 5"
    )


def test_an_unknown_corpus_or_one_without_test_texts_fails_before_any_work(capsys, monkeypatch):
    monkeypatch.setattr(zoo, "load_corpus", lambda name, task: Corpus(name, ("bad", "good"), EASY, None, None))
    with pytest.raises(SystemExit):
        linear_baselines.main(["--dataset", "mine"])
    assert "mine has no test texts: --folds 10 cross-validates" in capsys.readouterr().err
