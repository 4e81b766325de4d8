"""Self-training: rounds in which models label texts for the next ones."""

import dataclasses

import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.teaching import rounds
from tests.training_harness import TINY, small_demo

TRAINING = {**TINY, "epochs": 1, "vectors": "none", "baseline": False, "batch_size": 50, "progress": False}


@pytest.fixture(scope="module")
def corpus():
    demo = small_demo()
    return dataclasses.replace(demo, train=demo.train.select(range(60)))


@pytest.fixture(scope="module")
def raw():
    return small_demo().train.texts[60:260]


@pytest.fixture(scope="module")
def first(corpus, raw, tmp_path_factory):
    folder = tmp_path_factory.mktemp("self") / "run"
    return zoo.self_train("bilstm", corpus, raw, folder, rounds=1, models=1, threshold=0.5, **TRAINING), folder


@pytest.mark.slow
def test_a_round_learns_from_the_models_before(first, corpus, raw):
    result, folder = first
    assert result.rounds["round"].tolist() == [0, 1]
    assert result.rounds["texts"].tolist()[0] == 60
    count = result.rounds["labelled_by_models"].tolist()[1]
    assert 150 < count <= 200  # without repeated texts, and those of dev and test
    config = zoo.load(folder / "round1" / "seed1").config["training"]
    assert config["taught_by"]["texts"] == 60 + count
    assert config["taught_by"]["labelled"] == 60
    assert config["taught_by"]["teachers"][0].startswith("seed1, a bilstm trained on demo")
    better = result.rounds["dev"][1] > result.rounds["dev"][0]
    assert result.best_round == int(better)
    assert [path.name for path in result.models] == ["seed1"]
    assert f"best on dev: round {result.best_round}" in str(result)


@pytest.mark.slow
def test_a_repeated_call_keeps_what_is_finished(first, corpus, raw, monkeypatch):
    result, folder = first

    def fails(*arguments, **options):
        raise AssertionError("trained again")

    monkeypatch.setattr("dense_lstm_zoo.training.protocol.train", fails)
    monkeypatch.setattr(rounds, "teach", fails)
    again = zoo.self_train("bilstm", corpus, raw, folder, rounds=1, models=1, threshold=0.5, **TRAINING)
    assert str(again) == str(result)


def test_only_texts_that_the_models_are_sure_of_are_learnt(corpus):
    soft = dataclasses.replace(
        corpus, train=zoo.Split(["a b", "c d", "e f"], None, probabilities=[[0.95, 0.05], [0.5, 0.5], [0.1, 0.9]])
    )
    part = rounds._with_sure_texts(corpus, soft, 0.9)
    assert part.train.texts[-2:] == ["a b", "e f"]
    assert part.train.labelled.tolist() == [True] * 60 + [False] * 2
    np.testing.assert_array_equal(part.train.probabilities[:60].argmax(axis=1), corpus.train.labels)
    assert rounds._with_sure_texts(corpus, soft, 0.99) is None


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("bilstm", {"threshold": 1.5}, "threshold must be a number from 0 to 1"),
        ("bilstm", {"rounds": 0}, "rounds must be an integer of at least 1"),
        ("bilstm_tagger", {}, "bilstm_tagger is for tagging"),
    ],
)
def test_wrong_requests_are_refused(model, options, message, tmp_path, corpus):
    with pytest.raises(ValueError, match=message):
        zoo.self_train(model, corpus, ["a"], tmp_path / "run", **options)
    assert not list(tmp_path.iterdir())
