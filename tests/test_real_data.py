"""The main job on the real corpus with real vectors, as a user types it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import dense_lstm_zoo as zoo
from benchmarks.demo import SERVE

pytestmark = pytest.mark.slow
QUESTIONS = ["How far is it from Denver to Aspen ?", "Who was Galileo?", ""]


def test_trec_from_raw_text_to_a_served_model(data_folder, tmp_path):
    vectors = data_folder / "vectors" / "imdb.300d.txt.gz"
    command = [
        sys.executable,
        "-m",
        "dense_lstm_zoo",
        "train",
        "dc_bilstm",
        "--dataset",
        "trec",
        "--recipe",
        "ding2018",
    ]
    command += ["--vectors", str(vectors), "--seed", "1", "--epochs", "6", "--run-dir", str(tmp_path / "run")]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "vectors cover 8,097 of 8,127 word types" in run.stdout
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert metrics["encoder_parameters"] == 1_406_560
    assert (metrics["train_texts"], metrics["dev_texts"], metrics["test_texts"]) == (4907, 545, 500)
    assert metrics["test_accuracy"] > 0.84
    bundle = zoo.load(tmp_path / "run")
    assert bundle.evaluate(zoo.load_corpus("trec").test)["accuracy"] == pytest.approx(metrics["test_accuracy"])
    expected = bundle.predict(QUESTIONS)
    assert [prediction.label for prediction in expected[:2]] == ["NUM", "HUM"]
    exported: Path = bundle.export(tmp_path / "export" / "1")
    served = subprocess.run(
        [sys.executable, "-c", SERVE, str(exported), *QUESTIONS], capture_output=True, text=True, check=True
    )
    lines = [line.split()[:2] for line in served.stdout.splitlines()]
    assert lines == [[prediction.label, f"{prediction.probability:.3f}"] for prediction in expected]
