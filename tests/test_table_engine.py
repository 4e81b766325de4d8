"""The engine of the results tables: one command, resumed or refused, whose rows are merged. Most trials are made up."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

from benchmarks import tables
from dense_lstm_zoo.search import process
from dense_lstm_zoo.search import trial as trials
from presets import build
from tests.preset_harness import write_table
from tests.sweep_harness import FakeProcess, leave_runs, make_quick
from tests.treebank_files import lay_out
from tuning import command

TABLE3 = command.load("ding2018_table3")
FIRST, SECOND, THIRD = TABLE3.recipes[:3]


@pytest.fixture
def fake(monkeypatch, tmp_path):
    """A project of its own under ``tmp_path``, whose trials end at once. ``specs`` lists them in order."""

    def start(folder, *, test=False, environment=None):
        assert not test  # rows are scored on the test texts where they are trained
        spec = json.loads((folder / "spec.json").read_text())
        start.specs.append(spec)
        if len(start.specs) == start.interrupt_at:
            raise KeyboardInterrupt
        if spec["values"].get("num_dense_layers") == start.fails:
            return FakeProcess(process.FAILED, "the loss became nan")
        return leave_runs(folder)

    make_quick(monkeypatch)
    monkeypatch.setattr(trials, "start", start)
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    monkeypatch.setattr(tables, "update_pages", lambda: None)
    start.specs, start.interrupt_at, start.fails = [], None, -1
    return start


def run(tmp_path, *words, table=TABLE3):
    command.main(table, ["--dataset", "demo", "--run-dir", str(tmp_path / "runs"), *words])
    return pd.read_csv(tmp_path / "results" / f"{table.file}.csv", dtype=str, keep_default_na=False)


def contents_of_results():
    return {path: path.read_bytes() for path in (tables.ROOT / "results").rglob("*") if path.is_file()}


def depths(fake):
    return [spec["values"]["num_dense_layers"] for spec in fake.specs]


def test_rows_are_points_of_a_grid_and_come_out_with_the_columns_of_the_project(fake, tmp_path):
    rows = run(tmp_path, "--seeds", "2", "--rows", SECOND, FIRST)
    assert depths(fake) == [0, 5]
    assert rows.columns.tolist() == pd.read_csv(tables.README.parent / "ding2018_table3.csv").columns.tolist()
    assert rows["recipe"].tolist() == [FIRST, SECOND]
    (row,) = rows[rows["recipe"] == SECOND].to_dict("records")
    cells = {"dataset": "demo", "protocol": "seeds 1 2", "model": "dc_bilstm", "depth": "5", "width": "40"}
    cells |= {"encoder_parameters": "1440000", "score_mean": "51.5", "score_std": "0.71", "scores": "51.00 52.00"}
    cells |= {"measure": "test_accuracy", "dev_mean": "50.0", "best_epochs": "2 2", "versions": "keras=3 numpy=2"}
    assert cells.items() <= row.items()
    assert row["command"] == f"python -m tuning ding2018_table3 --dataset demo --rows {SECOND} --seeds 2"
    assert (tmp_path / "runs" / "demo" / "report.html").is_file()
    assert all(spec["test"] and spec["seeds"] == [1, 2] for spec in fake.specs)


def test_a_page_that_names_two_rows_now_does_not_end_the_sweep(fake, tmp_path, monkeypatch, capsys):
    def update_pages():
        raise ValueError("2 rows have what a page names")

    monkeypatch.setattr(tables, "update_pages", update_pages)
    assert len(run(tmp_path)) == 5
    warning = f"warning: {FIRST} is in ding2018_table3.csv, but the pages are older than it: 2 rows have"
    assert warning in capsys.readouterr().out


def test_the_same_command_goes_on_after_it_was_interrupted_and_then_only_reads(fake, tmp_path):
    fake.interrupt_at = 2
    with pytest.raises(SystemExit, match="130"):
        run(tmp_path)
    # What had ended is in the results already.
    assert pd.read_csv(tmp_path / "results" / "ding2018_table3.csv")["recipe"].tolist() == [FIRST]
    fake.interrupt_at = None
    assert sorted(run(tmp_path)["recipe"]) == sorted(TABLE3.recipes)
    assert depths(fake) == [0, 5, 5, 10, 15, 20]
    assert len(run(tmp_path)) == 5
    assert len(fake.specs) == 6


def test_rows_and_seeds_can_be_asked_for_later_and_touch_no_others(fake, tmp_path):
    run(tmp_path, "--seeds", "1", "--rows", FIRST, SECOND)
    rows = run(tmp_path, "--seeds", "3", "--rows", SECOND, THIRD)
    assert [(spec["values"]["num_dense_layers"], spec["seeds"]) for spec in fake.specs] == [
        (0, [1]),
        (5, [1]),
        (5, [1, 2, 3]),
        (10, [1, 2, 3]),
    ]
    protocols = {(row.recipe, row.protocol) for row in rows.itertuples()}
    assert protocols == {
        (FIRST, "seed 1"),
        (SECOND, "seed 1"),
        (SECOND, "seeds 1 2 3"),
        (THIRD, "seeds 1 2 3"),
    }


def test_a_declaration_may_get_rows_and_its_runs_are_kept(fake, tmp_path):
    table = command.load("language_model")
    short = dataclasses.replace(table, rows=dict(list(table.rows.items())[:2]), after=lambda outcome: None)
    grown = dataclasses.replace(table, after=lambda outcome: None)
    run(tmp_path, table=short)
    assert len(run(tmp_path, "--hours", "99", table=grown)) == len(table.rows)
    assert [spec["values"]["row"] for spec in fake.specs] == list(table.rows)
    with pytest.raises(SystemExit, match="holds another sweep"):
        run(tmp_path, table=dataclasses.replace(grown, arguments={"dropout": 0.1}))


def test_a_row_replaces_its_own_older_one_and_no_other(fake, tmp_path):
    (tmp_path / "results").mkdir()
    older = pd.read_csv(tables.README.parent / "ding2018_table3.csv", dtype=str, keep_default_na=False).iloc[:1]
    assert older["recipe"].tolist() == [FIRST]
    own = {"dataset": "demo", "vectors": "", "protocol": "seed 1"}
    other_rows = [{**own, "dataset": "sst2"}, {**own, "settings": "dropout=0.2"}, {**own, "protocol": "seeds 1 2"}]
    rows = pd.concat([older.assign(**changed) for changed in (own, *other_rows)])
    rows.to_csv(tmp_path / "results" / "ding2018_table3.csv", index=False)
    table = run(tmp_path, "--rows", FIRST, "--seeds", "1")
    assert table["score_mean"].tolist() == ["84.01", "84.01", "84.01", "51.0"]


def test_a_row_that_fails_is_told_and_the_others_are_merged(fake, tmp_path, capsys):
    fake.fails = 0
    with pytest.raises(SystemExit, match=f"error: rows without a result: {FIRST}"):
        run(tmp_path, "--rows", FIRST, SECOND)
    assert capsys.readouterr().out.count(f"{FIRST} failed: the loss became nan") == 1
    assert pd.read_csv(tmp_path / "results" / "ding2018_table3.csv")["recipe"].tolist() == [SECOND]


def test_settings_for_all_rows_have_a_sweep_and_rows_of_their_own(fake, tmp_path):
    run(tmp_path, "--rows", FIRST, "--seeds", "1")
    rows = run(tmp_path, "--rows", FIRST, "--seeds", "1", "--set", "learning_rate=0.002", "batch_size=50")
    assert rows["settings"].tolist() == ["", "learning_rate=0.002 batch_size=50"]
    assert rows["command"].iloc[1].endswith("--seeds 1 --set learning_rate=0.002 batch_size=50")
    assert [spec["arguments"].get("learning_rate") for spec in fake.specs] == [None, 0.002]


def test_what_only_some_rows_set_can_be_set_for_the_others(fake, tmp_path):
    search = command.load("recipe_search")
    rows = run(tmp_path, "--rows", "as_published", "fixed", "--set", "batch_size=20", table=search)
    assert rows["settings"].tolist() == [
        "batch_size=20",
        "trainable_embeddings=false learning_rate=0.005 batch_size=20",
    ]


def test_rows_with_other_vectors_stay_apart_where_vectors_have_no_column(fake, tmp_path):
    table = dataclasses.replace(command.load("language_model"), after=lambda rows: None)
    (tmp_path / "words.txt").write_text("the 0.1 0.2\n")
    words = ["--rows", "regularised_dense_400x3", "--set", "dropout=0.2"]
    run(tmp_path, *words, table=table)
    folder = ["--run-dir", str(tmp_path / "others")]
    rows = run(tmp_path, *words, "--vectors", str(tmp_path / "words.txt"), *folder, table=table)
    assert rows["settings"].tolist() == ["dropout=0.2", "dropout=0.2 vectors=words.txt"]


@pytest.mark.parametrize("name", [*command.PAPERS, *command.OTHERS])
def test_every_table_makes_rows_like_those_of_its_results(name, fake, tmp_path, monkeypatch):
    if name in ("pretraining", "classification_fixed"):  # whose rows name presets or the zoo's vectors
        monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(build.MODELS.parent))
    table = command.load(name)
    row = list(table.points)[-1]
    calls = []
    table = dataclasses.replace(table, after=calls.append)  # pictures are tested elsewhere
    (cells,) = run(tmp_path, "--rows", row, "--seeds", "1", "--hours", "99", table=table).to_dict("records")
    like = tables.README.parent / f"{table.file}.csv"
    paper = tables.README.parent / "ding2018_table3.csv"
    if like.is_file() or table.is_paper:  # another table has columns of its own until it has been run
        assert set(cells) == set(pd.read_csv(like if like.is_file() else paper, nrows=0))
    assert set(table.key) <= set(cells)
    assert len(calls) == len(fake.specs) == 1
    assert (fake.specs[0]["model"], fake.specs[0]["test"]) == (table.points[row].model, table.test == "all")
    assert cells["model"] == table.points[row].model
    assert cells["command"].startswith(f"python -m tuning {name} --dataset demo --rows {row} --seeds 1")


def test_a_recipe_search_never_sees_the_test_texts(fake, tmp_path):
    search = command.load("recipe_search")
    rows = run(tmp_path, "--rows", "slower_fixed", table=search)
    assert [spec["test"] for spec in fake.specs] == [False]
    assert rows["settings"].tolist() == ["learning_rate=0.002 trainable_embeddings=false"]
    assert rows.columns.tolist() == pd.read_csv(tables.README.parent / "recipe_search.csv").columns.tolist()


def test_a_row_of_frozen_vectors_names_them_and_what_differs_from_its_recipe(fake, tmp_path, monkeypatch):
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(build.MODELS.parent))
    fixed = command.load("classification_fixed")
    rows = run(tmp_path, "--rows", "stacked_bilstm", "blstm_2dcnn", "--seeds", "2", table=fixed)
    row_of = rows.set_index("model").to_dict("index")
    assert {row["vectors"] for row in row_of.values()} == {"zoo_300d"}
    settings = {model: row["settings"] for model, row in row_of.items()}
    assert settings == {"stacked_bilstm": "", "blstm_2dcnn": "trainable_embeddings=false"}
    assert {row["accuracies"] for row in row_of.values()} == {"51.00 52.00"}
    assert [spec["arguments"]["vectors"] for spec in fake.specs] == ["zoo_300d", "zoo_300d"]


def test_too_many_hours_are_refused_by_row_before_any_work(fake, tmp_path):
    # 4 minutes a run of 6,920 texts; demo has 4,000, and there are five seeds: 11.6 minutes a row.
    with pytest.raises(SystemExit) as stopped:
        run(tmp_path, "--hours", "0.9")
    error = str(stopped.value)
    assert error.startswith("error: ding2018_table3 on demo would take about 1.0 hours; --hours is 0.9.")
    assert all(f"{row} 12 min" in error for row in TABLE3.recipes)
    assert error.endswith("allow it: --hours 1.")
    assert fake.specs == []
    assert list(tmp_path.iterdir()) == []
    run(tmp_path, "--hours", "0.9", "--rows", *TABLE3.recipes[:4])
    assert len(run(tmp_path, "--hours", "0.2")) == 5  # one row was left to run


@pytest.fixture
def mine(tmp_path):
    rows = [f"{word} film,{label}" for word, label in (("good", "pos"), ("bad", "neg")) for _ in range(20)]
    for name in ("mine.csv", "more.csv"):
        (tmp_path / name).write_text("\n".join(["comment,mark", *rows]) + "\n")
    return tmp_path


def test_rows_of_ones_own_files_stay_in_the_folder_of_the_runs(fake, mine):
    files = ["--train-file", str(mine / "mine.csv"), "--text-column", "comment", "--label-column", "mark"]
    words = [*files, "--run-dir", str(mine / "runs"), "--rows", FIRST, "--seeds", "1"]
    with pytest.raises(SystemExit, match=r"csv has no test texts.*Give --test-file or --folds 10"):
        command.main(TABLE3, words)
    command.main(TABLE3, [*words, "--test-file", str(mine / "more.csv")])
    assert fake.specs[0]["dataset"] == "csv"
    assert fake.specs[0]["data"]["text_column"] == "comment"
    rows = pd.read_csv(mine / "runs" / "csv" / "rows.csv")
    assert rows["dataset"].tolist() == ["mine.csv"]
    options = f"--label-column mark --test-file {mine / 'more.csv'} --text-column comment"
    assert options in rows["command"][0]
    assert not (mine / "results").exists()


@pytest.mark.parametrize(
    ("table", "name", "text", "folds"),
    [("review_models", "mine.txt", "a good film\n" * 20, None), ("word_vectors", "mine.csv", None, 10)],
)
def test_what_is_not_tested_is_cut_into_folds_only_if_its_texts_have_labels(table, name, text, folds, fake, mine):
    if text:
        (mine / name).write_text(text)
    files = ["--train-file", str(mine / name)]
    files += ["--dataset", "text"] if text else ["--text-column", "comment", "--label-column", "mark"]
    fake.interrupt_at = 1  # the first row's spec is all that is asked for
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        command.main(command.load(table), [*files, "--run-dir", str(mine / "runs")])
    assert [spec["folds"] for spec in fake.specs] == [folds]


@pytest.mark.parametrize(
    ("name", "dataset", "place", "figures"),
    [
        ("wu2016_table1", "ccgbank", "data/AUTO", {"wu2016_7_layers": "94.67", "wu2016_9_layers": "94.69"}),
        ("wu2016_table4", "wsj", "parsed/mrg/wsj", {"wu2016_wsj_7_layers": "97.45"}),
    ],
)
def test_the_papers_figures_stand_beside_rows_on_a_licensees_own_copy(
    name, dataset, place, figures, fake, tmp_path, monkeypatch
):
    lay_out(tmp_path / dataset / place, {"ccgbank": "auto", "wsj": "mrg"}[dataset])
    monkeypatch.setenv("DENSE_LSTM_ZOO_DATA", str(tmp_path))
    words = ["--dataset", dataset, "--rows", *figures, "--seeds", "1", "--run-dir", str(tmp_path / "runs")]
    with pytest.warns(UserWarning, match="published are"):
        command.main(command.load(name), words)
    rows = pd.read_csv(tmp_path / "results" / f"{name}.csv", dtype=str)
    assert dict(zip(rows["recipe"], rows["paper"], strict=True)) == figures
    assert set(rows["dataset"]) == {dataset}


@pytest.mark.slow
def test_a_real_table_with_two_workers_survives_kill_9(tmp_path):
    rows = ["xie2019_table3_stacked", "xie2019_table3_stacked_di"]
    words = ["--dataset", "demo", "--quick", "--seeds", "2", "--workers", "2", "--set", "char_filters=0"]
    line = [sys.executable, "-m", "tuning", "xie2019_table3", *words, "--run-dir", str(tmp_path / "runs")]
    folder = tmp_path / "runs" / "demo_char_filters=0_quick"
    first = subprocess.Popen(line, cwd=tables.ROOT)
    deadline = time.monotonic() + 500
    while not list(folder.glob("trials/*/runs/seed1/manifest.json")):
        assert time.monotonic() < deadline
        assert first.poll() is None
        time.sleep(0.1)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    times = {path: path.stat().st_mtime_ns for path in folder.glob("trials/*/runs/seed*/manifest.json")}
    before = contents_of_results()
    process = subprocess.run(line, cwd=tables.ROOT, capture_output=True, text=True, timeout=900)
    assert process.returncode == 0, process.stderr
    assert all(path.stat().st_mtime_ns == time_of_file for path, time_of_file in times.items())
    rows_of_table = pd.read_csv(folder / "rows.csv")
    assert sorted(rows_of_table["recipe"]) == rows
    assert rows_of_table["score_mean"].between(1, 100).all()
    assert rows_of_table["protocol"].tolist() == ["seeds 1 2"] * 2
    for path in folder.glob("trials/*/runs/seed*/metrics.json"):
        assert "test_accuracy" in json.loads(path.read_text())
    assert contents_of_results() == before
    again = subprocess.run(line, cwd=tables.ROOT, capture_output=True, text=True, timeout=300)
    assert again.returncode == 0, again.stderr
    assert len(pd.read_csv(folder / "rows.csv")) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", [*command.PAPERS, *command.OTHERS])
def test_a_table_runs_at_the_smallest_size_and_leaves_the_project_alone(name, tmp_path, capsys, monkeypatch):
    if name in ("pretraining", "classification_fixed", "review_models"):
        monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(build.MODELS.parent))
    table = command.load(name)
    if name == "word_vectors":  # whose tables are made before
        monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(tmp_path / "candidates"))
        write_table(tmp_path / "candidates", name=list(table.points)[-1])
    before = contents_of_results()
    rows = [next(iter(table.points)), list(table.points)[-1]]
    command.main(table, ["--dataset", "demo", "--quick", "--seeds", "1", "--rows", *rows, "--run-dir", str(tmp_path)])
    assert f"{rows[0]}: {'dev' if table.test == 'none' else 'test'} " in capsys.readouterr().out
    folder = tmp_path / "demo_quick"
    rows_of_table = pd.read_csv(folder / "rows.csv")
    assert len(rows_of_table) == 2
    if table.is_paper:
        assert rows_of_table["recipe"].tolist() == rows
        assert rows_of_table["score_mean"].gt(0).all()
        assert all(f"`{row}`" in (folder / "table.md").read_text() for row in rows)
        assert (folder / "rows.png").is_file() == (rows_of_table["depth"].nunique() > 1)
    assert contents_of_results() == before


def test_a_command_can_be_typed_and_a_setting_is_no_option_of_its_own(fake, tmp_path):
    rows = run(tmp_path, "--rows", FIRST, "--set", 'class_weights={"a": 2, "b": 1}')
    assert """--set 'class_weights={"a": 2, "b": 1}'""" in rows["command"][0]
    with pytest.raises(SystemExit, match="seeds is an option of its own"):
        run(tmp_path, "--rows", FIRST, "--set", "seeds=3")
    with pytest.raises(SystemExit, match=r"only_folds names a fold twice: \[1, 1\]"):
        run(tmp_path, "--rows", FIRST, "--folds", "3", "--only-folds", "1", "1")
