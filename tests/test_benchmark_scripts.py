"""The scripts that make the rows of results/: a user's mistake gives one plain line, before any training."""

from __future__ import annotations

import argparse
import importlib
import json
import types

import numpy as np
import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from benchmarks import teacher_answers, teaching
from tests.training_harness import small_demo
from tuning import result_files

BAD = [
    ("classification", ["--models", "dc_bilstn"], "Did you mean 'dc_bilstm'"),
    ("classification", ["--dataset", "demo", "--recipe", "ding2019"], "Did you mean 'ding2018'"),
    ("classification", ["--vectors", "none.txt"], "no vectors named none.txt"),
    ("dynamic_interaction", ["--encoders", "stakc"], "Did you mean 'stack'"),
    ("dynamic_interaction", ["--poolings", "max"], "Accepted: constant, dsa, mean, position, vector"),
    ("dynamic_interaction", ["--vectors", "none.txt"], "no vectors named none.txt"),
    ("few_labels", ["demmo"], "Did you mean 'demo'"),
    ("few_labels", ["demo", "--draws", "0"], "--draws must be an integer of at least 1"),
    ("first_hour", ["demmo"], "Did you mean 'demo'"),
    ("first_hour", ["demo@0"], "demo@0: the number of texts must be an integer of at least 1"),
    ("fit_data", ["--dataset", "demmo"], "Did you mean 'demo'"),
    ("fit_data", ["--dataset", "demo", "--epochs", "0"], "--epochs must be an integer of at least 1"),
    ("language_model", ["--recipes", "godin2017_dens_200x2"], "Did you mean 'godin2017_dense_200x2'"),
    ("linear_baselines", ["--dataset", "demmo"], "Did you mean 'demo'"),
    ("recipe_search", ["--dataset", "demo", "--set", "droput=0.5"], "Did you mean 'dropout'"),
    ("sampled_softmax", ["--dataset", "demo", "--seeds", "0"], "--seeds must be an integer of at least 1"),
    ("sampled_softmax", ["--dataset", "trec"], "for classification, not for language_model"),
    ("tagging", ["--models", "bilstm_taggr"], "Did you mean 'bilstm_tagger'"),
    ("tagging", ["--dataset", "demo", "--recipe", "bached"], "Did you mean 'batched'"),
    ("tagging", ["--dataset", "demo", "--set", "epochs=0"], "epochs"),
    ("teaching", ["demmo", "--teacher", "none"], "Did you mean 'demo'"),
    ("teaching", ["demo", "--teacher", "none", "--seeds", "0"], "--seeds must be an integer of at least 1"),
    ("teaching", ["demo", "--teacher", "none", "--temperature", "0"], "--temperature must be a finite number above 0"),
    ("teaching", ["demo", "--teacher", "none", "--student", "bilstm_taggr"], "Did you mean 'bilstm_tagger'"),
    ("teaching", ["demo", "--teacher", "none", "--student", "bilstm_tagger", "--augment", "2"], "without --augment"),
    ("teaching", ["ewt_upo", "--teacher", "none", "--student", "bilstm_tagger"], "Did you mean 'ewt_upos'"),
    ("self_training", ["demmo", "--rest"], "Did you mean 'demo'"),
    ("self_training", ["demo"], "Name other texts: --raw N, sentences of reviews, or --rest"),
    ("self_training", ["demo", "--rest", "--labels", "9999"], "--labels must be below "),
    ("self_training", ["demo", "--rest", "--threshold", "2"], "--threshold must be a number from 0 to 1"),
    ("self_training", ["demo", "--rest", "--set", "units"], "A setting is written NAME=VALUE"),
    ("tagging_depth", ["--dataset", "demo", "--rows", "plain_2"], "Did you mean 'plain_"),
]
NO_FOLDER = ("few_labels", "first_hour", "fit_data", "linear_baselines", "sampled_softmax", "self_training", "teaching")


@pytest.mark.parametrize(("script", "arguments", "message"), BAD)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_left(script, arguments, message, tmp_path, monkeypatch):
    run_dir = [] if script in NO_FOLDER else ["--run-dir", str(tmp_path / "runs")]
    monkeypatch.setattr("sys.argv", [script, *arguments, *run_dir])
    module = importlib.import_module(f"benchmarks.{script}")
    table = [module.TABLE] if hasattr(module, "TABLE") else []
    with pytest.raises(SystemExit) as stopped:
        module.main(*table)
    error = str(stopped.value)
    assert error.startswith("error: ")
    assert message in error
    assert "\n" not in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_two_softmaxes_train_on_the_same_windows_and_have_a_row_each(tmp_path, monkeypatch, capsys):
    from benchmarks import cpu_seconds, sampled_softmax

    monkeypatch.setattr(cpu_seconds, "RESULTS", tmp_path / "cpu_seconds.csv")
    small = "--dataset demo --samples 50 --units 4 --windows 3 --dev-tokens 400 --seeds 1"
    monkeypatch.setattr("sys.argv", ["sampled_softmax", *small.split()])
    sampled_softmax.main()
    sampled, full = pd.read_csv(cpu_seconds.RESULTS).to_dict("records")
    assert (sampled["way"], full["way"]) == ("50 samples", "all words")
    assert sampled["command"] == full["command"] == f"python -m benchmarks.sampled_softmax {small}"
    for row in (sampled, full):
        assert row["cpu_s_low"] <= row["cpu_s"] <= row["cpu_s_high"]
        assert row["dev_perplexity"] > 1
    assert "dev_perplexity" in capsys.readouterr().out
    assert "| 3 windows | demo | 50 samples |" in cpu_seconds.table()


def test_a_student_learns_from_more_and_more_of_what_a_transformer_has_labelled(tmp_path):
    (tmp_path / "scores.json").touch()
    for name, number in (("train", 2), ("copies_2", 5), ("phrases", 3), ("raw", 5)):
        texts = pd.DataFrame({"text": [f"{name} {place}" for place in range(number)], "probability_yes": 1.0})
        texts.to_parquet(tmp_path / f"{name}.parquet")
    options = argparse.Namespace(teacher=str(tmp_path), augment=0, phrases=True, raw=4)
    ways = {way: list(texts.text) for way, texts in teaching._labelled_texts(options)}
    phrases = ["train 0", "train 1", "phrases 0", "phrases 1", "phrases 2"]
    assert ways == {
        "teacher": phrases[:2],
        "teacher, phrases": phrases,
        "teacher, phrases, 4 raw sentences": [*phrases, "raw 0", "raw 1", "raw 2", "raw 3"],
    }
    options.augment = 2
    ways = {way: list(texts.text) for way, texts in teaching._labelled_texts(options)}
    assert [(way, len(texts)) for way, texts in ways.items()][1:3] == [
        ("teacher, 2 copies", 5),
        ("teacher, 2 copies, phrases", 8),
    ]
    options.raw = 100
    with pytest.raises(ValueError, match="has 5 raw sentences, and --raw asks for 100"):
        list(teaching._labelled_texts(options))


def test_a_student_never_learns_from_a_teacher_of_its_test_texts(tmp_path, monkeypatch):
    monkeypatch.setattr(teaching, "measure", lambda *_: pytest.fail("work was done"))
    about = {"dataset": "cr", "fold": 2, "encoder": "one", "sources": []}
    (tmp_path / "scores.json").write_text(json.dumps(about))
    with pytest.raises(SystemExit) as stopped:
        teaching.main(["cr", "--teacher", str(tmp_path), "--fold", "1"])
    assert "is a teacher of cr, fold 2, not of cr, fold 1, whose test texts it may have read" in str(stopped.value)


def test_answers_of_a_teacher_are_packed_without_their_texts_and_unpacked_with_them(tmp_path):
    corpus = teacher_answers.corpus_of("demo", None)
    labelled = {"augment": 1, "phrases": False, "raw": 0}

    def by_length(texts):
        share = np.array([len(text) % 11 / 10 for text in texts])
        return np.stack([share, 1 - share], axis=1)

    folder = tmp_path / "teacher"
    folder.mkdir()
    sources = teacher_answers.sources(corpus, "demo", **labelled)
    assert list(sources) == ["train", "copies_1"]
    for name, settings in sources.items():
        zoo.teach(by_length, output=folder / f"{name}.parquet", progress=False, **settings)
    about = {"dataset": "demo", "fold": None, "encoder": "by_length", "labelled": labelled, "sources": list(sources)}
    (folder / "scores.json").write_text(json.dumps(about))
    teacher_answers.pack(folder, tmp_path / "teacher.npz")
    assert all(
        len(text) < 20 or text not in str((tmp_path / "teacher.npz").read_bytes()) for text in corpus.train.texts
    )
    teacher_answers.unpack(tmp_path / "teacher.npz", tmp_path / "again")
    for name in sources:
        one, other = (pd.read_parquet(where / f"{name}.parquet") for where in (folder, tmp_path / "again"))
        pd.testing.assert_frame_equal(one.drop(columns="teacher"), other.drop(columns="teacher"), atol=1e-5)
        assert set(other.teacher) == {"by_length, fine-tuned on demo"}
    assert json.loads((tmp_path / "again" / "scores.json").read_text())["encoder"] == "by_length"


def test_answers_to_other_texts_are_refused(tmp_path):
    rows = np.full((len(teacher_answers.corpus_of("demo", None).train), 2), 2**15, "uint16")
    about = {"dataset": "demo", "fold": None, "encoder": "one", "texts": {"train": "another"}}
    about["labelled"] = {"augment": 0, "phrases": False, "raw": 0}
    np.savez(tmp_path / "teacher.npz", about=np.array(json.dumps(about)), train=rows)
    with pytest.raises(ValueError, match="texts of train are not those of teacher"):
        teacher_answers.unpack(tmp_path / "teacher.npz", tmp_path / "again")
    np.savez(tmp_path / "teacher.npz", about=np.array(json.dumps(about)), train=rows[:5])
    with pytest.raises(ValueError, match="answers to 5 texts, and the corpora give more"):
        teacher_answers.unpack(tmp_path / "teacher.npz", tmp_path / "again")
    assert not list((tmp_path / "again").glob("*.parquet"))


def test_a_misspelt_name_of_stored_answers_is_answered_with_its_near_match(tmp_path):
    with pytest.raises(SystemExit) as stopped:
        teacher_answers.main(["unpack", "sst2_10000", str(tmp_path)])
    assert "Did you mean 'sst2_100000'" in str(stopped.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_tagger_teaches_a_tagger_and_each_way_has_a_row(tmp_path, monkeypatch):
    corpus, sizes = small_demo("tagging"), {"units": 4, "embedding_dim": 5, "num_layers": 1, "vectors": "none"}
    zoo.train("bilstm_tagger", corpus, tmp_path / "teacher", epochs=1, progress=False, **sizes)
    monkeypatch.setattr(teaching, "RESULTS", tmp_path / "teaching.csv")
    monkeypatch.setattr(teaching.raw_sentences, "draw", lambda number, seed: ["The old man saw her."] * number)
    load_corpus = zoo.load_corpus
    monkeypatch.setattr(zoo, "load_corpus", lambda name, task: corpus if name == "demo" else load_corpus(name, task))
    small = "--student bilstm_tagger --vectors none --units 4 --num-layers 1 --raw 2 --epochs 1 --seeds 1"
    teaching.main(["demo", "--teacher", str(tmp_path / "teacher"), *small.split()])
    rows = pd.read_csv(tmp_path / "teaching.csv")
    assert rows.way.tolist() == ["the teacher", "labels", "teacher", "teacher, 2 raw sentences"]
    assert rows.texts.tolist()[2:] == [300, 301]
    assert "--vectors none --units 4 --num-layers 1 --raw 2 --temperature 1 --epochs 1 --seeds 1" in rows.command[1]


def test_a_row_is_told_from_others_by_its_key(tmp_path):
    rows = tmp_path / "rows.csv"
    assert not result_files.has_row(rows, {"seed": 1}, ["seed"])
    result_files.merge(rows, [{"way": "labels", "seed": 1, "accuracy": 90.0}], ["way", "seed"])
    assert result_files.has_row(rows, {"way": "labels", "seed": 1}, ["way", "seed"])
    assert not result_files.has_row(rows, {"way": "teacher", "seed": 1}, ["way", "seed"])
    assert not result_files.has_row(rows, {"way": "labels", "seed": 2}, ["way", "seed"])


def self_training_command(tmp_path, monkeypatch, words):
    from benchmarks import self_training

    monkeypatch.setattr(self_training, "RESULTS", tmp_path / "self_training.csv")
    assert self_training.table() == ""
    self_training.main(words.split())
    return pd.read_csv(self_training.RESULTS, keep_default_na=False).to_dict("records"), self_training.table()


def test_self_training_is_beside_the_labels_alone_and_the_recipe(tmp_path, monkeypatch):
    from benchmarks import self_training

    calls = []

    def self_train(model, corpus, texts, folder, **options):
        calls.append((model, len(corpus.train), corpus.dev, len(texts), options["seed"], options["units"]))
        scores = {"texts": [9, 30, 20], "test": [0.5, 0.625, 0.6]}
        return types.SimpleNamespace(rounds=pd.DataFrame(scores), best_round=1)

    def train(model, corpus, folder, **options):
        assert (options["recipe"], len(corpus.train)) == ("few_labels", calls[-1][1])
        return types.SimpleNamespace(metrics={"test_accuracy": 0.7})

    monkeypatch.setattr(
        self_training,
        "zoo",
        types.SimpleNamespace(self_train=self_train, train=train, load_corpus=self_training.zoo.load_corpus),
    )
    words = "demo --labels 10 20 --rest --rounds 2 --models 1 --threshold 0.8 --epochs 1 --draws 2 --set units=3"
    rows, table = self_training_command(tmp_path, monkeypatch, words)
    left = len(self_training.zoo.load_corpus("demo").train) - 10
    assert calls[:2] == [("bilstm", 10, None, left, draw, 3) for draw in (1, 2)]
    assert [(row["way"], row["texts"], row["accuracy"], row["best_round"]) for row in rows[:3]] == [
        ("labels alone", 9, 50.0, "0"),
        ("self-training", 30, 62.5, "1"),
        ("few_labels", 10, 70.0, ""),
    ]
    assert len(rows) == 12
    self_training.main(words.split())
    assert len(calls) == 4  # nothing is measured again
    assert rows[0]["command"] == (
        "python -m benchmarks.self_training demo --rest --labels 10 20 --rounds 2 --models 1 --threshold 0.8 "
        "--epochs 1 --draws 2 --model bilstm --vectors zoo_600d --set units=3"
    )
    assert "| corpus | model | trained on | 10 labels | 20 labels |" in table
    assert "| demo | bilstm units=3 | labels and the other training texts | 62.5 ± 0.0 | 62.5 ± 0.0 |" in table


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Without vectors")
def test_self_training_runs_on_a_small_corpus(tmp_path, monkeypatch):
    words = "demo --labels 40 --rest --rounds 1 --models 1 --threshold 0.5 --epochs 1 --draws 1 --vectors none"
    rows, table = self_training_command(tmp_path, monkeypatch, f"{words} --set units=3 embedding_dim=4 kernel=native")
    assert [row["way"] for row in rows] == ["labels alone", "self-training", "few_labels"]
    assert all(0 <= row["accuracy"] <= 100 for row in rows)
    assert "40 labels" in table
