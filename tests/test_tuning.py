"""Sweeps: tuners that lose nothing, refusals, reports. Trials are simulated (real ones: test_real_sweep.py)."""

import dataclasses
import json
import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.corpora.dataset import Dataset
from dense_lstm_zoo.search import process, report
from dense_lstm_zoo.search import trial as trials
from dense_lstm_zoo.search.plan import Sweep
from dense_lstm_zoo.search.published import published
from tests.sweep_harness import FakeProcess, leave_result, leave_test, make_quick

SPACE = {"units": [4, 6, 8], "dropout": [0.1, 0.3]}


@pytest.fixture
def fake(monkeypatch):
    """Trials whose score is that of their values: 0.9 - |units - 6| / 10 - dropout / 100. ``specs`` lists them."""
    specs = []

    def start(folder, *, test=False, environment=None):
        spec = json.loads((folder / "spec.json").read_text())
        arguments = spec["arguments"]
        if test:
            return leave_test(folder)
        specs.append({"folder": folder.name, "pause_after": spec["pause_after"], **arguments})
        if len(specs) == start.interrupt_at:
            raise KeyboardInterrupt
        if arguments["units"] == start.fails:
            return FakeProcess(start.status, "the loss became nan")
        return leave_result(folder)

    start.pictures = report._pictures
    make_quick(monkeypatch)
    start.interrupt_at, start.fails, start.status = None, None, process.FAILED
    start.specs = specs
    monkeypatch.setattr(trials, "start", start)
    return start


def sweep(folder, **options):
    return zoo.tune("bilstm", "demo", folder, **{"space": SPACE, "tuner": "grid", "progress": False, **options})


def test_a_grid_tries_every_combination_once_and_scores_the_winner_alone(fake, tmp_path):
    result = sweep(tmp_path / "s")
    combinations = [(spec["units"], spec["dropout"]) for spec in fake.specs]
    assert sorted(combinations) == [(u, d) for u in (4, 6, 8) for d in (0.1, 0.3)]
    assert (result.best["units"], result.best["dropout"]) == (6, 0.1)
    assert result.test["test_accuracy"]["mean"] == 0.5
    assert len(list((tmp_path / "s").glob("trials/*/test.json"))) == 1
    table = pd.read_csv(tmp_path / "s" / "results.csv")
    assert len(table) == 6
    assert table["score"].is_monotonic_decreasing
    trials_with_runs = [path.parent.name for path in (tmp_path / "s").glob("trials/*/runs")]
    assert trials_with_runs == [result.best["trial"]]
    assert result.best_bundle.name == "seed1"


@pytest.mark.parametrize("tuner", ["grid", "random", "bayesian"])
def test_an_interrupted_sweep_goes_on_and_tries_what_the_whole_one_tries(fake, tmp_path, tuner):
    trials_asked = None if tuner == "grid" else 5
    sweep(tmp_path / "whole", tuner=tuner, trials=trials_asked)
    uninterrupted = [spec["folder"] + str(spec["units"]) + str(spec["dropout"]) for spec in fake.specs]
    fake.specs.clear()
    fake.interrupt_at = 3
    with pytest.raises(KeyboardInterrupt):
        sweep(tmp_path / "s", tuner=tuner, trials=trials_asked)
    fake.interrupt_at = None
    # The newer state is lost as well: its backup must do.
    (tmp_path / "s" / "oracle" / "oracle.json").write_text('{"trunc')
    result = sweep(tmp_path / "s", tuner=tuner, trials=trials_asked)
    again = [spec["folder"] + str(spec["units"]) + str(spec["dropout"]) for spec in fake.specs]
    assert again[2] == again[3]  # the trial that was cut off runs again, before any new one
    assert len(set(again)) == len(again) - 1 == len(result.trials) == len(uninterrupted)
    if tuner == "grid":
        assert sorted(set(again)) == sorted(uninterrupted)


def test_a_finished_sweep_is_only_read_and_more_trials_add_to_it(fake, tmp_path):
    first = sweep(tmp_path / "s", tuner="random", trials=2)
    fake.specs.clear()
    assert sweep(tmp_path / "s", tuner="random", trials=2).trials.equals(first.trials)
    assert fake.specs == []
    assert len(sweep(tmp_path / "s", tuner="random", trials=4).trials) == 4
    assert len(fake.specs) == 2


def test_more_bundles_of_a_finished_sweep_than_were_kept_are_named(fake, tmp_path, capsys):
    sweep(tmp_path / "s")
    capsys.readouterr()
    sweep(tmp_path / "s", keep=2, progress=True)
    second = pd.read_csv(tmp_path / "s" / "results.csv", dtype={"trial": str})["trial"][1]
    assert f"no bundle of trial {second}: an earlier call kept fewer than 2" in capsys.readouterr().out
    sweep(tmp_path / "s", progress=True)
    assert "no bundle" not in capsys.readouterr().out


def test_bundles_beyond_those_to_keep_are_deleted_by_a_later_call_too(fake, tmp_path):
    sweep(tmp_path / "s", keep=3)
    assert len(list((tmp_path / "s").glob("trials/*/runs"))) == 3
    result = sweep(tmp_path / "s")
    assert [path.parent.name for path in (tmp_path / "s").glob("trials/*/runs")] == [result.best["trial"]]


def test_a_winner_whose_bundle_was_deleted_is_trained_again_and_not_scored_again(fake, tmp_path):
    result = sweep(tmp_path / "s")
    shutil.rmtree(result.best_bundle.parent)
    with pytest.raises(FileNotFoundError, match=r"runs holds no bundle any more\. The same call trains it again"):
        _ = result.best_bundle
    scores = {"test_accuracy": {"mean": 0.25, "std": None, "runs": [0.25]}}
    (tmp_path / "s" / "trials" / result.best["trial"] / "test.json").write_text(json.dumps(scores))
    fake.specs.clear()
    again = sweep(tmp_path / "s")
    assert [spec["folder"] for spec in fake.specs] == [result.best["trial"]]
    assert (again.best_bundle, again.test) == (again.best_bundle.parent / "seed1", scores)


@pytest.mark.parametrize("status", [process.FAILED, -9])
def test_a_winner_that_cannot_be_trained_again_for_its_bundle_keeps_its_place(status, fake, tmp_path, capsys):
    first = sweep(tmp_path / "s")
    shutil.rmtree(first.best_bundle.parent)
    fake.fails, fake.status = 6, status
    again = sweep(tmp_path / "s", progress=True)
    assert (again.best, again.test) == (first.best, first.test)
    assert again.trials.equals(first.trials)
    assert len(list((tmp_path / "s").glob("trials/*/test.json"))) == 1
    assert f"trial {first.best['trial']}, could not be trained again for its bundle" in capsys.readouterr().out


def test_trials_that_fail_are_told_with_their_reason_and_stop_nothing(fake, tmp_path):
    fake.fails = 4
    result = sweep(tmp_path / "s", space={"units": [4, 6], "dropout": [0.1, 0.2, 0.3, 0.4]})
    assert result.trials["status"].tolist() == ["completed"] * 4 + ["failed"] * 4
    assert set(result.trials["reason"].iloc[4:]) == {"the loss became nan"}
    with pytest.raises(RuntimeError, match="got a score; the last one's reason: the loss became nan"):
        sweep(tmp_path / "none", space={"units": [4], "dropout": [0.1]})


def test_hyperband_goes_on_with_the_better_ones_for_more_epochs(fake, tmp_path):
    result = sweep(tmp_path / "s", tuner="hyperband", epochs=9, space={"units": zoo.Range(1, 40), "dropout": [0.1]})
    pauses = [spec["pause_after"] for spec in fake.specs]
    assert {1, 3, 9} <= set(pauses)
    assert pauses.count(1) > pauses.count(3)
    assert all(spec["epochs"] == 9 for spec in fake.specs)
    assert fake.specs[-1]["pause_after"] is None  # the winner is trained to its end
    assert result.best["status"] == "completed"
    assert [path.parent.name for path in (tmp_path / "s").glob("trials/*/runs")] == [result.best["trial"]]


def test_a_budget_decides_the_width_of_every_trial(fake, tmp_path):
    depths = {"num_layers": [1, 2, 3], "dropout": [0.1]}
    zoo.tune("stacked_bilstm", "demo", tmp_path / "s", tuner="grid", space=depths, budget="300k", progress=False)
    for spec in fake.specs:
        count = zoo.count_encoder_parameters(
            "stacked_bilstm", biases=False, num_layers=spec["num_layers"], units=spec["units"]
        )
        assert 0.95 * 300_000 < count <= 300_000


def test_the_report_has_every_trial_and_the_front_of_accuracy_by_parameters(fake, tmp_path, monkeypatch):
    monkeypatch.setattr(report, "_pictures", fake.pictures)
    fake.fails = 8
    result = sweep(tmp_path / "s")
    page = (tmp_path / "s" / "report.html").read_text()
    assert page.count("<tr") == 1 + 6
    assert "the loss became nan" in page
    assert "<svg" in page
    assert not re.search(r"<script|<link|<img|src=|href=.http|@import|url\(http", page)  # it loads nothing
    front = report.pareto(result.trials, higher_is_better=True)
    assert front["encoder_parameters"].tolist() == [40, 60]
    assert page.count('class="pareto"') == 2


def test_the_report_sets_the_papers_figures_beside_trials_of_the_same_arguments(fake):
    options = {"tuner": "grid", "data": {}, "budget": None, "arguments": {}, "seeds": (1,), "folds": None, "seed": 1}
    space = {"num_dense_layers": [15, 10]}
    ours = Sweep("dc_bilstm", "sst2_phrases", space=space, epochs=1, **options)
    rows = {"num_dense_layers": [15, 10], "dense_units": [13, 20], "score": [0.9, 0.875], "status": ["completed"] * 2}
    trials_made = pd.DataFrame({"trial": ["0001", "0000"], **rows})
    table = published(trials_made, ours).set_index("recipe")
    assert table.loc["ding2018_table3_10x20", ["paper", "ours", "trial"]].tolist() == [88.5, 87.5, "0000"]
    assert table.loc["ding2018_table3_15x13", ["paper", "ours", "trial"]].tolist() == [89.7, 90.0, "0001"]
    assert table.loc["ding2018_table3_5x40", ["paper"]].tolist() == [88.4]
    same = {"ding2018": "0001", "ding2018_table3_15x13": "0001"}
    same |= dict.fromkeys(("ding2018_table3_10x20", "ding2018_table5_10x20"), "0000")
    assert table["trial"].dropna().to_dict() == same
    failures = trials_made.assign(status="failed")
    assert published(failures, ours)["ours"].isna().all()
    # A model with the same sizes but other initial weights is not a row of Xie et al.
    xie = dataclasses.replace(ours, arguments={"char_filters": 50})
    assert not published(trials_made, xie)["trial"].eq("0001").any()
    page = report.page(trials_made.assign(encoder_parameters=1), ours, {})
    assert "<td>ding2018_table3_10x20</td>" in page
    assert "88.5" in page
    assert "training on phrases" not in page
    on_sentences = report.page(trials_made.assign(encoder_parameters=1), dataclasses.replace(ours, dataset="sst2"), {})
    assert "88.5" in on_sentences
    assert "is after training on phrases, too, on test; ours is on dev" in on_sentences
    assert "<h2>Published</h2>" not in report.page(
        trials_made.assign(encoder_parameters=1), dataclasses.replace(ours, dataset="demo"), {}
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"space": {}}, "search space is empty"),
        ({"space": {"unit": [1]}}, "'unit'. Did you mean 'units'"),
        ({"space": {"units": []}}, "units needs a Range or a list of values"),
        ({"space": {"units": [4, "a"]}}, "of one kind"),
        ({"units": 5}, "units is both fixed and searched"),
        ({"tuner": "griid"}, "Did you mean 'grid'"),
        ({"budget": "1.4X"}, "such as 1.44M"),
        ({"budget": "10k"}, "A budget sets units"),
        ({"space": {"dropout": [0.1]}, "budget": "10"}, "below the smallest bilstm: with units=1 it has 2,408"),
        ({"space": {"embedding_dim": [8, 4000]}, "budget": "30k"}, "below the smallest bilstm: with units=1"),
        ({"trials": 0}, "trials must be an integer of at least 1"),
        ({"tuner": "hyperband", "trials": 5}, "hyperband derives the number of trials"),
        ({"dataset": "trek"}, "Did you mean 'trec'"),
        ({"pooling": "mean", "poling": "max"}, "argument of bilstm: 'poling'. Did you mean 'pooling'"),
        ({"recipe": "ding2019"}, "Did you mean 'ding2018'"),
        ({"vocab_size": 9}, "vocab_size is derived from the data"),
        ({"space": {"units": [4, -1]}}, "units must be an integer of at least 1; received -1"),
        ({"space": {"units": zoo.Range(0, 9)}}, "units must be an integer of at least 1; received 0"),
        ({"space": {"pooling": ["mean", "men"]}}, "pooling: 'men'. Did you mean 'mean'"),
        ({"space": {"batch_size": [20, 0]}}, "batch_size must be an integer of at least 1; received 0"),
        ({"dropout": 1.5, "space": {"units": [4]}}, "dropout must be a number from 0 up to"),
        ({"patience": 0}, "patience must be an integer of at least 1"),
    ],
)
def test_bad_sweeps_are_refused_before_any_work(options, message, tmp_path):
    options = {"space": SPACE, "tuner": "grid", "dataset": "demo", **options}
    with pytest.raises(ValueError, match=message):
        zoo.tune("bilstm", options.pop("dataset"), tmp_path / "s", **options)
    assert not (tmp_path / "s").exists()
    for wrong in ((3, 1), (1, 3, 0), (0, 1, None, True), (1, 4, 1, True)):
        with pytest.raises(ValueError, match="range"):
            zoo.Range(*wrong)


def test_a_budget_is_checked_before_anything_is_read(monkeypatch, tmp_path):
    monkeypatch.setattr(Dataset, "resolve", lambda *_, **__: pytest.fail("the dataset is looked at"))
    with pytest.raises(ValueError, match="The budget of 30,000 parameters is below the smallest dc_bilstm"):
        zoo.tune("dc_bilstm", "large.csv", tmp_path / "s", budget="30k")


def test_files_without_texts_are_refused_before_any_work(tmp_path):
    empty = tmp_path / "empty.csv"
    empty.write_text("text,label\n")
    options = {"space": SPACE, "tuner": "grid", "progress": False}
    with pytest.raises(ValueError, match=r"empty\.csv"):
        zoo.tune("bilstm", "csv", tmp_path / "s", data={"train_file": str(empty)}, **options)
    with pytest.raises(FileNotFoundError, match=r"missing\.csv"):
        zoo.tune("bilstm", "csv", tmp_path / "s", data={"train_file": "missing.csv"}, **options)
    assert not (tmp_path / "s").exists()


def test_a_folder_of_another_sweep_is_refused_by_what_differs(fake, tmp_path):
    sweep(tmp_path / "s")
    with pytest.raises(
        ValueError, match=r"holds another sweep: seed was 1 and is 2\. Choose another run_dir \(--run-dir\)"
    ):
        sweep(tmp_path / "s", seed=2)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "precious").write_text("x")
    with pytest.raises(FileExistsError, match="already exists"):
        sweep(tmp_path / "other")


@pytest.mark.slow
def test_a_hundred_trials_need_no_more_memory_than_twenty(fake, tmp_path):
    space = {"units": list(range(1, 121)), "dropout": [0.1]}
    sizes = []
    for number in (20, 60, 100):
        sweep(tmp_path / "s", space=space, trials=number)
        status = Path("/proc/self/status").read_text().split("\n")
        sizes.append(next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS")))
    assert sizes[2] - sizes[0] < 60  # MB
    assert len(list((tmp_path / "s").glob("trials/*/runs"))) == 1


@pytest.mark.slow
def test_the_report_is_a_page_that_a_browser_shows(fake, tmp_path, monkeypatch):
    monkeypatch.setattr(report, "_pictures", fake.pictures)
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no Chromium on this machine")
    fake.fails = 8
    sweep(tmp_path / "s")
    command = [
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-sync",
    ]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr", "--v=0"]
    page = f"file://{tmp_path / 's' / 'report.html'}"
    dumped = subprocess.run([*command, "--dump-dom", page], capture_output=True, text=True, timeout=120)
    assert dumped.stdout.count("<tr") == 1 + 6
    assert dumped.stdout.count("<svg") == 1
    assert "CONSOLE" not in dumped.stderr
    subprocess.run(
        [*command, f"--screenshot={tmp_path / 'page.png'}", page], capture_output=True, timeout=120, check=True
    )
    assert (tmp_path / "page.png").stat().st_size > 20_000
