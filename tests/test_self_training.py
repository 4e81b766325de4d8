"""Self-training: rounds in which models label texts for the next ones."""

import dataclasses
import functools
import json

import numpy as np
import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo import tasks
from dense_lstm_zoo.cli import main
from dense_lstm_zoo.teaching import rounds
from dense_lstm_zoo.training.protocol import ProtocolResult
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


def scripted(monkeypatch, scores):
    """Give the rounds' models these scores on dev without training them, and let them label every text as negative."""
    sizes, labelled = [], []

    def train_round(model, corpus, folder, *, seeds, seed, **options):
        assert "temperature" not in options or corpus.train.is_soft  # a temperature is for soft labels
        sizes.append(len(corpus.train))
        folder.mkdir(parents=True, exist_ok=True)
        runs = {"run": [f"seed{seed + i}" for i in range(seeds)], "dev_accuracy": scores[len(sizes) - 1]}
        return ProtocolResult(pd.DataFrame({**runs, "test_accuracy": 0.5}), folder, tasks.find("classification"))

    def label(teachers, texts, *, output, **options):
        labelled.append([teacher.parent.name for teacher in teachers])
        rows = [{"text": text, "probability_negative": 0.95, "probability_positive": 0.05} for text in texts]
        output.write_text("".join(json.dumps(row) + "\n" for row in rows))

    monkeypatch.setattr(rounds, "run_protocol", train_round)
    monkeypatch.setattr(rounds, "teach", label)
    return sizes, labelled


def test_rounds_end_where_one_does_not_gain_and_the_best_counts(corpus, raw, tmp_path, monkeypatch, capsys):
    sizes, labelled = scripted(monkeypatch, [0.6, 0.7, 0.65, 0.9])
    result = zoo.self_train("bilstm", corpus, raw[:20], tmp_path / "run", rounds=3, models=2, seed=4, temperature=2.0)
    assert sizes == [60, 80, 80]
    assert labelled == [["round0", "round0"], ["round1", "round1"]]
    assert result.rounds["labelled_by_models"].tolist() == [0, 20, 20]
    assert (result.best_round, [path.name for path in result.models]) == (1, ["seed4", "seed5"])
    assert {path.parent.name for path in result.models} == {"round1"}
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == (
        "round 1: 80 texts, 20 of them labelled by the models before; accuracy on dev 0.7000, test 0.5000"
    )
    assert lines[3].startswith("best on dev: round 1: ")


def test_a_folder_whose_rounds_labelled_other_texts_is_refused(corpus, raw, tmp_path, monkeypatch):
    sizes, _ = scripted(monkeypatch, [0.6, 0.7] * 2)
    one = functools.partial(zoo.self_train, "bilstm", corpus, run_dir=tmp_path / "run", rounds=1, models=1)
    one(texts=raw[:20])
    with pytest.raises(ValueError, match=r"run holds rounds for other texts\. Take another run_dir"):
        one(texts=raw[:30])
    for option, before in {"augment": 0, "models": 1, "seed": 1}.items():
        with pytest.raises(ValueError, match=rf"holds rounds with {option}={before}; received {option}=2\."):
            one(texts=raw[:20], **{option: 2})
    assert sizes == [60, 80]
    one(texts=raw[:20])
    assert sizes == [60, 80] * 2


def test_soft_labels_that_no_round_has_written_are_refused_and_stay(corpus, raw, tmp_path):
    (tmp_path / "round1.jsonl").write_text("mine")
    with pytest.raises(FileExistsError, match=r"round1\.jsonl is in the way.*has no texts\.json"):
        zoo.self_train("bilstm", corpus, raw, tmp_path, rounds=1)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("round1.jsonl", "mine")]


def test_training_texts_among_the_raw_ones_keep_their_own_label(corpus, raw, tmp_path, monkeypatch, capsys):
    sizes, _ = scripted(monkeypatch, [0.6, 0.7])
    zoo.self_train("bilstm", corpus, [*corpus.train.texts[:5], *raw[:20]], tmp_path / "run", rounds=1, models=1)
    assert sizes == [60, 80]
    assert "training texts, and keep their own label: 5" in "".join(capsys.readouterr())


def test_rounds_end_where_the_models_are_sure_of_no_text(corpus, raw, tmp_path, monkeypatch, capsys):
    sizes, _ = scripted(monkeypatch, [0.6])
    result = zoo.self_train("bilstm", corpus, raw[:20], tmp_path / "run", threshold=0.96, models=1)
    assert sizes == [60]
    assert result.best_round == 0
    assert "no text has a label with a probability of 0.96 or more" in "".join(capsys.readouterr())


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
        ("bilstm", {"threshold": 0.3}, "threshold must be from 0.5 to 1, or every text is sure; received 0.3"),
        ("bilstm", {"rounds": 0}, "rounds must be an integer of at least 1"),
        ("bilstm", {"folds": 3}, "self_train takes no folds"),
        ("bilstm", {"temperature": -1}, "temperature"),
        ("bilstm", {"temperature": 2.0, "recipe": "few_labels"}, "not for a run that fits the last layer alone"),
        ("bilstm", {"temperature": 2.0, "head": "convex", "epochs": 1}, "not for a run that fits the last layer alone"),
        ("bilstm_tagger", {}, "bilstm_tagger is for tagging"),
    ],
)
def test_wrong_requests_are_refused(model, options, message, tmp_path, corpus):
    with pytest.raises(ValueError, match=message):
        zoo.self_train(model, corpus, ["a"], tmp_path / "run", **options)
    assert not list(tmp_path.iterdir())


def test_the_command_takes_the_options_of_the_function_and_of_train(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(zoo, "self_train", lambda *arguments, **options: calls.append((arguments, options)))
    (tmp_path / "raw.csv").write_text("text,label\na fine film,\n,\na dull film,3\n")
    command = ["self-train", "bilstm", "--dataset", "demo", "--file", str(tmp_path / "raw.csv")]
    command += ["--run-dir", str(tmp_path / "self")]
    options = ["--rounds", "2", "--threshold", "0.8", "--units", "3", "--epochs", "1", "--seed", "4", "--no-baseline"]
    assert main([*command, *options, "--quiet"]) == 0
    ((model, corpus, texts), settings) = calls[0]
    assert (model, corpus.name, texts) == ("bilstm", "demo", ["a fine film", "a dull film"])
    own = {"rounds": 2, "threshold": 0.8, "units": 3, "epochs": 1, "seed": 4, "baseline": False, "progress": False}
    assert settings == {**own, "run_dir": str(tmp_path / "self")}
    (tmp_path / "self" / "round0").mkdir(parents=True)  # of a command that was killed
    assert main([*command, "--models", "2"]) == 0
    assert calls[1][1] == {"models": 2, "run_dir": str(tmp_path / "self"), "progress": True}


def test_the_command_refuses_a_temperature_of_a_last_layer_alone(tmp_path, capsys):
    (tmp_path / "raw.txt").write_text("a fine film\n")
    command = ["self-train", "bilstm", "--dataset", "demo", "--file", str(tmp_path / "raw.txt")]
    options = ["--run-dir", str(tmp_path / "self"), "--recipe", "few_labels", "--temperature", "2"]
    assert main([*command, *options]) == 2
    assert "not for a run that fits the last layer alone" in capsys.readouterr().err


def test_texts_are_checked_before_the_first_round(tmp_path, corpus):
    for texts, error, message in (
        ([], ValueError, "The list of texts holds no text to label"),
        (["a", 3], TypeError, "texts"),
        (tmp_path / "none.txt", FileNotFoundError, r"none\.txt does not exist"),
    ):
        with pytest.raises(error, match=message):
            zoo.self_train("bilstm", corpus, texts, tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_texts_that_are_all_scored_or_learnt_are_refused_before_the_first_round(corpus, tmp_path, monkeypatch):
    scripted(monkeypatch, [])
    with pytest.raises(ValueError, match="There is no text to label: each is a training text, or a copy of one in dev"):
        zoo.self_train("bilstm", corpus, [*corpus.train.texts[:5], *corpus.test.texts[:3]], tmp_path / "run")
    assert not list(tmp_path.iterdir())
