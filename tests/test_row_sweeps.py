"""Sweeps over rows, of models of their own: what is planned, which texts a trial sees, what the report shows."""

import dataclasses
import json

import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.search import report
from dense_lstm_zoo.search import trial as trials
from dense_lstm_zoo.search.plan import Sweep, plan
from dense_lstm_zoo.search.runs import training_runs
from dense_lstm_zoo.search.table_plan import Row, plan_rows

ROWS = {
    "wide": Row("bilstm", "ding2018", {"units": 5}),
    "deep": Row("dc_bilstm", "ding2018_table3_10x20"),
}


@pytest.fixture(scope="module")
def sweep():
    rows = {name: ROWS[name] for name in ("wide", "deep")}
    return plan_rows(rows, "sst2_phrases", seeds=2, dropout=0.2)


def test_a_row_is_trained_with_its_own_model_and_arguments_and_those_for_all(sweep):
    assert sweep.space == {"row": ["wide", "deep"]}
    spec = sweep.spec({"row": "wide"})
    assert (spec["model"], spec["values"], spec["seeds"]) == ("bilstm", {"row": "wide"}, [1, 2])
    assert spec["arguments"] == {"recipe": "ding2018", "units": 5, "dropout": 0.2, "epochs": 30}
    assert sweep.spec({"row": "deep"})["model"] == "dc_bilstm"
    assert Sweep.from_json(json.loads(json.dumps(sweep.to_json()))).to_json() == sweep.to_json()


@pytest.mark.parametrize(
    ("row", "options", "message"),
    [
        (Row("bilstmm"), {}, "Did you mean 'bilstm'"),
        (Row("bilstm", "kim2014"), {}, "Recipe 'kim2014' is for cnn_mc, not for 'bilstm'"),
        (Row("bilstm", None, {"unitz": 3}), {}, "Did you mean 'units'"),
        (Row("bilstm", None, {"units": 0}), {}, "units must be an integer of at least 1; received 0"),
        (Row("bilstm"), {"epochs": 0}, "epochs must be an integer of at least 1; received 0"),
        (Row("bilstm"), {"dataset": "ptb"}, "Unknown corpus 'ptb'"),
        (Row("bilstm"), {"vectors": "none.txt"}, r"none\.txt"),
    ],
)
def test_a_row_that_cannot_be_trained_is_refused_before_any_work(row, options, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        plan_rows({"row": row}, **{"dataset": "demo", **options})


def test_a_sweep_without_rows_is_written_without_what_only_tables_have():
    fields = plan("bilstm", "demo", space={"units": [3]}, tuner="grid").to_json()
    names = ["model", "dataset", "data", "tuner", "space", "arguments", "budget", "seeds", "folds", "seed", "epochs"]
    assert set(fields) == {*names, "data_sha256"}


@pytest.mark.parametrize("task", ["classification", "tagging", "language_model"])
def test_the_first_texts_of_a_corpus_are_a_corpus(task):
    corpus = zoo.load_corpus("demo", task)
    shortened = corpus.first_texts({"train": 7, "dev": 2})
    assert [len(part) for part in (shortened.train, shortened.dev)] == [7, 2]
    assert shortened.test is corpus.test
    if task == "classification":
        pairs = list(zip(corpus.train.texts, corpus.train.labels, strict=True))
        pairs_of_train = list(zip(shortened.train.texts, shortened.train.labels, strict=True))
        assert pairs_of_train == [pair for pair in pairs if pair in pairs_of_train]
        for label in (0, 1):
            of_label = [pair for pair in pairs_of_train if pair[1] == label]
            assert len(of_label) >= 3
            assert of_label == [pair for pair in pairs if pair[1] == label][: len(of_label)]


@pytest.mark.slow
@pytest.mark.parametrize("scored", [True, False])
def test_a_trial_scores_the_test_texts_of_its_fold_only_where_rows_report_them(scored, tmp_path):
    spec = {"model": "bilstm", "dataset": "demo", "data": {}, "values": {"row": "a"}, "seeds": [3], "folds": 4}
    spec |= {"pause_after": None, "only_folds": [2], "texts": {"train": 80}, "test": scored}
    spec["arguments"] = {"units": 3, "embedding_dim": 4, "epochs": 1, "batch_size": 40, "kernel": "native"}
    (tmp_path / "spec.json").write_text(json.dumps({**spec, "arguments": {**spec["arguments"], "progress": False}}))
    assert [(name, fold, seed) for name, fold, _, seed in training_runs(spec)] == [("fold02_seed3", 2, 3)]
    result = trials.run(tmp_path)
    metrics = zoo.load(tmp_path / "runs" / "fold02_seed3").metrics
    assert result["runs"] == ["fold02_seed3"]
    assert ("test_accuracy" in result) == ("test_accuracy" in metrics) == scored
    assert metrics["train_texts"] == 54  # three quarters of 80, but for a tenth of them for dev
    if scored:
        assert result["test_accuracy"] == metrics["test_accuracy"]
        assert metrics["test_texts"] == 20


def test_the_report_of_rows_shows_their_test_scores_and_the_papers_figures(sweep, monkeypatch):
    monkeypatch.setattr(report, "_pictures", lambda *_: [])
    frame_columns = {"trial": ["0001", "0000"], "status": ["completed"] * 2, "score": [0.9, 0.875], "std": [0.01, None]}
    frame_columns |= {"test_accuracy": [0.8765, 0.5], "row": ["deep", "wide"], "encoder_parameters": [9, 8]}
    page = report.page(pd.DataFrame(frame_columns), dataclasses.replace(sweep, test="all"), {})
    assert "2 rows on sst2_phrases" in page
    assert "<td>0.8765</td>" in page
    (published,) = [line for line in page.split("<h2>Published")[1].split("<tr>") if "ding2018_table3_10x20" in line]
    assert "<td>88.5</td><td>90</td><td>0001</td>" in published
    assert report.value_columns(pd.DataFrame(frame_columns)) == ["row"]
