"""The file of evaluate --errors, with the line of every wrong answer, and the sentences in a tagger's report."""

import csv
import json

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.cli import main
from dense_lstm_zoo.tagging.analysis import analyse, errors
from dense_lstm_zoo.tagging.corpus import TaggedSplit
from dense_lstm_zoo.tagging.report import markdown
from dense_lstm_zoo.training import job
from tests.cli_harness import output_of


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


TEXTS = ['the film\n"was" good', "=1+1 bad", "it was very long", "not known at all", "\u202e short, but good"]


@pytest.fixture
def labelled(write):
    """A table with a column to skip and a cell of two lines, whose labels are in an order of their own."""
    labels = ["yes", "no", "déjà", "yes", "no"]
    quoted = ['"' + text.replace('"', '""') + '"' for text in TEXTS]
    lines = [f"{i},{label},{text}\n" for i, (label, text) in enumerate(zip(labels, quoted, strict=True))]
    return write("id,label,text\n" + "".join(lines), "labelled.csv"), labels


LINES = [2, 4, 5, 6, 7]  # the first text has two lines


def test_every_wrong_label_is_a_row_with_its_line(saved_bundle, labelled, tmp_path, capsys):
    file, labels = labelled
    folder = saved_bundle("bilstm")
    status, out, err = output_of(
        capsys, "evaluate", folder, "--test-file", file, "--errors", tmp_path / "wrong.csv", "--format", "json"
    )
    assert (status, err) == (0, "")
    expected = []
    answers = zoo.load(folder).predict(TEXTS)
    for line, text, label, answer in zip(LINES, TEXTS, labels, answers, strict=True):
        if label != answer.label:
            shown = f"'{text}" if text.startswith("=") else text
            expected.append([str(line), shown, label, answer.label, pytest.approx(answer.probability, abs=1e-5)])
    header, *rows = rows_of(tmp_path / "wrong.csv")
    assert header == ["line", "text", "label", "predicted", "probability"]
    assert [[*row[:4], float(row[4])] for row in rows] == expected
    assert len(expected) >= 2
    assert f'"accuracy": {1 - len(expected) / 5}' in out


def test_every_wrong_tag_is_a_row_with_its_line_and_sentence(saved_bundle, write, tmp_path, capsys):
    conllu = write(
        "# text = It's good\n"
        "1-2\tIt's\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "1\tit\t_\tT0\t_\t_\t_\t_\t_\t_\n"
        "2\t's\t_\tT1\t_\t_\t_\t_\t_\t_\n"
        "3\tgood\t_\tT2\t_\t_\t_\t_\t_\t_\n"
        "\n"
        "1\t=film\t_\tT1\t_\t_\t_\t_\t_\t_\n",
        "mine.conllu",
    )
    folder = saved_bundle("bilstm_tagger")
    status, *_ = output_of(capsys, "evaluate", folder, "--test-file", conllu, "--errors", tmp_path / "wrong.csv")
    assert status == 0
    sentences = [["it", "'s", "good"], ["=film"]]
    places = [(3, 0, 0, "T0"), (4, 0, 1, "T1"), (5, 0, 2, "T2"), (7, 1, 0, "T1")]
    answers = zoo.load(folder).predict(sentences)
    expected = []
    for line, number, i, tag in places:
        if answers[number].tags[i] != tag:
            cells = [" ".join(sentences[number]), str(i + 1), sentences[number][i], tag, answers[number].tags[i]]
            expected.append([str(line), *(f"'{cell}" if cell.startswith("=") else cell for cell in cells)])
    header, *rows = rows_of(tmp_path / "wrong.csv")
    assert header == ["line", "sentence", "position", "word", "tag", "predicted"]
    assert rows == expected
    assert expected


def test_the_file_of_errors_may_be_in_the_folder_of_the_report(saved_bundle, labelled, tmp_path, capsys):
    report = tmp_path / "report"
    words = ("--test-file", labelled[0], "--report", report, "--errors")
    status, *_ = output_of(capsys, "evaluate", saved_bundle("bilstm"), *words, report / "errors.csv")
    assert status == 0
    assert {"report.md", "errors.csv"} <= {file.name for file in report.iterdir()}
    words = ("--test-file", labelled[0], "--report", tmp_path / "both", "--errors", tmp_path / "both")
    status, _, err = output_of(capsys, "evaluate", saved_bundle("bilstm"), *words)
    assert (status, "the first is a folder, the second a file" in err) == (2, True)


def test_texts_without_a_file_of_lines_are_numbered(saved_bundle):
    split = zoo.Split(["good", "bad", "fine"], [0, 1, 2])
    bundle = zoo.load(saved_bundle("bilstm"))
    names, rows = bundle.assess(split, errors=True)[1]["errors"]
    assert names[0] == "number"
    answers = bundle.predict(split.texts)
    assert [row[0] for row in rows] == [i + 1 for i in range(3) if answers[i].label != bundle.labels[i]]
    assert "errors" not in bundle.assess(split)[1]
    tagged = TaggedSplit([["a"], ["b", "c"]], [["X"], ["X", "Y"]])
    assert errors(tagged, [["X"], ["X", "X"]]) == (
        ["sentence_number", "sentence", "position", "word", "tag", "predicted"],
        [[2, "b c", 2, "c", "Y", "X"]],
    )


def test_lines_are_not_part_of_the_data():
    split, with_lines = zoo.Split(["a", "b", "c"], [0, 1, 0]), zoo.Split(["a", "b", "c"], [0, 1, 0], [2, 5, 6])
    assert with_lines == split
    assert [*job._contents(with_lines)] == [*job._contents(split)]  # earlier runs resume
    assert with_lines.select([2, 0]).lines == [6, 2]
    sentences, in_file = TaggedSplit([["a"]], [["X"]]), TaggedSplit([["a"]], [["X"]], [[3]])
    assert in_file == sentences
    assert [*job._contents(in_file)] == [*job._contents(sentences)]


def test_the_file_of_the_texts_in_a_folder_is_not_overwritten(saved_bundle, labelled, tmp_path, capsys):
    (tmp_path / "data").mkdir()
    file = tmp_path / "data" / f"test{labelled[0].suffix}"
    file.write_bytes(content := labelled[0].read_bytes())
    file.with_stem("train").write_bytes(content)
    words = ("--dataset", file.parent, "--errors", file, "--overwrite")
    status, _, err = output_of(capsys, "evaluate", saved_bundle("bilstm"), *words)
    assert (status, file.read_bytes()) == (2, content)
    assert "is one of the files that are read; name another one" in err
    words = ("--test-file", labelled[0], "--train-file", file, "--errors", file, "--overwrite")
    status, _, err = output_of(capsys, "evaluate", saved_bundle("bilstm"), *words)
    assert (status, file.read_bytes()) == (2, content)


def test_a_run_of_a_file_needs_the_file_to_score(saved_bundle, capsys, monkeypatch):
    monkeypatch.setattr("dense_lstm_zoo.cli.evaluate.load_bundle", None)  # it is not reached
    folder = saved_bundle("bilstm")
    config = json.loads((folder / "config.json").read_text())
    config["training"]["dataset"] = "jsonl"
    monkeypatch.setattr("dense_lstm_zoo.bundles.folder.BundleFolder.read_config", lambda *_: config)
    status, _, err = output_of(capsys, "evaluate", folder)
    assert status == 2
    assert "was trained on 'jsonl', which is not a published corpus: give its test texts as --test-file FILE" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--errors", "FILE"], "already exists; choose another file, or ask to overwrite it (--overwrite)"),
        (["--report", "."], "already exists"),
        (["--errors", "FILE", "--overwrite"], "is one of the files that are read; name another one"),
        (["--errors", "labelled.csv/wrong.csv"], "labelled.csv"),
        (["--error", "wrong.csv", "--erors", "x"], "Did you mean '--errors'"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_any_work(
    saved_bundle, labelled, tmp_path, monkeypatch, capsys, options, message
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dense_lstm_zoo.cli.evaluate.load_bundle", None)  # it is not reached
    monkeypatch.setattr("dense_lstm_zoo.corpora.dataset.read_split", None)
    file, content = labelled[0], labelled[0].read_bytes()
    words = [str(file) if word == "FILE" else word for word in options]
    try:
        status, _, err = output_of(capsys, "evaluate", saved_bundle("bilstm"), "--test-file", file, *words)
    except SystemExit as ended:
        status, err = ended.code, capsys.readouterr().err
    assert status == 2
    assert message in err
    assert file.read_bytes() == content


def test_a_language_model_has_no_wrong_answers(saved_bundle, tmp_path, capsys):
    folder = saved_bundle("dense_lstm_lm")
    status, _, err = output_of(capsys, "evaluate", folder, "--dataset", "demo", "--errors", tmp_path / "x.csv")
    assert (status, err.count("\n")) == (2, 1)
    assert "--errors is for models that label texts or words" in err
    assert not (tmp_path / "x.csv").exists()


def test_an_evaluation_that_fails_leaves_an_existing_file_as_it_is(saved_bundle, labelled, tmp_path, monkeypatch):
    (tmp_path / "wrong.csv").write_text("earlier")
    monkeypatch.setattr("dense_lstm_zoo.cli.evaluate.csv_row", lambda cells: {}[0])
    options = ["--test-file", labelled[0], "--errors", tmp_path / "wrong.csv", "--overwrite"]
    with pytest.raises(KeyError):
        main(["evaluate", *map(str, [saved_bundle("bilstm"), *options])])
    assert (tmp_path / "wrong.csv").read_text() == "earlier"
    assert [path.name for path in tmp_path.iterdir() if "wrong" in path.name] == ["wrong.csv"]


def test_the_report_of_a_tagger_shows_wrong_words_in_their_sentences():
    words = ["the", "old", "man", "the", "*", "boats", "of", "|", "harbours", "<b>", "far", "and", "wide", ",", "now"]
    right = ["D", "N", "V", "D", *["X"] * (len(words) - 4)]
    predicted = ["D", "J", "N", "D", "Y", *["X"] * (len(words) - 5)]
    split = TaggedSplit(
        [words, ["old"], ["so", "old"], ["old", "!"], [""]], [right, ["N"], ["X", "N"], ["N", "X"], ["X"]]
    )
    guesses = [predicted, ["J"], ["X", "J"], ["J", "X"], ["Y"]]
    analysis = analyse(split, guesses, ["D", "J", "N", "V", "X", "Y"])[1]
    text = markdown({"split": "test", **analysis}, "model")
    assert "| tokens | right | predicted | in a sentence |" in text
    assert "| 4 | N | J | `the **old**" not in text
    lines = [line for line in text.splitlines() if "**" in line]
    assert lines == [
        r"| 4 | N | J | the **old** `man the * boats of \|` ... |",
        "|  |  |  | **old** |",
        "|  |  |  | so **old** |",
        r"| 2 | X | Y | the old man the **`*`** `boats of \| harbours <b> far` ... |",
        "|  |  |  | **(empty)** |",
        r"| 1 | V | N | the old **man** `the * boats of \| harbours` ... |",
    ]
    for row in analysis["confusions"]:
        del row["examples"]  # as in an older bundle
    assert "| 4 | N | J |  |" in markdown({"split": "test", **analysis}, "model")
