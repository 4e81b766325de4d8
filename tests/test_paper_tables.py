"""The papers' tables as jobs: what they declare, their errors, and each of them run at the smallest size (slow)."""

import importlib
import statistics
from pathlib import Path

import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from benchmarks import tables
from tuning import runner

FOLDER = Path(runner.__file__).parent
JOBS = sorted(path.stem for path in FOLDER.glob("*_table*.py"))
# Each job's rows and the best published figure on the paper's own corpus.
ROWS = {
    "ding2018_table3": (5, "sst2_phrases", 89.7),
    "ding2018_table4": (5, "sst2_phrases", 88.8),
    "ding2018_table5": (5, "sst2_phrases", 88.5),
    "godin2017_table1": (12, "ptb", 76.8),
    "wu2016_table2": (10, "ccgbank", 94.81),
    "wu2016_table3": (5, "ccgbank", 94.7),
    "xie2019_table3": (2, "sst2_phrases", 87.975),
}


def load(job: str) -> runner.Table:
    return importlib.import_module(f"tuning.{job}").TABLE


def test_every_table_of_the_issue_is_a_job_with_the_papers_rows_and_figures():
    assert sorted(ROWS) == JOBS
    for job, (rows, corpus, best) in ROWS.items():
        table = load(job)
        assert table.name == job
        assert len(set(table.recipes)) == rows
        assert table.dataset in zoo.list_corpora(task=table.task)
        figures = [zoo.get_recipe(recipe).expected[corpus] for recipe in table.recipes]
        assert (min(figures) if table.task == "language_model" else max(figures)) == best
        assert len((FOLDER / f"{job}.py").read_text().splitlines()) < 40


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dataset", "ss2"], "Unknown corpus 'ss2'. Did you mean 'sst2'"),
        (["--dataset", "ptb"], "Unknown corpus 'ptb'"),
        (["--rows", "ding2018_table3_0x11"], "Did you mean 'ding2018_table3_0x10'"),
    ],
)
def test_unknown_corpora_and_rows_fail_before_any_training(arguments, message, capsys):
    with pytest.raises(SystemExit):
        runner.main(load("ding2018_table3"), arguments)
    assert message in capsys.readouterr().err


def test_each_row_stands_beside_the_first_of_its_kind_seed_by_seed(tmp_path):
    row = {"settings": "", "vectors": "", "measure": "test_accuracy", "depth": 5, "width": 4, "encoder_parameters": 9}
    row |= {"dev_mean": 80, "best_epochs": "1 1 1", "epochs": "2 2 2", "patience": 5, "command": "c", "versions": "v"}
    rows = [
        {"dataset": "trec", "recipe": "a", "protocol": "seeds 1 2 3", "scores": "87 87 87", "paper": 90.0},
        {"dataset": "trec", "recipe": "b", "protocol": "seeds 1 2 3", "scores": "88 87 89", "paper": 91.0, "depth": 10},
        {"dataset": "sst2", "recipe": "b", "protocol": "seeds 1 2 3", "scores": "80 80 80", "paper": 92.0},
        {"dataset": "trec", "recipe": "c", "protocol": "seed 1", "scores": "70", "paper": ""},
    ]
    made = [{**row, "score_mean": 1.0, "score_std": 0.5, **own} for own in rows]
    tables.merge(tmp_path / "t.csv", made, ["dataset", "recipe", "protocol"])
    lines = tables.paper_table(tmp_path / "t.csv").splitlines()
    beside = lines[0].split(" | ").index("beside the first row")
    cells = {tuple(line.split(" | ")[:2]): line.split(" | ")[beside] for line in lines[2:6]}
    assert cells["| trec", "`b` "] == "+1.00 (-1.48 to 3.48)"
    assert [cells[key] for key in cells if key != ("| trec", "`b` ")] == ["", "", ""]
    tables.draw_by_depth(tmp_path / "t.csv", tmp_path / "t.png")
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")
    tables.merge(tmp_path / "flat.csv", made[:1], ["dataset"])
    tables.draw_by_depth(tmp_path / "flat.csv", tmp_path / "flat.png")
    assert not (tmp_path / "flat.png").exists()


def published():
    return {path: path.read_bytes() for path in [*(tables.ROOT / "results").iterdir(), tables.README]}


@pytest.mark.parametrize("path", sorted((tables.ROOT / "results").glob("*_table[0-9].csv")), ids=lambda path: path.stem)
def test_the_results_of_a_table_are_rows_of_its_job_with_their_figures_and_seeds(path):
    table = load(path.stem)
    rows = pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
    assert len(rows) == len({(row["dataset"], row["recipe"], row["settings"], row["vectors"]) for row in rows}) > 0
    for row in rows:
        assert row["recipe"] in table.recipes
        recipe = zoo.get_recipe(row["recipe"])
        assert row["model"] == next(iter(recipe.models))
        assert row["paper"] in {"", *map(str, recipe.expected.values())}
        scores = [float(score) for score in row["scores"].split()]
        assert row["protocol"].split()[1:] == [str(seed) for seed in range(1, len(scores) + 1)]
        assert float(row["score_mean"]) == pytest.approx(statistics.mean(scores), abs=0.006)
        if len(scores) > 1:
            assert float(row["score_std"]) == pytest.approx(statistics.stdev(scores), abs=0.011)
        assert f"tuning.{path.stem} --dataset {row['dataset']} --rows {row['recipe']}" in row["command"]
        assert all(f"{package}=" in row["versions"] for package in ("keras", "tensorflow", "numpy"))
        if not row["settings"]:
            counted = zoo.count_encoder_parameters(row["model"], recipe=row["recipe"], biases=False)
            assert int(row["encoder_parameters"]) == counted
    assert f"<!-- table: {path.stem} -->" in tables.README.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("job", JOBS)
def test_a_job_runs_at_the_smallest_size_and_shows_ours_beside_the_papers(job, tmp_path, capsys):
    table, results = load(job), published()
    rows = [table.recipes[0], table.recipes[-1]]
    command = ["--dataset", "demo", "--quick", "--seeds", "1", "--rows", *rows, "--run-dir", str(tmp_path)]
    runner.main(table, command)
    assert f"{rows[0]}: test " in capsys.readouterr().out
    found = pd.read_csv(tmp_path / "demo" / "results.csv")
    assert found["recipe"].tolist() == rows
    assert found["score_mean"].gt(0).all()
    assert all(f"`{row}`" in (tmp_path / "demo" / "table.md").read_text() for row in rows)
    assert (tmp_path / "demo" / "results.png").is_file() == (found["depth"].nunique() > 1)
    assert published() == results  # a quick run's figures are none of the project's
    # The same command again only reads.
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("demo/*/seed1/manifest.json")}
    runner.main(table, command)
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.glob("demo/*/seed1/manifest.json")}
