"""Model cards: known failures, cost, and a command that trains the same again."""

import shlex

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.classification import demo as classification_demo
from dense_lstm_zoo.cli import main
from dense_lstm_zoo.reports import cards, command_line
from dense_lstm_zoo.tagging import demo as tagging_demo
from tests.preset_harness import write_table
from tests.saving_harness import scored_bundle

EVALUATION = {
    "split": "test",
    "labels": ["a|b", "ham", "spam"],
    "confusion": [[5, 0, 0], [3, 90, 7], [0, 30, 70]],
    "classes": [
        {"label": "a|b", "precision": 0.1, "recall": 0.1, "f1": 0.1, "texts": 5},  # too rare to call the weakest
        {"label": "ham", "precision": 0.8, "recall": 0.9, "f1": 0.84, "texts": 100},
        {"label": "spam", "precision": 0.9, "recall": 0.7, "f1": 0.79, "texts": 100},
    ],
    "wrong": [{"text": "<b>buy</b> now", "label": "ham", "predicted": "spam", "probability": 0.987}] * 5,
}


def test_known_failures_are_the_weakest_class_frequent_confusions_and_confident_errors():
    assert list(cards._failure_lines(EVALUATION)) == [
        "weakest on spam: F1 79.0 % of 100 texts",
        r"taken for another: spam for ham (30 texts); ham for spam (7 texts); ham for `a|b` (3 texts)",
        *["spam with probability 0.987, right is ham: `<b>buy</b> now`"] * 3,
    ]


def test_known_failures_of_a_tagger_and_of_many_labels():
    tags = [{"label": "X", "precision": 0.2, "recall": 0.2, "f1": 0.2, "texts": 40}, {"label": "Y", "f1": None}]
    tags[1]["texts"] = 50
    tagger = {"tags": tags, "confusions": [{"right": "X", "predicted": "Y", "tokens": 1200}], "split": "dev"}
    assert list(cards._failure_lines(tagger)) == ["taken for another: X for Y (1,200 tokens)"]
    cells = {"labels": [f"l{i}" for i in range(200)], "confusion_cells": [[0, 0, 9], [0, 199, 2]], "classes": []}
    assert list(cards._failure_lines(cells)) == ["taken for another: l0 for l199 (2 texts)"]
    assert list(cards._failure_lines({})) == []


def test_a_card_names_size_speed_and_what_to_cite(tmp_path):
    bundle = scored_bundle(["no", "yes"])
    bundle.config["training"] |= {"dataset": "trec", "fold": [2, 10]}
    bundle.metrics |= {"p50_ms_1": 1.25, "p99_ms_1": 3.0, "texts_per_s": 2500, "speed_batch": 32, "speed_of": "2 cores"}
    card = (bundle.save(tmp_path / "run") / "README.md").read_text()
    num_bytes = sum(
        file.stat().st_size
        for file in (tmp_path / "run").iterdir()
        if file.suffix not in (".png", ".md")  # those are for people
    )
    assert f"- {num_bytes / 2**20:.1f} MB on disk" in card
    assert "- one text: median 1.2 ms, 99th percentile 3.0 ms; 2,500 texts a second in batches of 32 (2 cores)" in card
    assert "- data: Li and Roth 2002" in card
    assert "trained on trec without fold 2 of 10\n" in card
    assert "- model: " in card
    exported = cards.model_card(bundle, tmp_path / "run", "model = load(...)")
    assert "MB on disk" in exported
    assert "one text" not in exported  # the times are the bundle's


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(tmp_path))
    words = ("the", "film", "was", "good", "bad", "a", "of", "and", "in", "to")
    return write_table(tmp_path, name="zoo_tiny", words=words)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        "bilstm --recipe ding2018 --epochs 1 --units 4 --seed 7 --class-weights balanced --calibrate --vectors none",
        "bilstm --vectors zoo_tiny --epochs 1 --units 3 --kernel portable --trainable-embeddings false --batch-size 50",
        "cnn_mc --vectors none --epochs 1 --filters 3 --kernel-sizes [2,3] --class-weights {\"positive\":2.0}",
        "bilstm_tagger --vectors none --epochs 1 --units 3 --num-layers 1 --crf true",
        "dense_lstm_lm --epochs 1 --units 4 --num-layers 1 --num-steps 7 --embedding-dim 5",
    ],
)  # fmt: skip
def test_the_command_on_a_card_trains_the_same_again(tmp_path, monkeypatch, table, arguments):
    monkeypatch.chdir(tmp_path)
    for demo in (classification_demo, tagging_demo):
        monkeypatch.setattr(demo, "_SPLIT_SIZES", {"train": 300, "dev": 50, "test": 50})
    assert main(["train", *shlex.split(arguments.replace('"', r"\"")), "--dataset", "demo", "--run-dir", "first"]) == 0
    first = zoo.load("first")
    command = command_line.of(first.config)
    assert command in (tmp_path / "first" / "README.md").read_text()
    assert main(shlex.split(command)[1:]) == 0
    assert zoo.load("runs/mine").config == first.config
    assert zoo.load("runs/mine").fingerprint() == first.fingerprint()


@pytest.mark.slow
def test_the_command_on_the_card_of_a_run_on_files_names_all_of_them_and_how_they_are_written(
    tmp_path, monkeypatch, table
):
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path / "data")
    rows = [f"{text};{label}" for text, label in [("the film was good", "up"), ("déjà bad", "down")] * 20]
    for name, content in {"all.txt": [*rows, ";up"], "held.csv": rows[:4], "last one.csv": rows[:6]}.items():
        lines = "\n".join(["the text;label", *content])
        (tmp_path / "data" / name).write_text(lines, encoding="cp1252")
    options = ["--dataset", "csv", "--dev-file", "held.csv", "--encoding", "cp1252", "--delimiter", ";", "--skip-empty"]
    options += ["--train-file", "../data/all.txt", "--test-file", "last one.csv", "--text-column", "the text"]
    small = ["--vectors", "none", "--epochs", "1", "--units", "3", "--embedding-dim", "4"]
    assert main(["train", "bilstm", *options, *small, "--run-dir", "first"]) == 0
    first = zoo.load("first")
    assert first.config["training"]["files"]["train_file"] == "all.txt"  # no folder of the user's
    command = command_line.of(first.config)
    assert command in (tmp_path / "data" / "first" / "README.md").read_text()
    assert main(shlex.split(command)[1:]) == 0
    assert zoo.load("runs/mine").config == first.config
    assert zoo.load("runs/mine").fingerprint() == first.fingerprint()


CONFIG = {
    "task": "classification",
    "model": "bilstm",
    "arguments": {"units": 3},
    "training": {"dataset": "trec", "recipe": "ding2018", "seed": 4, "vectors": "glove.zip", "epochs": 9},
}
COMMAND = (
    "dense-lstm-zoo train bilstm --dataset trec --recipe ding2018 --seed 4 --vectors glove.zip --epochs 9 --units 3"
)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, f"{COMMAND} --run-dir runs/mine"),
        (
            {"training": {**CONFIG["training"], "fold": [2, 10]}},
            f"{COMMAND} --run-dir runs/mine".replace(" --recipe", " --folds 10 --only-folds 2 --recipe"),
        ),
        ({"model": "of_tomorrow"}, ""),
        ({"task": "of_tomorrow"}, ""),
        ({"training": {}}, ""),
        ({"training": {**CONFIG["training"], "recipe": "of_tomorrow"}}, ""),
    ],
)
def test_what_this_version_does_not_know_has_no_command(changes, expected):
    config = {**CONFIG, **changes}
    assert command_line.of(config) == expected
    bundle = scored_bundle(["no", "yes"])
    bundle.config |= {name: value for name, value in config.items() if name != "arguments"}
    bundle.config["training"] = {"dataset": "trec", **config["training"]}
    assert ("## Command" in cards.model_card(bundle)) == bool(expected)


def test_a_corpus_of_ones_own_is_a_file_in_the_command():
    config = {**CONFIG, "training": {**CONFIG["training"], "dataset": "my reviews; rm -rf"}}
    assert command_line.of(config) == f"{COMMAND} --run-dir runs/mine".replace(
        "--dataset trec", "--train-file YOUR_FILE"
    )


def test_the_command_of_a_taught_model_names_its_soft_labels():
    training = {**CONFIG["training"], "taught_by": {"teachers": ["an oracle"], "texts": 9, "labelled": 0}}
    config = {**CONFIG, "training": training}
    soft = "--dataset trec --train-file YOUR_SOFT_LABELS"
    assert command_line.of(config) == f"{COMMAND} --run-dir runs/mine".replace("--dataset trec", soft)
    training["files"] = {"train_file": "soft.parquet"}
    assert "--dataset trec --train-file soft.parquet" in command_line.of(config)


def test_the_command_names_the_columns_and_the_length_that_were_read():
    training = {**CONFIG["training"], "dataset": "csv", "columns": {"text_column": "the review", "separator": "\t"}}
    command = command_line.of({**CONFIG, "training": training, "text": {"max_tokens": 50}})
    assert "--separator '\\t' --text-column 'the review'" in command
    assert "--max-tokens 50" in command
    training["columns"] = {"text_column": "la\u00a0revue"}  # a space that does not break
    assert "--text-column 'la\u00a0revue'" in command_line.of({**CONFIG, "training": training})


def test_a_run_that_went_on_from_another_names_it_and_leaves_its_arguments_out():
    origin = {"name": "base", "freeze": "encoder", "unfreeze_after": 2}
    config = {**CONFIG, "training": {**CONFIG["training"], "recipe": None, "init_from": origin}}
    options = "--init-from base --freeze encoder --unfreeze-after 2 --epochs 9 --run-dir runs/mine"
    assert command_line.of(config) == f"dense-lstm-zoo train bilstm --dataset trec --seed 4 {options}"
