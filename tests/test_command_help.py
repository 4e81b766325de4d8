"""The help of train, self-train, tune and list: each option in one line, whatever the model."""

import re

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo import tasks
from dense_lstm_zoo.cli import main
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.models.docstrings import argument_texts, first_sentence
from tests.cli_harness import output_of


def help_of(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([*arguments, "--help"])
    assert stop.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("columns", ["80", "200"])
def test_the_help_of_every_model_has_its_options_in_under_66_lines_that_fit(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    for model in zoo.list_models():
        entry = registry.entry(model)
        lines = help_of(capsys, "train", model).splitlines()
        assert len(lines) < 66, model
        rows = [re.fullmatch(r"  (--[a-z0-9-]+)(?: \S+)? +(\S.*)", line) for line in lines if line.startswith("  ")]
        assert all(rows), model
        options = {row[1].removeprefix("--").replace("-", "_") for row in rows}
        assert set(entry.arguments) - set(registry.FROM_DATA) <= options
        assert {option.name for option in tasks.find(entry.task).options} <= options
        assert {"dataset", "train_file", "recipe", "epochs", "batch_size", "seed", "run_dir"} <= options
        for title in ("data:", "model:", "training:", "saving:"):
            assert title in lines
        assert all(len(line) <= int(columns) for line in lines if line.startswith("  ")), model


def test_a_line_of_help_is_the_docstring_with_the_default(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    text = help_of(capsys, "train", "dc_bilstm")
    assert (
        "  --dense-units N                   Width of one direction of a narrow layer (dh) [13]\n" in text
    )  # cut at ";"
    assert "  --top-units N                     Width of one direction of the top layer (th) [100]\n" in text
    assert "None" not in text  # null on the command line
    assert "[20]" in next(line for line in help_of(capsys, "train", "dense_lstm_lm").splitlines() if "batch" in line)


def test_the_help_of_self_training_says_what_it_needs(capsys):
    for text in (help_of(capsys, "self-train"), help_of(capsys, "self-train", "bilstm")):
        assert "(--dataset NAME | --train-file FILE) --file FILE --run-dir FOLDER [options]" in text.splitlines()[0]
        assert "self-training:" in text
        for option in ("--rounds N", "--models N", "--threshold P", "--augment N", "--epochs N", "--file FILE"):
            assert f"  {option} " in text
    assert "[0.9]" in next(line for line in text.splitlines() if "--threshold " in line)
    assert text.count("--run-dir FOLDER ") == 2


@pytest.mark.parametrize("command", ["train", "self-train", "tune"])
def test_without_a_model_the_help_is_short_and_says_how_to_see_a_model_s(capsys, command):
    text = help_of(capsys, command)
    assert len(text.splitlines()) < 60
    assert f"dense-lstm-zoo {command} MODEL --help shows the options of a model" in text
    assert "--dense-units" not in text
    others = ["--file"] if command == "self-train" else ["--folds"]
    for option in ("--dataset", "--label-column", "--init-from", "--run-dir", *others):
        assert f"  {option} " in text


def test_the_model_may_stand_behind_options(capsys):
    assert help_of(capsys, "train", "--dataset", "trec", "lstm") == help_of(capsys, "train", "lstm")
    assert help_of(capsys, "train", "--run-dir", "x") == help_of(capsys, "train")


def test_an_option_that_no_model_has_is_near_one_that_the_model_has(capsys):
    with pytest.raises(SystemExit):
        main(["train", "dense_lstm_lm", "--topp-units", "3"])
    message = capsys.readouterr().err
    assert "--units" in message
    assert "--top-units" not in message


def test_the_help_of_a_model_that_is_misspelt_names_near_ones(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["train", "dc_bilstn", "--help"])
    assert stop.value.code == 2
    assert "error: Unknown model 'dc_bilstn'. Did you mean 'dc_bilstm'" in capsys.readouterr().err


def test_an_error_of_train_is_not_buried_under_all_options(capsys):
    with pytest.raises(SystemExit):
        main(["train", "bilstm", "--freeze", "nothing"])
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_every_argument_of_every_model_has_a_text():
    for model in zoo.list_models():
        entry = registry.entry(model)
        assert list(entry.texts) == list(entry.arguments), model


def test_docstrings_are_read_to_the_end_of_their_arguments():
    def function():
        """Do something.

        Args:
            first: One line, ``code`` included.
            *rest: Two lines: the second
                goes on here. See Godin et al. 2017.

        Returns:
            second: Not an argument.
        """

    texts = argument_texts(function)
    assert texts == {
        "first": "One line, code included.",
        "rest": "Two lines: the second goes on here. See Godin et al. 2017.",
    }
    assert first_sentence(texts["rest"]) == "Two lines: the second goes on here"


def test_list_prints_models_recipes_presets_and_corpora(capsys):
    def names(*arguments):
        status, out, _ = output_of(capsys, "list", *arguments)
        assert status == 0
        return [line.split()[0] for line in out.splitlines()]

    assert names() == names("models") == zoo.list_models()
    assert names("dc_*") == names("models", "dc_*") == ["dc_bilstm"]
    assert names("dc_bilstm") == ["dc_bilstm"]
    assert names("recipes") == zoo.list_recipes()
    assert names("recipes", "zaremba*") == ["zaremba2014_medium", "zaremba2014_large"]
    assert names("corpora") == zoo.list_corpora()
    assert names("corpora", "--task", "tagging") == zoo.list_corpora("tagging")
    assert names("presets") == [preset.name for preset in zoo.list_presets()]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["modles"], "Unknown kind to list: 'modles'. Did you mean 'models'? Accepted: corpora, models, presets"),
        (["recipe", "ding*"], "Unknown kind to list: 'recipe'. Did you mean 'recipes'?"),
        (["corpora", "--task", "tags"], "Unknown value of task: 'tags'"),
    ],
)
def test_list_names_the_kinds_that_there_are(capsys, arguments, message):
    status, out, err = output_of(capsys, "list", *arguments)
    assert (status, out) == (2, "")
    assert message in err
