"""The results of a run: predictions, scores, and a folder that is complete, or refused with the name of a file."""

import dataclasses
import re
import shutil

import keras
import numpy as np
import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.layers.recurrence import machine
from tests.training_harness import small_demo


def test_the_loaded_bundle_predicts_what_the_trained_one_did(run):
    bundle, folder = run
    again = zoo.load(folder)
    texts = ["The soup was not bland!", "", "qwerty zxcv", "   ", "😀", "a " * 500]
    assert again.predict(texts) == bundle.predict(texts)
    assert again.metrics == bundle.metrics
    pd.testing.assert_frame_equal(again.history, bundle.history, check_exact=False)
    assert "bilstm, demo: " in repr(again)


def test_predictions_hold_label_and_probabilities_in_order(run):
    bundle, _ = run
    texts = zoo.load_corpus("demo").test.texts[:40]
    for text, prediction in zip(texts, bundle.predict(texts), strict=True):
        assert prediction.text == text
        assert sum(prediction.probabilities.values()) == pytest.approx(1, abs=1e-6)
        assert prediction.label == max(prediction.probabilities, key=prediction.probabilities.get)
        assert prediction.probability == prediction.probabilities[prediction.label]
        assert bundle.predict([text])[0].probability == pytest.approx(prediction.probability, abs=1e-5)
    assert bundle.predict([]) == []
    assert next(bundle.predict_stream(iter(texts))).text == texts[0]


def test_predict_refuses_one_string_and_things_that_are_none(run):
    bundle, _ = run
    with pytest.raises(TypeError, match=r"received one string. Write \['one text'\]"):
        bundle.predict("one text")
    with pytest.raises(TypeError, match=r"received 3 \(int\)"):
        bundle.predict(["a", 3])


TEXTS = [
    "",
    " \t\n",
    "😀 👩‍👩‍👧",
    "\ud800 half a pair",
    b"caf\xe9 \xff\xfe",
    "\0",
    "ﬁne ①",
    "soup " * 3000,
    "ツ" * 5000,
]


def test_any_text_is_predicted_and_alone_as_among_others(run):
    bundle, _ = run
    together = bundle.predict(TEXTS)
    for text, prediction in zip(TEXTS, together, strict=True):
        assert prediction.text == text
        assert prediction.probability == pytest.approx(bundle.predict([text])[0].probability, abs=1e-5)
        assert sum(prediction.probabilities.values()) == pytest.approx(1)


def test_very_long_texts_do_not_meet_in_one_batch(run, monkeypatch):
    bundle, _ = run
    texts = ["bland soup " * 5000] * 9 + ["soup"]
    shapes = []
    model = bundle.logits_of
    monkeypatch.setitem(vars(bundle), "logits_of", lambda ids: shapes.append(ids.shape) or model(ids))
    bundle.predict(texts)
    assert sum(batch for batch, _ in shapes) == 10
    assert max(batch * time for batch, time in shapes) <= 65_536


def test_evaluate_scores_labelled_texts_and_refuses_foreign_labels(run):
    bundle, _ = run
    test = small_demo().test
    scores = bundle.evaluate(test)
    labels = [prediction.label for prediction in bundle.predict(test.texts)]
    names = zoo.load_corpus("demo").label_names
    expected = np.mean([names[y] == label for y, label in zip(test.labels, labels, strict=True)])
    assert scores["accuracy"] == pytest.approx(expected) == pytest.approx(bundle.metrics["test_accuracy"])
    assert bundle.evaluate(Split(["x"], [1]), ["positive", "negative"])["texts"] == 1
    with pytest.raises(ValueError, match=r"Unknown label 'positve'. Did you mean 'positive'"):
        bundle.evaluate(Split(["x"], [0]), ["positve"])
    with pytest.raises(ValueError, match="at least one text"):
        bundle.evaluate(Split([], []))


def test_damaged_bundles_are_refused_by_name(run, tmp_path):
    _, folder = run

    def damaged(name, change):
        copy = tmp_path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        change(copy / name)
        return copy

    def flip(file, position):
        content = bytearray(file.read_bytes())
        content[position] ^= 1
        file.write_bytes(content)

    files = ["config.json", "evaluation.json", "history.csv", "labels.json", "manifest.json", "metrics.json"]
    files += ["model.weights.h5", "vocabulary.txt"]
    rng = np.random.default_rng(0)
    for name in files:
        size = (folder / name).stat().st_size
        for position in (0, size - 1, *rng.integers(0, size, 5)):
            with pytest.raises(zoo.BundleError, match=name):
                zoo.load(damaged(name, lambda file, position=position: flip(file, position)))
        with pytest.raises(zoo.BundleError, match=name):
            zoo.load(damaged(name, lambda file: file.unlink()))
        with pytest.raises(zoo.BundleError, match=name):
            zoo.load(damaged(name, lambda file: file.write_bytes(file.read_bytes()[:-1])))
    with pytest.raises(zoo.BundleError, match=r"format 99, written by dense-lstm-zoo [\d.]+; this version reads only"):
        zoo.load(damaged("manifest.json", lambda f: f.write_text(f.read_text().replace('"format": 2', '"format": 99'))))
    with pytest.raises(FileNotFoundError, match=r"is not a folder\..*train\(run_dir=...\) makes\.$"):
        zoo.load(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match="makes; from_preset loads a preset by its name"):
        zoo.load("bilstm_sst2")
    with pytest.raises(zoo.BundleError, match=r"no manifest\.json"):
        zoo.load(tmp_path)


def test_a_bundle_whose_kernel_cannot_run_here_loads_on_the_portable_one(run, tmp_path, monkeypatch):
    bundle, _ = run
    config = {**bundle.config, "arguments": {**bundle.config["arguments"], "kernel": "cudnn"}}
    dataclasses.replace(bundle, config=config).save(tmp_path / "run")
    monkeypatch.setattr(machine, "has_gpu", lambda: False)
    with pytest.warns(UserWarning, match="asks for kernel='cudnn'; the portable kernel runs: TensorFlow sees no GPU"):
        again = zoo.load(tmp_path / "run")
    texts = ["The soup was bland.", ""]
    expected = [prediction.probability for prediction in bundle.predict(texts)]
    assert [prediction.probability for prediction in again.predict(texts)] == pytest.approx(expected, abs=1e-5)


def test_a_bundle_of_a_later_version_is_refused_with_what_it_needs(run, tmp_path):
    bundle, _ = run
    config = {**bundle.config, "model": "bilstm_2"}
    dataclasses.replace(bundle, config=config).save(tmp_path / "run")
    version = re.escape(f"dense-lstm-zoo {config['versions']['dense-lstm-zoo']}")
    with pytest.raises(zoo.BundleError, match=rf"config\.json .*Unknown model 'bilstm_2'.*{version}"):
        zoo.load(tmp_path / "run")


def test_a_save_that_fails_leaves_the_old_bundle_whole(run, tmp_path, monkeypatch):
    bundle, folder = run
    shutil.copytree(folder, tmp_path / "run")

    def no_space(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(keras.Model, "save_weights", no_space)
    with pytest.raises(OSError, match="No space left"):
        bundle.save(tmp_path / "run", overwrite=True)
    monkeypatch.undo()
    assert [f.name for f in tmp_path.iterdir()] == ["run"]
    assert zoo.load(tmp_path / "run").metrics == bundle.metrics


def test_a_folder_of_several_runs_names_the_bundles_in_it(run, tmp_path):
    for number in range(5):
        shutil.copytree(run[1], tmp_path / "sweep" / "trials" / f"{number:04d}" / "runs" / "seed1")
    with pytest.raises(zoo.BundleError, match=r"The folder holds bundles: \S+/0000/runs/seed1, .* and 2 more\.$"):
        zoo.load(tmp_path / "sweep")
