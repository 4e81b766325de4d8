"""A sweep goes on with the texts that it began with, and with no others, on this machine or another."""

import json

import numpy as np
import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.cli.parser import parser
from dense_lstm_zoo.search import sweep as sweeps
from dense_lstm_zoo.search import trial as trials
from dense_lstm_zoo.search import trouble
from dense_lstm_zoo.search.plan import plan
from dense_lstm_zoo.search.runs import training_runs
from dense_lstm_zoo.search.space import parse_space
from tests.sweep_harness import leave_trials

with_data = sweeps._with_data
ROWS = [{"text": f"{word} film {number}", "label": word} for word in ("good", "bad") for number in range(6)]


@pytest.fixture
def sweep(monkeypatch, tmp_path):
    """Tune on a file, with made-up trials. Return the table of trials."""
    leave_trials(monkeypatch)
    monkeypatch.setattr(sweeps, "_with_data", with_data)

    def run(file):
        options = {"space": {"units": [4, 6]}, "tuner": "grid", "progress": False, "data": {"train_file": str(file)}}
        return zoo.tune("bilstm", "jsonl", tmp_path / "s", **options).trials.to_dict("records")

    return run


def test_a_sweep_whose_texts_have_changed_is_refused_and_goes_on_with_the_old_ones(sweep, write, tmp_path):
    file = write(ROWS, "train.jsonl")
    trials_before = sweep(file)
    before = (tmp_path / "s" / "sweep.json").read_bytes()
    write([*ROWS[:-1], {"text": "bad film 7", "label": "bad"}], "train.jsonl")
    with pytest.raises(
        ValueError, match=r"holds a sweep on other texts: those of train\.jsonl have changed since it began"
    ):
        sweep(file)
    assert (tmp_path / "s" / "sweep.json").read_bytes() == before
    write(ROWS, "train.jsonl")
    assert sweep(file) == trials_before


def test_a_sweep_goes_on_with_the_same_texts_under_another_path(sweep, write, tmp_path, monkeypatch):
    file = write(ROWS, "train.jsonl")
    trials_before = sweep(file)
    monkeypatch.chdir(file.parent)
    assert sweep(file.name) == trials_before
    settings = json.loads((tmp_path / "s" / "sweep.json").read_text())
    assert settings["data"] == {"train_file": "train.jsonl"}


def test_a_winner_is_scored_on_texts_where_they_are_now(sweep, write, tmp_path):
    file = write(ROWS, "train.jsonl")
    best = sweep(file)[0]["trial"]
    moved = file.rename(tmp_path / "moved.jsonl")
    sweep(moved)
    assert trials.read_spec(tmp_path / "s" / "trials" / best)["data"] == {"train_file": str(moved)}


def test_a_sweep_begins_in_a_folder_in_which_a_kill_left_half_of_a_file(sweep, write, tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "lock").touch()
    (tmp_path / "s" / ".sweep.json.0123abcd.dense-lstm-zoo").write_text("{")
    assert len(sweep(write(ROWS, "train.jsonl"))) == 2
    half = tmp_path / "frame" / ".texts.0123abcd.dense-lstm-zoo"
    half.mkdir(parents=True)
    options = {"space": {"units": [4]}, "tuner": "grid", "progress": False}
    assert len(zoo.tune("bilstm", pd.DataFrame(ROWS), tmp_path / "frame", **options).trials) == 1
    assert not half.exists()


def test_numbers_of_numpy_are_numbers(sweep, write, tmp_path):
    space = {"units": zoo.Range(np.int64(4), np.int64(5)), "dropout": [np.float64(0.1)]}
    fixed = {"embedding_dim": np.int64(5), "space": space, "tuner": "grid", "progress": False}
    data = {"train_file": str(write(ROWS, "train.jsonl"))}
    result = zoo.tune("bilstm", "jsonl", tmp_path / "s", data=data, **fixed)
    assert sorted(result.trials["units"]) == [4, 5]
    assert trials.read_spec(tmp_path / "s" / "trials" / "0000")["arguments"]["embedding_dim"] == 5


def test_trials_are_compared_by_a_cross_validation_where_the_recipe_holds_no_dev_texts_out(write):
    def scored_on(rows, **options):
        data = {"train_file": str(write(rows, "train.jsonl"))}
        return with_data(plan("bilstm", "jsonl", space={"units": [4]}, data=data, **options))[0].score

    assert scored_on(ROWS * 2) == "dev_accuracy"
    assert scored_on(ROWS, recipe="few_labels") == "cross_validation_accuracy"
    assert scored_on(ROWS, recipe="few_labels", folds=2) == "cross_validation_accuracy"
    assert scored_on(ROWS * 2, recipe="few_labels", epochs=2) == "dev_accuracy"
    with pytest.raises(ValueError, match=r"of 2 training texts leaves none for dev.*: few_labels\."):
        scored_on(ROWS[5:7])


@pytest.mark.slow
def test_a_sweep_with_few_labels_finds_its_best_bundle(write, tmp_path, capsys):
    data = {"train_file": str(write(ROWS * 2, "train.jsonl"))}
    options = {"space": {"units": [4, 6]}, "tuner": "grid", "recipe": "few_labels", "data": data, "vectors": "none"}
    result = zoo.tune("bilstm", "jsonl", tmp_path / "s", **options)
    assert result.trials["status"].tolist() == ["completed"] * 2
    assert 0 <= result.trials["score"].min() <= result.trials["score"].max() <= 1
    last = capsys.readouterr().out.splitlines()[-3:]
    assert last[0].startswith("cross_validation_accuracy ")
    assert last[1] == f"bundle in {result.best_bundle}"
    assert zoo.load(result.best_bundle).predict(["good film"])[0].label in ("good", "bad")


def test_the_report_of_a_sweep_is_titled_with_the_name_of_the_file(sweep, write, tmp_path):
    sweep(write(ROWS, "train.jsonl"))
    assert "<h1>bilstm on train.jsonl: grid search</h1>" in (tmp_path / "s" / "report.html").read_text()


def test_a_sweep_of_an_earlier_version_goes_on_and_learns_what_its_texts_are(sweep, write, tmp_path):
    file = write(ROWS, "train.jsonl")
    trials_before = sweep(file)
    for path in (tmp_path / "s" / "sweep.json", tmp_path / "s" / "sweep.json.bak"):
        described = json.loads(path.read_text())
        del described["data_sha256"]
        path.write_text(json.dumps(described))
    assert sweep(file) == trials_before
    write(ROWS[1:], "train.jsonl")
    with pytest.raises(ValueError, match="other texts"):
        sweep(file)


def test_a_trial_on_other_texts_is_the_machines_fault_and_pauses_the_sweep(sweep, write, tmp_path):
    sweep(write(ROWS, "train.jsonl"))
    spec = trials.read_spec(tmp_path / "s" / "trials" / "0000")
    assert [name for name, *_ in training_runs(spec)] == ["seed1"]
    write(ROWS[1:], "train.jsonl")
    with pytest.raises(OSError, match="texts of jsonl here are not those that the sweep began with") as raised:
        next(training_runs(spec))
    assert trouble.is_the_machines(raised.value)


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("bilstm_tagger", {"folds": 2}, "folds divide texts with labels, and those of a tagging model have none"),
        ("stacked_lstm_lm", {"folds": 2}, "those of a language_model model have none; received 2"),
        ("bilstm", {"folds": 100_000}, "100,?000"),
        ("bilstm", {"oracle": "nowhere"}, "HOST:PORT"),
    ],
)
def test_what_every_trial_would_refuse_claims_no_folder(model, options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        zoo.tune(model, "demo", tmp_path / "s", space={"units": [4]}, tuner="grid", progress=False, **options)
    assert not (tmp_path / "s").exists()


def test_a_name_that_is_searched_twice_is_refused_and_search_may_be_repeated():
    with pytest.raises(ValueError, match="units is searched twice; give all its values at once, such as units=A,B"):
        parse_space(["units=4", "units=8"])
    words = ["tune", "bilstm", "--run-dir", "r", "--search", "units=4", "--search", "dropout=0.1"]
    assert parser().parse_args(words).search == ["units=4", "dropout=0.1"]


def test_the_texts_of_a_frame_are_written_for_the_trials_and_stay_the_same(sweep, tmp_path):
    frame = pd.DataFrame(ROWS).rename(columns={"text": "said"})
    options = {"space": {"units": [4, 6]}, "tuner": "grid", "progress": False, "data": {"text_column": "said"}}
    with pytest.raises(ValueError, match="Did you mean 'units'"):
        zoo.tune("bilstm", frame, tmp_path / "s", **{**options, "space": {"unts": [4]}})
    assert not (tmp_path / "s").exists()
    trials = zoo.tune("bilstm", frame, tmp_path / "s", **options).trials
    assert len(trials) == 2
    lines = (tmp_path / "s" / "texts" / "train.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == ROWS
    assert zoo.tune("bilstm", frame, tmp_path / "s", **options).trials.equals(trials)
    with pytest.raises(ValueError, match=r"holds a sweep on other texts than those of this dataset"):
        zoo.tune("bilstm", frame[1:], tmp_path / "s", **options)
    assert (tmp_path / "s" / "texts" / "train.jsonl").read_text().splitlines() == lines


def test_a_frame_never_joins_the_sweep_or_the_folder_of_something_else(sweep, write, tmp_path):
    sweep(write(ROWS, "train.jsonl"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    for folder, error in (("s", ValueError), ("mine", FileExistsError)):
        with pytest.raises(error):
            zoo.tune("bilstm", pd.DataFrame(ROWS), tmp_path / folder, space={"units": [4]}, tuner="grid")
        assert not (tmp_path / folder / "texts").exists()
