"""The command ``train`` on a file of texts beside stock Keras."""

import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from benchmarks.speed import file_of_texts


def test_texts_are_cut_and_those_of_dev_are_others(tmp_path, monkeypatch):
    monkeypatch.setattr(file_of_texts, "DEV_TEXTS", 20)
    monkeypatch.setattr(file_of_texts, "SHORTEST", 5)
    file_of_texts.write_files(tmp_path, "demo", 50)
    train, dev = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("train", "dev"))
    assert (len(train), len(dev)) == (50, 20)
    lengths = pd.concat([train, dev]).text.str.split().str.len()
    assert lengths.min() >= 5
    assert set(train.label) == set(zoo.load_corpus("demo").label_names)
    assert not set(train.text) & set(dev.text)


@pytest.mark.slow
def test_both_sides_train_in_processes_of_their_own_and_have_a_row(tmp_path, monkeypatch):
    monkeypatch.setattr(file_of_texts, "RESULTS", tmp_path / "rows.csv")
    monkeypatch.setattr(file_of_texts, "DEV_TEXTS", 20)
    monkeypatch.setattr(file_of_texts, "SHORTEST", 5)
    monkeypatch.setattr(file_of_texts, "PEAK_SIZE", 256)
    arguments = "--corpus demo --texts 40 --batches 20 --epochs 2 --repeats 1"
    file_of_texts.main(arguments.split())
    (row,) = pd.read_csv(file_of_texts.RESULTS).to_dict("records")
    assert (row["corpus"], row["texts"], row["batch"], row["epochs"]) == ("demo", 40, 20, 2)
    assert row["command"] == f"python -m benchmarks.speed.file_of_texts {arguments}"
    assert row["ratio"] == pytest.approx(row["keras_s"] / row["ours_s"], rel=0.02)
    assert row["words_per_s"] * row["epoch_s"] > 40 * 5
