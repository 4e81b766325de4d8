"""The scripts that make the rows of results/: a user's mistake gives one plain line, before any training."""

from __future__ import annotations

import argparse
import importlib

import pandas as pd
import pytest

from benchmarks import teaching
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
    ("tagging_depth", ["--dataset", "demo", "--rows", "plain_2"], "Did you mean 'plain_"),
]
NO_FOLDER = ("few_labels", "first_hour", "fit_data", "linear_baselines", "sampled_softmax", "teaching")


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
    for name, number in (("train", 2), ("phrases", 3), ("raw", 5)):
        texts = pd.DataFrame({"text": [f"{name} {place}" for place in range(number)], "probability_yes": 1.0})
        texts.to_parquet(tmp_path / f"{name}.parquet")
    options = argparse.Namespace(teacher=str(tmp_path), phrases=True, raw=4)
    ways = {way: list(texts.text) for way, texts in teaching._labelled_texts(options)}
    phrases = ["train 0", "train 1", "phrases 0", "phrases 1", "phrases 2"]
    assert ways == {
        "teacher": phrases[:2],
        "teacher, phrases": phrases,
        "teacher, phrases, 4 raw sentences": [*phrases, "raw 0", "raw 1", "raw 2", "raw 3"],
    }
    options.raw = 100
    with pytest.raises(ValueError, match="has 5 raw sentences, and --raw asks for 100"):
        list(teaching._labelled_texts(options))


def test_a_row_is_told_from_others_by_its_key(tmp_path):
    rows = tmp_path / "rows.csv"
    assert not result_files.has_row(rows, {"seed": 1}, ["seed"])
    result_files.merge(rows, [{"way": "labels", "seed": 1, "accuracy": 90.0}], ["way", "seed"])
    assert result_files.has_row(rows, {"way": "labels", "seed": 1}, ["way", "seed"])
    assert not result_files.has_row(rows, {"way": "teacher", "seed": 1}, ["way", "seed"])
    assert not result_files.has_row(rows, {"way": "labels", "seed": 2}, ["way", "seed"])
