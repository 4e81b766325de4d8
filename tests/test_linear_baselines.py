"""The linear baselines: rows like the deep models', chosen on dev, blind to word order."""

import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from benchmarks import linear_baselines, tables
from dense_lstm_zoo.classification.corpus import Corpus, Split

GOOD, BAD = [f"it is good {i}" for i in range(20)], [f"it is bad {i}" for i in range(20)]
EASY = Split(GOOD + BAD, [1] * 20 + [0] * 20)


@pytest.mark.parametrize("model", linear_baselines.MODELS)
def test_words_are_enough_where_they_tell_and_order_is_never_seen(model):
    corpus = Corpus("easy", ("bad", "good"), EASY, None, Split(["GOOD it is", "BAD", "bad bad", "good"], [1, 0, 0, 1]))
    row = linear_baselines.measure(model, corpus, None, 1)
    assert (row["accuracy_mean"], row["accuracy_std"], row["dev_accuracy_mean"]) == (100, "", 100)
    swapped = Split(["not good , bad", "not bad , good"] * 20, [0, 1] * 20)
    row = linear_baselines.measure(model, Corpus("order", ("bad", "good"), swapped, None, swapped), None, 1)
    assert row["accuracy_mean"] == 50


def test_a_row_has_the_columns_of_the_results_and_folds_their_spread():
    row = linear_baselines.measure("unigram_naive_bayes", Corpus("easy", ("bad", "good"), EASY, None, None), 5, 1)
    assert set(row) == set(pd.read_csv(tables.CLASSIFICATION, nrows=0))
    assert (row["protocol"], row["accuracy_std"], row["accuracies"]) == (
        "5 folds, seed 1",
        0,
        "100.0 100.0 100.0 100.0 100.0",
    )
    assert row["command"] == "python -m benchmarks.linear_baselines --dataset easy --folds 5"


def test_an_unknown_corpus_or_one_without_test_texts_fails_before_any_work(capsys, monkeypatch):
    monkeypatch.setattr(zoo, "load_corpus", lambda name: Corpus(name, ("bad", "good"), EASY, None, None))
    with pytest.raises(SystemExit):
        linear_baselines.main(["--dataset", "mine"])
    assert "mine has no test texts: --folds 10 cross-validates" in capsys.readouterr().err
