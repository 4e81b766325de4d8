"""The rows of what ONNX exports cost: accuracy as the bundle's own evaluation says, differences, one row per export."""

import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from benchmarks import onnx_export, tables
from dense_lstm_zoo.models import registry
from tests import bundle_harness


@pytest.fixture
def measurements(monkeypatch):
    """Record the measurements, whose costs are made up."""
    calls = []

    def measure(runs, texts, *, repeats):
        calls.append((list(runs), list(texts), repeats))
        costs = dict.fromkeys((*onnx_export._COSTS, *onnx_export._ABOUT), 1.5)
        return pd.DataFrame([{**costs, "error": ""} for _ in runs])

    monkeypatch.setattr(zoo, "measure", measure)
    return calls


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size"), [("dc_bilstm", "num_classes"), ("bilstm_tagger", "num_tags")])
def test_a_row_for_each_way_of_serving_with_the_accuracy_on_dev(name, size, measurements, tmp_path):
    corpus = zoo.load_corpus("demo", registry.entry(name).task)
    labels = (
        corpus.label_names if size == "num_classes" else sorted({tag for tags in corpus.train.tags for tag in tags})
    )
    new_bundle = bundle_harness.bundle(name, **{size: len(labels)})
    new_bundle.labels, new_bundle.config["training"]["dataset"] = list(labels), "demo"
    folder = new_bundle.save(tmp_path / "bundle")
    rows = onnx_export.rows(str(folder), tmp_path, 7)
    assert [(row["kind"], row["weights"]) for row in rows] == [
        ("bundle", "float32"),
        ("export", "float32"),
        *(("onnx", weights) for weights in ("float32", "float16", "int8")),
    ]
    bundle = zoo.load(folder)
    dev = corpus.dev or corpus.with_dev(seed=bundle.config["training"]["seed"]).dev
    names = {"label_names": corpus.label_names} if bundle.task.name == "classification" else {}
    accuracy = round(100 * bundle.evaluate(dev, **names)["accuracy"], 2)
    assert rows[0]["accuracy"] == rows[2]["accuracy"] == accuracy
    assert rows[2]["answers_that_differ"] == 0
    assert float(rows[2]["largest_difference"]) < 1e-5
    assert float(rows[4]["largest_difference"]) < 0.1
    ((runs, texts, repeats),) = measurements
    assert (len(runs), len(texts), repeats) == (5, len(dev), 7)


def test_the_workload_is_that_of_the_speed_comparisons():
    bundle, texts, labels = onnx_export.workload()
    assert bundle.network.get_layer("encoder").count_params() == 1_406_560
    assert {len(text.split()) for text in texts} == {30}
    assert not labels


def test_the_table_shows_every_row(monkeypatch, tmp_path):
    row = dict.fromkeys(onnx_export._COSTS, "1.5") | {"model": "W", "kind": "onnx", "weights": "int8"}
    row |= {"accuracy": "", "answers_that_differ": "2", "largest_difference": "1e-2", "command": "c", "versions": "v"}
    row |= {"processor": "P", "cores": "2"}
    (tmp_path / "results").mkdir()
    tables.merge(tmp_path / "results" / "onnx_export.csv", [row], onnx_export.KEY)
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    lines = tables.onnx_export().splitlines()
    assert "| `W` | ONNX | int8 | - | 2 | 1e-2 | 1.5 | 1.50 (1.50) | 1.5 | 2 | 2 | 1.5 |" in lines
    assert lines[-1] == "P, 2 cores. Versions: v."
