"""The command that builds a preset, on the demo corpora, and the size limit of the distribution."""

import dataclasses
import json
import zlib

import numpy as np
import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.bundles import presets
from dense_lstm_zoo.corpora.dataset import fold_of
from dense_lstm_zoo.measuring import latency
from dense_lstm_zoo_runtime import Predictor
from presets import build, speeds
from tests.preset_harness import write_table

WORDS = ("the", "a", "of", "and", "was", "film", "good", "bad", "fox", "dog")
SMALL = {"epochs": 1, "units": 3, "vectors": "zoo_tiny", "trainable_embeddings": False}
PLANS = {
    "tiny_classifier": build.Plan("bilstm", "demo", SMALL),
    "tiny_tagger": build.Plan("gated_skip_tagger", "demo", {**SMALL, "num_layers": 1}),
}


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(tmp_path / "presets"))
    return write_table(tmp_path / "presets", name="zoo_tiny", words=WORDS)


@pytest.mark.slow
def test_a_corpus_without_test_texts_is_scored_on_a_fold_that_the_card_names(tmp_path, table, monkeypatch):
    models, demo = tmp_path / "presets" / "models", zoo.load_corpus("demo", "classification")
    reviews = dataclasses.replace(demo, name="cr", train=demo.dev, dev=None, test=None)
    monkeypatch.setattr(zoo, "load_corpus", lambda name, task: reviews)
    monkeypatch.setattr(build, "speed", lambda *_: {})
    plans = {"tiny_folds": build.Plan("bilstm", "cr", SMALL)}
    folder = build.build("tiny_folds", tmp_path / "work", models, seeds=1, plans=plans)
    bundle = zoo.load(folder)
    assert (bundle.metrics["test_texts"], bundle.metrics["tested_on"]) == (50, "fold 1 of 10")
    assert "tested on" in (folder / "README.md").read_text()
    assert bundle.config["training"]["fold"] == [1, 10]
    presets.write_index(models, tmp_path / "index.json")
    (entry,) = json.loads((tmp_path / "index.json").read_text())["presets"]
    assert entry["protocol"] == "50 texts, seed 1, fold 1 of 10"


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_a_preset_is_the_best_seed_rounded_scored_and_indexed(tmp_path, table, name, monkeypatch):
    models = tmp_path / "presets" / "models"
    monkeypatch.setattr(latency, "time_calls", lambda *_: {"p50_ms": 1.0, "p99_ms": 2.0, "texts_per_s": 3.0})
    folder = build.build(name, tmp_path / "work", models, seeds=2, plans=PLANS)
    seeds = [zoo.load(tmp_path / "work" / name / f"seed{seed}") for seed in (1, 2)]
    best = max(seeds, key=lambda bundle: bundle.metrics["dev_accuracy"])
    bundle_of_preset = zoo.load(folder)
    assert bundle_of_preset.config["training"]["seed"] == best.config["training"]["seed"]
    assert bundle_of_preset.metrics["chosen"] == "best of 2 seeds on dev"
    assert bundle_of_preset.metrics["test_accuracy"] == pytest.approx(best.metrics["test_accuracy"], abs=0.02)
    assert "shared_words" in json.loads((folder / "config.json").read_text())
    assert "one text: median 1.0 ms" in (folder / "README.md").read_text()
    text = "the film was good ."
    full, light = bundle_of_preset.predict([text])[0], Predictor(folder).predict([text])[0]
    assert getattr(light, "label", None) == getattr(full, "label", None)
    shares = (
        [[full.probability], [light.probability]]
        if name == "tiny_classifier"
        else [full.probabilities, light.probabilities]
    )
    assert shares[1] == pytest.approx(shares[0], abs=0.01)
    assert json.loads((folder / "onnx" / "config.json").read_text())["weights"] == "int8"
    presets.write_index(models, tmp_path / "index.json")
    (entry,) = json.loads((tmp_path / "index.json").read_text())["presets"]
    assert entry["name"] == name
    assert entry["protocol"].endswith(f"seed {bundle_of_preset.config['training']['seed']}, best of 2 seeds on dev")
    trained = [(seed / "manifest.json").stat().st_mtime_ns for seed in (tmp_path / "work" / name).iterdir()]
    build.build(name, tmp_path / "work", models, seeds=2, plans=PLANS)  # finished seeds are not trained again
    assert trained == [(seed / "manifest.json").stat().st_mtime_ns for seed in (tmp_path / "work" / name).iterdir()]


@pytest.mark.slow
def test_speeds_measured_in_one_session_are_written_and_no_weights_are(tmp_path, table, monkeypatch):
    models = tmp_path / "presets" / "models"
    monkeypatch.setattr(latency, "time_calls", lambda *_: {"p50_ms": 9.0, "p99_ms": 9.0, "texts_per_s": 9.0})
    folder = build.build("tiny_classifier", tmp_path / "work", models, seeds=1, plans=PLANS)
    heavy = [folder / "model.weights.h5", folder / "onnx" / "model.onnx", folder / "evaluation.json"]
    before = [file.stat().st_mtime_ns for file in heavy]
    times = iter([3.0, 0.0, 1.0, 0.0, 2.0, 0.0])  # of one text, then of many, in three rounds
    monkeypatch.setattr(latency, "time_calls", lambda *_: {"p50_ms": next(times), "p99_ms": 4.0, "texts_per_s": 7.0})
    bundle = zoo.load(folder)
    speed = speeds.measure({"tiny": bundle}, {"tiny": build.corpus_of(bundle).dev}, 3)["tiny"]
    assert (speed["p50_ms_1"], speed["p99_ms_1"], speed["texts_per_s"]) == (2.0, 4.0, 7)
    speeds.write(folder, speed)
    again = zoo.load(folder)
    assert again.metrics == {**bundle.metrics, **speed}
    assert "one text: median 2.0 ms" in (folder / "README.md").read_text()
    assert "one text" not in (folder / "onnx" / "README.md").read_text()
    bundle_sha256 = json.loads((folder / "onnx" / "config.json").read_text())["bundle"]
    assert bundle_sha256 == again.saved_as == presets.index_entry(folder)["sha256"]
    light = Predictor(folder / "onnx").predict(["the film was good ."])[0]
    assert light.label == again.predict(["the film was good ."])[0].label
    assert before == [file.stat().st_mtime_ns for file in heavy]


@pytest.mark.slow
def test_a_text_encoder_is_made_of_a_language_model_in_each_direction(tmp_path, table):
    settings = {"num_layers": 1, "units": 3, "vectors": "zoo_tiny", "trainable_embeddings": False, "epochs": 1}
    plans = {"tiny_lm": build.Plan("dense_lstm_lm", "demo", {**settings, "max_words": 30})}
    folder = build.build_encoder("tiny_lm", tmp_path / "work", tmp_path / "models", plans)
    encoder = zoo.TextEncoder.load(folder)
    assert (encoder.directions, encoder.table[0]) == (("forward", "backward"), "zoo_tiny")
    trained = [zoo.load(tmp_path / "work" / "tiny_lm" / direction) for direction in encoder.directions]
    for direction, bundle in zip(encoder.directions, trained, strict=True):
        kernel = bundle.network.get_layer("stack").weights[0]
        assert encoder.weights[direction][0] == pytest.approx(np.asarray(kernel), abs=1e-3)  # float16
    before = [run.stat().st_mtime_ns for run in (tmp_path / "work").rglob("manifest.json")]
    build.build_encoder("tiny_lm", tmp_path / "work", tmp_path / "models", plans)  # neither is trained again
    assert before == [run.stat().st_mtime_ns for run in (tmp_path / "work").rglob("manifest.json")]


def test_a_preset_learns_from_all_tables_of_its_teacher(tmp_path):
    plan = build.Plan("bilstm", "demo", SMALL, soft_labels=("one/train.parquet", "one/raw.parquet"))
    names = zoo.load_corpus("demo", "classification").label_names
    (tmp_path / "one").mkdir()
    for file, texts in zip(plan.soft_labels, (["a b", "c"], ["d e f"]), strict=True):
        with pytest.raises(FileNotFoundError, match="teacher_answers unpack"):
            build.build("taught", tmp_path / "work", plans={"taught": plan}, teachers=tmp_path)
        table = {f"probability_{name}": 1 / len(names) for name in names} | {"text": texts}
        pd.DataFrame(table).to_parquet(tmp_path / file)
    assert list(build._soft_labels(plan, tmp_path).train.texts) == ["a b", "c", "d e f"]


def test_a_taught_preset_names_its_teacher_and_no_other_does():
    assert all(bool(plan.teacher) == bool(plan.soft_labels) for plan in build.PLANS.values())
    for name in (name for name, plan in build.PLANS.items() if plan.teacher):
        config = json.loads((build.MODELS / name / "config.json").read_text())
        assert config["training"]["taught_by"]["teachers"] == [build.PLANS[name].teacher]


def test_a_preset_that_is_tested_on_a_fold_names_it_in_its_config_too():
    folds = {}
    for path in build.MODELS.glob("*/metrics.json"):
        tested_on = json.loads(path.read_text()).get("tested_on")
        fold = fold_of(json.loads(path.with_name("config.json").read_text())["training"])
        assert tested_on == (fold and f"fold {fold[0]} of {fold[1]}")
        folds[path.parent.name] = fold
    assert folds["dc_bilstm_cr"] == folds["dc_bilstm_subj"] == (1, build.FOLDS)


def test_an_unknown_plan_is_named():
    with pytest.raises(ValueError, match="dc_bilstm_sst2"):
        build.build("dc_bilstm_sst", None)


@pytest.mark.slow
def test_the_distribution_is_small_enough_for_a_package_index_when_it_is_compressed_as_a_wheel_is():
    contents = (file.read_bytes() for file in build.MODELS.parent.rglob("*") if file.is_file())
    assert sum(len(zlib.compress(content)) for content in contents) < 100_000_000


def test_the_distribution_is_small_enough_for_a_package_index_and_its_presets_are_those_of_the_index():
    folder = build.MODELS.parent
    total = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    assert total < 115_000_000  # compressed, as a wheel is, it is five sixths of that, and an index takes 100 MB
    index = json.loads(presets.INDEX.read_text())["presets"]
    presets_there = sorted(path.parent.name for path in build.MODELS.glob("*/manifest.json"))
    assert [entry["name"] for entry in index] == presets_there
    for entry in index:
        assert entry == presets.index_entry(build.MODELS / entry["name"])
    assert {*build.PLANS, *build.ENCODERS} >= set(presets_there)
