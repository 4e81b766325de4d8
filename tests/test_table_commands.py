"""The commands of the results tables: those that results and docs name ask for their rows, wrong ones are refused."""

import dataclasses
import re
import shlex

import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from benchmarks import recipe_search, tables
from presets import build
from tuning import command, protocols


def test_the_papers_own_sizes_are_refused_without_their_hours():
    wu, lines = command.load("wu2016_table2"), 12_544
    request = command.parse_request(wu, [])
    with pytest.raises(ValueError, match=r"about 113\.3 hours; --hours is 8\..*wu2016_rhn 680 min.*--hours 114\."):
        command.engine.refuse_long(request, lines)


@pytest.mark.parametrize(
    ("table", "words", "message"),
    [
        ("ding2018_table3", ["--dataset", "ss2"], "Unknown corpus 'ss2'. Did you mean 'sst2'"),
        ("ding2018_table3", ["--dataset", "ptb"], "Unknown corpus 'ptb'"),
        ("ding2018_table3", ["--rows", "ding2018_table3_0x11"], "Did you mean 'ding2018_table3_0x10'"),
        ("ding2018_table3", ["--dataset", "demo", "--only-folds", "1"], "only_folds=[1] needs folds"),
        ("ding2018_table3", ["--dataset", "demo", "--folds", "3", "--only-folds", "4"], "from 1 to 3; received 4"),
        ("ding2018_table3", ["--dataset", "demo", "--set", "droput"], "is written NAME=VALUE"),
        ("ding2018_table3", ["--dataset", "demo", "--seeds", "0"], "seeds must be an integer of at least 1"),
        ("ding2018_table3", ["--dataset", "demo", "--workers", "0"], "workers must be an integer of at least 1"),
        ("ding2018_table3", ["--dataset", "demo", "--set", "num_dense_layers=3"], "both fixed and searched"),
        ("recipe_search", ["--dataset", "demo", "--set", "learning_rate=0.1"], "recipe_search do: slower, slowest,"),
        ("tagging", ["--dataset", "demo", "--set", "recipe=batched"], "recipe is for rows that do not set recipe"),
        ("review_models", ["--vectors", "none"], "as these of review_models do: dense, stacked. Leave it out"),
        ("word_vectors", ["--rows", "none", "--vectors", "none"], "as these of word_vectors do: none. Leave it out"),
        ("tagging", ["--dataset", "demo", "--folds", "2"], "--folds divides texts with labels"),
        ("dynamic_interaction", ["--encoders", "stack", "--rows", "dense_mean"], "No row of dynamic_interaction"),
    ],
)
def test_what_is_wrong_is_one_line_before_any_work(table, words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        command.main(command.load(table), words)
    assert str(stopped.value).startswith("error: ")
    assert message in str(stopped.value)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_table_names_near_ones_and_the_list_has_all_with_their_hours(capsys):
    with pytest.raises(SystemExit, match=r"Unknown table 'ding2018_table'\. Did you mean 'ding2018_table"):
        command.main(None, ["ding2018_table"])
    command.main(None, ["--list"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(command.PAPERS) + len(command.OTHERS)
    line_of = {line.split()[0]: line for line in lines}
    assert "5 rows, sst2, about 1.7 h: Is it" in line_of["ding2018_table3"]  # 5 rows x 5 seeds x 4 minutes
    results = {path.stem for path in tables.README.parent.glob("*.csv")}
    for name, line in line_of.items():
        assert ("not run yet" in line) == (command.load(name).file not in results)
    command.main(None, [])
    assert "python -m tuning ding2018_table3 --dataset demo --quick" in capsys.readouterr().out


def test_the_models_of_raw_reviews_have_equal_weights():
    counts = {}
    for name, row in command.load("review_models").rows.items():
        assert row.arguments["vectors"] == "zoo_300d"  # as the text encoder has; else each would learn its own
        settings = {key: value for key, value in row.arguments.items() if key not in ("epochs", "vectors")}
        arguments = zoo.get_recipe(row.recipe).models[row.model] | settings
        model = zoo.build(row.model, vocab_size=50, embedding_dim=300, **arguments)
        counts[name] = sum(w.shape.num_elements() for w in model.trainable_weights) - 50
    assert counts == {"dense": 2_281_360, "stacked": 2_284_632}


def recorded():
    """Every command that the rows of results name and that this engine has to understand, with its row."""
    for path in sorted((tables.README.parent).glob("*.csv")):
        rows = pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
        for row in rows:
            match = re.match(r"python -m (?:tuning|benchmarks)[. ](\w+) ", row.get("command", ""))
            if match and match[1] in (*command.PAPERS, *command.OTHERS) and path.stem == command.load(match[1]).file:
                yield command.load(match[1]), shlex.split(row["command"][match.end() :]), row


def test_every_command_that_results_name_still_asks_for_their_row():
    tables_seen = set()
    for table, words, row in recorded():
        request = command.parse_request(
            table, recipe_search.with_rows(words) if table.name == "recipe_search" else words
        )
        (name,) = request.rows
        point = table.points[name]
        assert (request.dataset, point.model) == (row["dataset"], row["model"])
        assert row["recipe" if "recipe" in row else "pooling"] in (name, point.recipe, point.labels.get("pooling"))
        tells_its_own = table.test == "none" or table.file == "tagging"
        own = protocols.as_words(point.arguments) if tells_its_own else ""
        assert " ".join(filter(None, [own, *request.settings])) == row["settings"]
        assert request.protocol == row.get("protocol", "seed 1")
        assert row.get("vectors", "") in (
            request.vectors or "",
            point.arguments.get("vectors"),
        )  # given, or the row's own
        command.engine.refuse_long(request, table.texts)  # none is refused
        command.engine.checked_settings(request)
        tables_seen.add(table.name)
    assert tables_seen == {
        *("ding2018_table3", "ding2018_table4", "ding2018_table5", "classification", "classification_fixed", "tagging"),
        *("dynamic_interaction", "language_model", "pretraining", "recipe_search"),
        *("review_models", "tagging_depth", "tagging_units", "word_vectors"),
    }


def test_options_of_several_values_that_are_repeated_have_all_of_them():
    table, rows = command.load("ding2018_table3"), ["ding2018_table3_0x10", "ding2018_table3_5x40"]
    words = ["--rows", rows[0], "--rows", rows[1], "--folds", "3", "--only-folds", "1", "--only-folds", "3"]
    request = command.parse_request(table, [*words, "--set", "dropout=0.2", "--set", "l2=0", "seed=1"])
    assert (request.rows, request.only_folds) == (rows, [1, 3])
    assert request.settings == ["dropout=0.2", "l2=0", "seed=1"]
    assert command.parse_request(table, []).settings == []
    interaction, encoders = command.load("dynamic_interaction"), ["dense", "stack"]
    request = command.parse_request(interaction, ["--encoders", encoders[0], "--encoders", encoders[1]])
    assert {interaction.points[name].labels["encoder"] for name in request.rows} == {*encoders}


def test_settings_are_those_of_the_rows_that_are_chosen():
    tagging, settings = command.load("tagging"), {"depth": 3, "units": 4}
    sweep = tagging.sweep("demo", row_names=["rhn_tagger_batched"], **settings)
    assert settings.items() <= sweep.spec({"row": "rhn_tagger_batched"})["arguments"].items()
    with pytest.raises(ValueError, match="Unknown argument of bilstm_tagger: 'depth'"):
        tagging.sweep("demo", row_names=["bilstm_tagger_batched"], **settings)


def test_the_command_of_a_long_row_asks_for_its_hours():
    row = "godin2017_dense_200x2"
    request = command.parse_request(command.load("language_model"), ["--rows", row, "--hours", "18"])
    assert request.command(row) == f"python -m tuning language_model --dataset ptb --rows {row} --seeds 1 --hours 18"
    quick = command.parse_request(command.load("language_model"), ["--rows", row])
    assert "--hours" not in quick.command(row)


def test_the_command_of_a_row_asks_for_the_same_again(tmp_path, monkeypatch):
    (tmp_path / "vectors").mkdir()
    for path in ("my words.txt", "vectors/known.txt", "known.txt"):
        (tmp_path / path).write_text("the 0.1 0.2\n")
    (tmp_path / "mine.csv").write_text("a film,yes,no\n")
    monkeypatch.setenv("DENSE_LSTM_ZOO_DATA", str(tmp_path))
    table, row = command.load("ding2018_table3"), "ding2018_table3_0x10"
    words = ["--train-file", str(tmp_path / "mine.csv"), "--rows", row, "--seeds", "2", "--folds", "3"]
    words += ["--only-folds", "1", "2", "--set", "dropout=0.2", "pooling=my pool"]
    kinds = [["--label-columns", "good", "my bad", "--skip-empty"], ["--delimiter", "\\t"], []]
    for name, vectors in (("my words.txt", None), ("vectors/known.txt", "known.txt"), ("known.txt", None)):
        path = str(tmp_path / name)
        request = command.parse_request(table, [*words, *kinds.pop(), "--vectors", path])
        again = command.parse_request(table, shlex.split(request.command(row))[4:])
        assert again.vectors == (vectors or path)
        assert dataclasses.replace(again, vectors=path) == request


@pytest.mark.slow
def test_every_command_that_results_name_can_be_planned(monkeypatch):
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(build.MODELS.parent))
    planned = set()
    for table, words, row in recorded():
        request = command.parse_request(
            table, recipe_search.with_rows(words) if table.name == "recipe_search" else words
        )
        (name,) = request.rows
        if (table.name, name, row["settings"]) in planned:
            continue
        planned.add((table.name, name, row["settings"]))
        settings = protocols.parse_settings(request.settings)
        sweep = table.sweep(
            request.dataset, row_names=request.rows, seeds=request.seeds, folds=request.folds, **settings
        )
        (point,) = [
            value
            for values in sweep.space.values()
            for value in values
            if table.name_of(sweep.spec(dict.fromkeys(sweep.space, value))["values"]) == name
        ]
        spec = sweep.spec(dict.fromkeys(sweep.space, point))
        assert spec["model"] == row["model"]
        assert settings.items() <= spec["arguments"].items()
        assert spec["seeds"] == list(range(1, request.seeds + 1))
    assert len(planned) > 50


def test_every_command_of_the_docs_asks_for_rows():
    pages = [
        (tables.README.parents[1] / "docs" / name).read_text(encoding="utf-8") for name in ("sweeps.md", "papers.md")
    ]
    commands = [match for page in pages for match in re.findall(r"(?:^|`)python -m tuning (\w+) ([^`\n]+)", page, re.M)]
    assert len(commands) >= 20
    for table, words in commands:
        assert command.parse_request(command.load(table), shlex.split(words)).rows


def test_the_format_of_ones_own_files_follows_from_their_names():
    tagging, words = command.load("tagging"), ["--train-file", "mine.conll", "--tag-column", "2"]
    request = command.parse_request(tagging, words)
    assert (request.dataset, request.data) == ("columns", {"train_file": "mine.conll", "tag_column": 2})
    assert request.results == request.folder / "rows.csv"
    with pytest.raises(ValueError, match=r"mine\.csv is csv by its name.*Accepted: columns"):
        command.parse_request(tagging, ["--train-file", "mine.csv"])
    assert command.parse_request(command.load("language_model"), ["--train-file", "mine.txt"]).dataset == "text"


def test_a_folder_of_ones_own_files_is_a_corpus(tmp_path):
    for name in ("train.mrg", "test.mrg"):
        (tmp_path / name).write_text("( (VB Go) )\n")
    request = command.parse_request(command.load("tagging"), ["--dataset", str(tmp_path)])
    files = {f"{part}_file": str(tmp_path / f"{part}.mrg") for part in ("train", "test")}
    assert (request.dataset, request.data) == ("mrg", files)
    assert request.results == request.folder / "rows.csv"


def test_a_quick_run_leaves_the_width_of_rows_with_word_vectors_to_these():
    table = command.load("review_models")
    sweep = table.sweep(table.dataset, quick=True, seeds=1)
    assert "embedding_dim" not in sweep.arguments
    assert sweep.epochs == 1
