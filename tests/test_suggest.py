"""Texts to label next: unsure ones, unlike each other."""

import csv

import numpy as np
import pytest

from dense_lstm_zoo.bundles import text_hashes
from dense_lstm_zoo.classification import suggesting
from dense_lstm_zoo.cli import main
from dense_lstm_zoo_runtime.decisions import Decisions
from tests import bundle_harness

TEXTS = [
    "the film was good",
    "it was bad",
    "",
    "the film was  good",
    "a text seen before",
    "very very long",
    "so dull !",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    bundle = bundle_harness.with_random_weights(bundle_harness.bundle("bilstm"))
    bundle.train_texts = text_hashes.hash_texts([["a", "text", "seen", "before"]])
    return bundle.save(tmp_path_factory.mktemp("suggest") / "run")


@pytest.fixture(scope="module")
def bundle(folder):
    import dense_lstm_zoo as zoo

    return zoo.load(folder)


def test_the_least_sure_text_of_each_group_goes_first():
    generator = np.random.default_rng(0)
    centres = np.repeat([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0]], 20, axis=0)
    features = centres + generator.normal(size=centres.shape)
    margins = generator.uniform(0, 0.3, 60)
    sure = np.r_[margins, np.full(500, 0.99)]
    probabilities = np.stack([(1 + sure) / 2, (1 - sure) / 2], axis=1)
    features = np.r_[features, generator.normal(100, 50, (500, 2))]
    rows = suggesting.choose(probabilities, features, 3)
    assert sorted(row // 20 for row in rows) == [0, 1, 2]
    assert list(sure[rows]) == sorted(sure[rows])


def test_unsure_texts_are_taken_before_sure_ones_and_equal_ones_once():
    probabilities = np.array([[0.5, 0.3, 0.2], [0.34, 0.33, 0.33], [0.9, 0.1, 0.0], [0.34, 0.33, 0.33]])
    features = np.array([[0.0], [3.0], [9.0], [3.0]])
    assert suggesting.choose(probabilities, features, 4).tolist() == [1, 3, 0, 2]
    assert sorted(suggesting.choose(probabilities, features, 3)) == [0, 1, 2]
    many = np.tile([0.5, 0.5], (40, 1))
    assert len(suggesting.choose(many, np.zeros((40, 2)), 5)) == 1


def test_many_texts_that_read_alike_leave_room_for_others():
    probabilities = np.r_[np.tile([0.5, 0.5], (100, 1)), np.tile([0.9, 0.1], (25, 1))]
    features = np.r_[np.zeros((100, 1)), np.arange(1.0, 26)[:, None]]
    rows = suggesting.choose(probabilities, features, 5)
    assert len(rows) == 5
    assert sum(row < 100 for row in rows) <= 1


class OfTwoLabels:
    """A model that finds ``i`` percent of spam in the text "text i"."""

    labels, is_several, train_texts = ("ham", "spam"), False, None
    decisions = Decisions(labels, thresholds={"spam": 0.2})

    def probabilities(self, texts):
        shares = np.array([int(text.split()[1]) / 100 for text in texts])
        return np.stack([1 - shares, shares], axis=1)

    embed = probabilities


def test_a_threshold_of_two_labels_decides_what_is_unsure_and_which_label_is_given():
    suggestions = suggesting.suggest(OfTwoLabels(), [f"text {share}" for share in (90, 50, 22, 19, 5)], 5)
    assert [each.text for each in suggestions] == ["text 19", "text 22", "text 5", "text 50", "text 90"]
    assert [(each.label, round(each.probability, 2)) for each in suggestions[:2]] == [("ham", 0.81), ("spam", 0.22)]


def test_empty_repeated_and_known_texts_are_left_out(bundle):
    suggestions = bundle.suggest(TEXTS, 50)
    assert sorted(each.index for each in suggestions) == [0, 1, 5, 6]
    by_text = {each.text: each for each in suggestions}
    for answer in bundle.predict(list(by_text)):
        each = by_text[answer.text]
        assert (each.label, each.probability) == (answer.label, pytest.approx(answer.probability))
        assert TEXTS[each.index] == each.text
    shares = np.sort(bundle.probabilities([each.text for each in suggestions]), axis=1)
    margins = shares[:, -1] - shares[:, -2]
    assert (np.diff(margins) >= 0).all()


@pytest.mark.parametrize(("texts", "number"), [(["", " "], 5), ([], 5), (["a text seen before"], 1)])
def test_without_a_text_to_label_there_is_an_error(bundle, texts, number):
    with pytest.raises(ValueError, match="There is no text to label"):
        bundle.suggest(texts, number)


def test_a_number_below_1_and_a_single_string_are_refused(bundle):
    with pytest.raises(ValueError, match="number must be an integer of at least 1; received 0"):
        bundle.suggest(TEXTS, 0)
    with pytest.raises(TypeError, match="must be a list of strings; received one string"):
        bundle.suggest("a text")


def run(*arguments):
    return main([str(argument) for argument in arguments])


def test_the_command_writes_a_table_to_fill_in(folder, tmp_path, capsys):
    (tmp_path / "raw.csv").write_text("text\n=1+1 good\nthe film was bad\nit was bad\n")
    output = tmp_path / "label.csv"
    assert run("suggest", folder, "--file", tmp_path / "raw.csv", "-n", "2", "--output", output) == 0
    with output.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["text", "label", "predicted", "probability"]
    assert len(rows) == 2
    assert {row["label"] for row in rows} == {""}
    assert run("suggest", folder, "--file", tmp_path / "raw.csv", "-n", "9") == 0
    printed = capsys.readouterr()
    assert "\n'=1+1 good,," in printed.out
    assert printed.err.startswith("9 texts were asked for, and 3 can be suggested: the others are empty, were trained")
    content = (tmp_path / "raw.csv").read_text()
    assert run("suggest", folder, "--file", tmp_path / "raw.csv", "--output", tmp_path / "raw.csv", "--overwrite") == 2
    assert "raw.csv is one of the files that are read; name another one" in capsys.readouterr().err
    assert (tmp_path / "raw.csv").read_text() == content


def test_the_table_has_the_columns_of_the_training_file_and_no_name_twice(bundle, tmp_path, capsys, monkeypatch):
    columns = {"text_column": "predicted", "label_columns": ["plot", "actors"]}
    monkeypatch.setitem(bundle.config["training"], "columns", columns)
    folder = bundle.save(tmp_path / "run")
    (tmp_path / "raw.txt").write_text("the film was bad\n")
    assert run("suggest", folder, "--file", tmp_path / "raw.txt", "-n", "1") == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head == "predicted,plot,actors,suggested_predicted,probability"
    assert row.startswith("the film was bad,,,")


def test_a_text_that_no_encoding_holds_is_written_with_a_question_mark(folder, tmp_path):
    (tmp_path / "raw.jsonl").write_text('{"text": "good \\ud800 film"}\n')
    assert run("suggest", folder, "--file", tmp_path / "raw.jsonl", "--output", tmp_path / "label.csv") == 0
    assert "good ? film" in (tmp_path / "label.csv").read_text()


def test_bad_requests_end_with_one_line_before_any_work(folder, tmp_path, capsys):
    raw = tmp_path / "raw.txt"
    raw.write_text("")
    (tmp_path / "there.csv").write_text("mine")
    for arguments, message in [
        ((folder, "--file", tmp_path / "gone.txt"), "gone.txt"),
        ((folder, "--file", raw, "-n", "0"), "-n must be an integer of at least 1; received 0"),
        ((folder, "--file", raw), "There is no text to label: of 0"),
        ((folder, "--file", raw, "--output", tmp_path / "there.csv"), "there.csv"),
    ]:
        assert run("suggest", *arguments) == 2, arguments
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1
    assert (tmp_path / "there.csv").read_text() == "mine"
