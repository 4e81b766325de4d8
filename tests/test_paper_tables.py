"""The papers' tables as declarations: rows, sizes and figures as the papers print them, and rows of results."""

import functools
import re
import statistics
from pathlib import Path

import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from benchmarks import classification, tables
from tuning import command

FOLDER = Path(command.__file__).parent
# Each table's rows and the best published figure on the paper's own corpus.
ROWS = {
    "ding2018_table1": (5, "trec", 96.1),
    "ding2018_table3": (5, "sst2_phrases", 89.7),
    "ding2018_table4": (5, "sst2_phrases", 88.8),
    "ding2018_table5": (5, "sst2_phrases", 88.5),
    "ding2018_stacked": (8, "sst1_phrases", 30.0),
    "godin2017_table1": (12, "ptb", 76.8),
    "godin2017_table2": (5, "ptb", 76.8),
    "wu2016_table1": (4, "ccgbank", 94.69),
    "wu2016_table2": (10, "ccgbank", 94.81),
    "wu2016_table3": (5, "ccgbank", 94.7),
    "wu2016_table4": (2, "wsj", 97.45),
    "xie2019_table2": (8, "cr", 87.5),
    "xie2019_table3": (2, "sst2_phrases", 87.975),
}
load = command.load


def test_every_table_is_declared_with_the_papers_rows_and_figures():
    assert sorted(ROWS) == sorted(command.PAPERS) == sorted(path.stem for path in FOLDER.glob("*20[0-9][0-9]_*.py"))
    for name, (rows, corpus, best) in ROWS.items():
        table = load(name)
        assert table.name == name
        assert table.is_paper
        assert len(table.points) == rows
        assert table.dataset in zoo.list_corpora(task=table.task.name)
        figures = [by_corpus[corpus] for by_corpus in map(table.figures, table.points) if corpus in by_corpus]
        assert (min(figures) if table.task.name == "language_model" else max(figures)) == best
        assert len((FOLDER / f"{name}.py").read_text().splitlines()) < 50


def test_the_figures_of_tables_are_those_that_the_papers_print():
    # Ding et al. 2018, Table 1, and Xie et al. 2019, Table 2, with their columns below.
    ding = {
        "lstm_ding2018": "- 46.4 84.9 - -",
        "bilstm_ding2018": "81.8 49.1 87.5 93.0 93.6",
        "cnn_mc_kim2014": "81.1 47.4 88.1 93.2 92.2",
        "blstm_2dcnn_zhou2016": "82.3 52.4 89.5 94.0 96.1",
        "dc_bilstm_ding2018": "82.8 51.9 89.7 94.5 95.6",
    }
    xie = {
        "lstm_ding2018": "46.4 84.9 - - - -",
        "bilstm_ding2018": "49.1 87.5 93.6 93.0 81.8 -",
        "cnn_mc_kim2014": "47.4 88.1 92.2 93.2 81.1 85.0",
        "dsa_bilstm_xie2019": "50.6 88.5 - - - -",
        "blstm_2dcnn_zhou2016": "52.4 89.5 96.1 94.0 82.3 -",
        "dc_bilstm_ding2018": "51.9 89.7 95.6 94.5 82.8 -",
        "dc_bilstm_xie2019": "50.1 89.3 94.8 94.8 83.3 85.3",
        "di_bilstm_xie2019": "51.0 89.9 96.5 95.2 83.1 87.5",
    }
    for name, rows, corpora in (
        ("ding2018_table1", ding, "mr sst1_phrases sst2_phrases subj trec"),
        ("xie2019_table2", xie, "sst1_phrases sst2_phrases trec subj mr cr"),
    ):
        table = load(name)
        assert list(table.points) == list(rows)
        for row, printed in rows.items():
            figures = table.figures(row)
            assert [str(figures.get(corpus, "-")) for corpus in corpora.split()] == printed.split()
            point = table.points[row]
            assert row == f"{point.model}_{point.recipe}"
            if point.model in classification.PAPER:  # the same figures beside the project's own table
                assert figures.items() <= classification.PAPER[point.model].items()
    assert load("ding2018_table1").figures("dc_bilstm_ding2018") == zoo.get_recipe("ding2018").expected
    assert load("xie2019_table2").figures("di_bilstm_xie2019") == zoo.get_recipe("xie2019").expected
    printed = {
        "wu2016_table1": [94.67, 94.45, 94.0, 94.69],
        "wu2016_table4": [97.45, 97.45],
        "godin2017_table2": [82.7, 80.4, 78.5, 78.4, 76.8],
    }
    for name, figures in printed.items():
        assert [list(load(name).figures(row).values()) for row in load(name).points] == [[x] for x in figures]


@functools.cache
def arguments_of(model):
    return zoo.describe(model).arguments


def planned(name):
    """Return each row's model and arguments, by its name, as the grid's trials get them."""
    table = load(name)
    sweep = table.sweep(table.dataset)
    ((axis, values),) = sweep.space.items()
    trials = {}
    for value in values:
        spec = sweep.spec({axis: value})
        arguments = dict(spec["arguments"])
        if recipe := arguments.pop("recipe", None):
            arguments = {**zoo.get_recipe(recipe).models[spec["model"]], **arguments}
        accepted = arguments_of(spec["model"])
        sizes = {name: x for name, x in arguments.items() if name in accepted}
        trials[table.name_of(spec["values"])] = (spec["model"], {**accepted, **sizes}, sizes)
    assert list(trials) == list(table.points)
    return trials


# dl, dh, th and the weights without biases, which the paper rounds to 1.44M, 1.40M, ...
DING = {
    "ding2018_table3": [
        (0, None, 300, 1_440_000),
        (5, 40, 100, 1_440_000),
        (10, 20, 100, 1_440_000),
        (15, 13, 100, 1_404_200),
        (20, 10, 100, 1_440_000),
    ],
    "ding2018_table4": [
        (0, None, 100, 320_000),
        (5, 10, 100, 540_000),
        (10, 10, 100, 800_000),
        (15, 10, 100, 1_100_000),
        (20, 10, 100, 1_440_000),
    ],
    "ding2018_table5": [
        (10, 0, 100, 320_000),
        (10, 5, 100, 540_000),
        (10, 10, 100, 800_000),
        (10, 15, 100, 1_100_000),
        (10, 20, 100, 1_440_000),
    ],
}


@pytest.mark.parametrize("name", DING)
def test_depth_and_budget_give_the_sizes_that_ding_et_al_print(name):
    for (row, (model, arguments, sizes)), (dl, dh, th, weights) in zip(planned(name).items(), DING[name], strict=True):
        assert model == "dc_bilstm"
        assert (arguments["num_dense_layers"], arguments["top_units"]) == (dl, th), row
        assert dh in (None, arguments["dense_units"])
        assert zoo.count_encoder_parameters(model, biases=False, **sizes) == weights
        assert row.endswith(f"{dl}x{dh if dh is not None else 10}")
        # No recipe is named, so the protocol is the task's, which is the paper's.
        protocol, usual = zoo.get_recipe(row), load(name).task.defaults
        for field in ("batch_size", "learning_rate_decay", "decay_after", "epochs", "patience", "dev_fraction"):
            assert getattr(protocol, field) == getattr(usual, field)


def test_the_depths_of_wu_et_al_have_the_papers_weights():
    with_softmax = {3: 15_548_678, 5: 26_044_678, 7: 36_540_678, 9: 47_036_678, 11: 57_532_678}
    for depth, (model, arguments, sizes) in zip(with_softmax, planned("wu2016_table3").values(), strict=True):
        assert (model, arguments["num_layers"], arguments["skip"]) == ("gated_skip_tagger", depth, "gated_outputs")
        softmax = 1286 * (2 * 512 + 1)
        assert zoo.count_encoder_parameters(model, **sizes) + softmax == with_softmax[depth]


def test_the_skips_of_wu_et_al_are_those_of_their_table():
    trials = planned("wu2016_table2")
    skips = ["none", "gates", "internals", "gated_internals", "outputs", "gated_outputs", "gated_sigmoid"]
    for skip in skips:
        model, arguments, _ = trials.pop(f"wu2016_{skip}")
        assert (model, arguments["skip"], arguments["num_layers"], arguments["units"]) == (
            "gated_skip_tagger",
            skip,
            7,
            512,
        )
    assert [model for model, *_ in trials.values()] == ["highway_tagger", "rhn_tagger", "gated_skip_tagger"]
    assert trials["wu2016_gated_outputs_forget_bias_5"][1]["forget_bias"] == 5
    assert trials["wu2016_rhn"][1]["depth"] == 3


def test_the_taggers_of_wu_et_al_are_as_deep_as_their_tables_say():
    trials = planned("wu2016_table1")
    assert [arguments["num_layers"] for _, arguments, _ in trials.values()] == [7, 7, 7, 9]
    assert [arguments["char_dim"] for _, arguments, _ in trials.values()] == [5, 0, 5, 5]
    assert [arguments["dropout"] for _, arguments, _ in trials.values()] == [0.5, 0.5, 0, 0.5]
    both = [*trials.values(), *planned("wu2016_table4").values()]
    assert [arguments["num_layers"] for _, arguments, _ in both[4:]] == [7, 9]
    assert {(model, arguments["skip"], arguments["units"]) for model, arguments, _ in both} == {
        ("gated_skip_tagger", "gated_outputs", 512)
    }


def test_the_plain_stacks_have_one_to_eight_layers_of_a_hundred_units():
    trials = list(planned("ding2018_stacked").values())
    assert [(model, arguments["num_layers"], arguments["units"]) for model, arguments, _ in trials] == [
        ("stacked_bilstm", depth, 100) for depth in range(1, 9)
    ]


@pytest.mark.slow
def test_the_language_models_of_godin_et_al_have_the_papers_weights():
    # embedding, width of what the softmax reads, all weights
    sizes = {
        "godin2017_stacked_200x2_medium": (200, 200, 4_651_600),
        "godin2017_stacked_200x2": (200, 200, 4_651_600),
        "godin2017_stacked_200x3": (200, 200, 4_972_400),
        "godin2017_stacked_350x2": (350, 350, 8_972_800),
        "zaremba2014_medium": (650, 650, 19_775_200),
        "zaremba2014_large": (1500, 1500, 66_022_000),
        "godin2017_dense_200x2": (200, 600, 8_811_600),
        "godin2017_dense_200x3": (200, 800, 11_452_400),
        "godin2017_dense_200x4": (200, 1000, 14_253_200),
        "godin2017_dense_200x5": (200, 1200, 17_214_000),
        "godin2017_dense_650x2": (200, 1500, 23_125_200),
        "godin2017_dense_650x2_variational": (200, 1500, 23_125_200),
    }
    rows = planned("godin2017_table1")
    assert rows.keys() == sizes.keys()
    for name, (embedding, width, weights) in sizes.items():
        model, _, own_sizes = rows[name]
        encoder = zoo.count_encoder_parameters(model, **own_sizes)
        assert 10_000 * embedding + encoder + 10_000 * (width + 1) == weights, name
    epochs = [load("godin2017_table1").sweep("ptb").rows[name]["arguments"]["epochs"] for name in sizes]
    assert epochs == [39, 100, 100, 100, 39, 55, 100, 100, 100, 100, 100, 100]


def test_the_stacks_of_xie_et_al_are_of_four_bi_lstms_with_and_without_interaction():
    for (model, arguments, _), name in zip(
        planned("xie2019_table3").values(), ("stacked_bilstm", "stacked_di_bilstm"), strict=True
    ):
        assert (model, arguments["num_layers"], arguments["units"]) == (name, 4, 100)


def test_each_row_stands_beside_the_first_of_its_kind_seed_by_seed(tmp_path):
    row = {"settings": "", "vectors": "", "measure": "test_accuracy", "depth": 5, "width": 4, "encoder_parameters": 9}
    row |= {"dev_mean": 80, "best_epochs": "1 1 1", "epochs": "2 2 2", "patience": 5, "command": "c", "versions": "v"}
    rows = [
        {"dataset": "trec", "recipe": "a", "protocol": "seeds 1 2 3", "scores": "87 87 87", "paper": 90.0},
        {"dataset": "trec", "recipe": "b", "protocol": "seeds 1 2 3", "scores": "88 87 89", "paper": 91.0, "depth": 10},
        {"dataset": "sst2", "recipe": "b", "protocol": "seeds 1 2 3", "scores": "80 80 80", "paper": 92.0},
        {"dataset": "trec", "recipe": "c", "protocol": "seed 1", "scores": "70", "paper": ""},
    ]
    table_rows = [{**row, "score_mean": 1.0, "score_std": 0.5, **own} for own in rows]
    tables.merge(tmp_path / "t.csv", table_rows, ["dataset", "recipe", "protocol"])
    lines = tables.paper_table(tmp_path / "t.csv").splitlines()
    beside = lines[0].split(" | ").index("minus the first row")
    cells = {tuple(line.split(" | ")[:2]): line.split(" | ")[beside] for line in lines[2:6]}
    assert cells["| trec", "`b` "] == "+1.00 (-1.48 to 3.48)"
    assert [cells[key] for key in cells if key != ("| trec", "`b` ")] == ["", "", ""]
    tables.draw_by_depth(tmp_path / "t.csv", tmp_path / "t.png")
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")
    tables.merge(tmp_path / "flat.csv", table_rows[:1], ["dataset"])
    tables.draw_by_depth(tmp_path / "flat.csv", tmp_path / "flat.png")
    assert not (tmp_path / "flat.png").exists()


def test_a_picture_by_depth_has_a_line_for_each_corpus_and_kind_of_vectors(tmp_path, monkeypatch):
    scores_of_pictures = []
    monkeypatch.setattr(tables.plots, "by_depth", lambda scores, *_: scores_of_pictures.append(scores))
    row = {"dataset": "sst2", "settings": "", "vectors": "v.txt", "protocol": "seed 1", "measure": "test_accuracy"}
    row |= {"score_mean": 80.0, "score_std": "", "paper": 90.0}
    frozen = {**row, "settings": "batch_size=50 trainable_embeddings=false", "vectors": ""}
    depth_rows = [
        {**each, "depth": depth} for each in (row, frozen, {**row, "dataset": "trec", "paper": ""}) for depth in (0, 5)
    ]
    path = tmp_path / "t_table3.csv"
    tables.merge(path, depth_rows, ["dataset", "settings", "depth"])
    tables.draw_by_depth(path, tmp_path / "t.png")
    lines = scores_of_pictures[0].groupby(["panel", "series"], sort=False)["depth"].agg(list).to_dict()
    names = [("sst2", "ours, v"), ("sst2", "ours, no vectors, frozen"), ("trec", "ours, v"), ("sst2", "paper")]
    assert list(lines.items()) == [(name, [0, 5]) for name in names]


@pytest.mark.parametrize("path", sorted((tables.ROOT / "results").glob("*_table[0-9].csv")), ids=lambda path: path.stem)
def test_the_results_of_a_table_are_rows_of_its_job_with_their_figures_and_seeds(path):
    table = load(path.stem)
    rows = pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
    assert len(rows) == len({(row["dataset"], row["recipe"], row["settings"], row["vectors"]) for row in rows}) > 0
    for row in rows:
        point = table.points[row["recipe"]]
        assert row["model"] == point.model
        assert row["paper"] in {"", *map(str, table.figures(row["recipe"]).values())}
        scores = [float(score) for score in row["scores"].split()]
        assert row["protocol"].split()[1:] == [str(seed) for seed in range(1, len(scores) + 1)]
        assert float(row["score_mean"]) == pytest.approx(statistics.mean(scores), abs=0.0101)  # of rounded ones
        if len(scores) > 1:
            assert float(row["score_std"]) == pytest.approx(statistics.stdev(scores), abs=0.011)
        invocation = rf"tuning[. ]{path.stem} --dataset {row['dataset']} --rows {row['recipe']}"
        assert re.search(invocation, row["command"])
        assert all(f"{package}=" in row["versions"] for package in ("keras", "tensorflow", "numpy"))
        if not row["settings"]:
            recipe = row["recipe"] if table.recipes else point.recipe  # a depth is a recipe's too
            own = {} if table.recipes else point.arguments
            num_parameters = zoo.count_encoder_parameters(row["model"], recipe=recipe, biases=False, **own)
            assert int(row["encoder_parameters"]) == num_parameters
    assert f"<!-- table: {path.stem} -->" in tables.README.read_text(encoding="utf-8")
