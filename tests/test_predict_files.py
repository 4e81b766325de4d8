"""Predictions for files: reading, columns remembered from training, writing, and what is left untouched."""

import csv
import gzip
import io
import json
import os
import stat
import sys

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.cli import main
from tests.cli_harness import output_of

TINY = ["--embedding-dim", "6", "--units", "4", "--epochs", "2", "--seed", "3", "--kernel", "native", "--quiet"]


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory):
    """A bundle of a table whose columns have names of their own, and whose format nobody said."""
    folder = tmp_path_factory.mktemp("predict")
    rows = "".join(
        f'{i},"it was {w}, really",{y}\n' for i, (w, y) in enumerate((("great", "=up"), ("awful", "-x")) * 20)
    )
    (folder / "mine.csv").write_text("id,said,mood\n" + rows)
    arguments = ["--train-file", str(folder / "mine.csv"), "--text-column", "said", "--label-column", "mood"]
    assert main(["train", "lstm", *arguments, "--run-dir", str(folder / "run"), *TINY]) == 0
    return folder / "run"


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_a_table_is_read_as_one_and_its_other_columns_stay(run_dir, tmp_path, capsys):
    (tmp_path / "test.csv").write_text('id,said,mood\n7,"it was great, really",=up\n\n8,,-x\n')
    status, out, err = output_of(capsys, "predict", run_dir, "--file", tmp_path / "test.csv", "--format", "csv")
    assert (status, err) == (0, "1 of 2 texts: the model knows none of their words, so their labels are guesses.\n")
    great, empty = zoo.load(run_dir).predict(["it was great, really", ""])
    rows = table(out)
    assert list(rows[0]) == ["id", "said", "mood", "label", "probability", "p_-x", "p_=up"]
    assert [(row["id"], row["said"]) for row in rows] == [("7", "it was great, really"), ("8", "")]
    assert [float(row["p_=up"]) for row in rows] == pytest.approx(
        [answer.probabilities["=up"] for answer in (great, empty)], abs=1e-5
    )
    assert [row["mood"] for row in rows] == ["'=up", "'-x"]
    assert [row["label"] for row in rows] == ["'" + great.label, "'" + empty.label]
    # The name of the file decides what is read, and what is written if nothing else does.
    assert output_of(capsys, "predict", run_dir, "--file", tmp_path / "test.csv")[1] == out
    (tmp_path / "test.dat").write_bytes((tmp_path / "test.csv").read_bytes())
    arguments = ["--file", tmp_path / "test.dat", "--input-format", "csv", "--text-column", "said"]
    assert output_of(capsys, "predict", run_dir, *arguments)[1] == out
    assert output_of(capsys, "predict", run_dir, *arguments, "--raw")[1] == out.replace("'=", "=").replace("'-", "-")
    _, lines, _ = output_of(capsys, "predict", run_dir, "--file", tmp_path / "test.csv", "--format", "text")
    assert lines.splitlines() == [
        f"{answer.label}\t{answer.probability:.4f}\t{answer.text}" for answer in (great, empty)
    ]


def test_json_lines_are_read_as_such_and_keep_their_keys(run_dir, tmp_path, capsys):
    (tmp_path / "test.jsonl").write_text('{"id": 7, "said": "it was great, really", "label": "gold"}\n')
    _, out, _ = output_of(capsys, "predict", run_dir, "--file", tmp_path / "test.jsonl")
    (great,) = zoo.load(run_dir).predict(["it was great, really"])
    assert json.loads(out) == {
        "id": 7,
        "said": great.text,
        "label": "gold",
        "predicted_label": great.label,
        "predicted_probability": great.probability,
        "predicted_probabilities": great.probabilities,
    }


def test_json_lines_hold_no_number_that_json_lacks(run_dir, tmp_path, capsys):
    (tmp_path / "test.jsonl").write_text('{"said": "it was great", "x": Infinity, "more": {"y": [NaN, 2]}}\n')
    _, out, _ = output_of(capsys, "predict", run_dir, "--file", tmp_path / "test.jsonl")
    row = json.loads(out, parse_constant=pytest.fail)
    assert (row["x"], row["more"]) == (None, {"y": [None, 2]})


def test_standard_input_may_be_a_table(run_dir, monkeypatch, capsys):
    stream = io.BufferedReader(io.BytesIO(b"id,said\n7,fine\n"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
    _, out, _ = output_of(capsys, "predict", run_dir, "--input-format", "csv")
    assert [(row["id"], row["said"]) for row in table(out)] == [("7", "fine")]


def test_what_was_written_can_be_evaluated(run_dir, tmp_path, capsys):
    (tmp_path / "in.txt").write_text("it was great, really\nit was awful, really\n")
    arguments = ["predict", run_dir, "--file", tmp_path / "in.txt", "--output", tmp_path / "out.csv"]
    assert output_of(capsys, *arguments) == (0, "", "")
    assert [row["text"] for row in table((tmp_path / "out.csv").read_text())] == [
        "it was great, really",
        "it was awful, really",
    ]
    columns = ["--text-column", "text", "--label-column", "label"]
    status, out, err = output_of(capsys, "evaluate", run_dir, "--test-file", tmp_path / "out.csv", *columns)
    assert (status, err) == (0, "")
    assert out.startswith("test accuracy 1.0000")


def test_evaluate_remembers_the_columns_too(run_dir, capsys):
    status, out, err = output_of(capsys, "evaluate", run_dir, "--test-file", run_dir.parent / "mine.csv")
    assert (status, err) == (0, "")
    assert out.endswith(", 40 texts\n")


def test_a_bundle_that_remembers_no_columns_has_the_usual_ones(run, tmp_path, capsys):
    assert "columns" not in run[0].config["training"]
    (tmp_path / "in.csv").write_text("text,label\nA fine film .,positive\n")
    _, out, _ = output_of(capsys, "predict", run[1], "--file", tmp_path / "in.csv")
    assert [row["text"] for row in table(out)] == ["A fine film ."]
    assert output_of(capsys, "evaluate", run[1], "--test-file", tmp_path / "in.csv")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--file", "in.csv", "--text-column", "nope"], "Unknown column for in.csv: 'nope'. Accepted: id, said."),
        (["--file", "in.xlsx"], "in.xlsx is not an Excel workbook (xlsx), whatever its name says: it is text"),
        (["--file", "in.conll"], "in.conll is columns by its name"),
        (
            ["--file", "in.txt", "--text-column", "a"],
            "--text-column is for csv, tsv, jsonl, parquet and xlsx; the input is text",
        ),
        (["--file", "in.csv", "--output", "out.tsv"], "out.tsv is tsv by its name"),
        (["a", "--input-format", "csv"], "Texts given as arguments are raw text"),
        (["--file", "in.txt", "--prefix", "new_"], "--prefix is for csv, jsonl and json; the output is text."),
        (["a", "--format", "jsonl", "--raw"], "--raw is for text and csv; the output is jsonl."),
        (["--file", "in.csv", "--encoding", "utf-9"], "encoding must be a text encoding"),
        (["--file", "ragged.csv", "--output", "new.csv"], "ragged.csv, line 3 has 3 cells"),
        (["--file", "in.csv", "--output", "in.csv"], "in.csv already exists"),
        (["--file", "in.csv", "--output", "link.csv"], "link.csv already exists (as "),
    ],
)
def test_what_cannot_be_read_or_written_is_told_and_nothing_changes(
    run_dir, tmp_path, monkeypatch, capsys, arguments, message
):
    monkeypatch.chdir(tmp_path)
    for name in ("in.csv", "in.xlsx", "in.txt", "in.conll"):
        (tmp_path / name).write_text("id,said\n1,a\n")
    (tmp_path / "ragged.csv").write_text("id,said\n1,a\n2,b,c\n")
    (tmp_path / "link.csv").symlink_to("in.csv")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    status, out, err = output_of(capsys, "predict", run_dir, *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_an_output_whose_name_ends_in_gz_is_compressed(run_dir, tmp_path, capsys):
    output = tmp_path / "out.jsonl.gz"
    assert output_of(capsys, "predict", run_dir, "great", "--output", output) == (0, "", "")
    assert json.loads(gzip.decompress(output.read_bytes()))["text"] == "great"


def test_a_file_may_be_replaced_by_what_is_made_of_it_when_asked(run_dir, tmp_path, capsys):
    path = tmp_path / "in.csv"
    path.write_text("id,said\n" + "".join(f"{i},it was great\n" for i in range(5000)))
    (tmp_path / "link.csv").symlink_to(path)
    own = ["predict", run_dir, "--file", path, "--output", tmp_path / "link.csv"]
    assert output_of(capsys, *own)[0] == 2
    assert output_of(capsys, *own, "--overwrite") == (0, "", "")
    assert [row["id"] for row in table(path.read_text())] == [str(i) for i in range(5000)]
    assert "label" in table(path.read_text())[0]
    assert (tmp_path / "link.csv").is_symlink()
    path.write_text("id,said\n1,a\n2,b,c\n")  # an error on the way leaves the input as it was
    assert output_of(capsys, *own, "--overwrite")[0] == 2
    assert path.read_text() == "id,said\n1,a\n2,b,c\n"
    assert sorted(f.name for f in tmp_path.iterdir()) == ["in.csv", "link.csv"]


def test_predictions_go_through_a_device_and_leave_it_one(run_dir, tmp_path, capsys):
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        device.open("w").close()
    except OSError:
        pytest.skip("no permission to make or to open a device here")
    assert output_of(capsys, "predict", run_dir, "great", "--output", device) == (0, "", "")
    assert stat.S_ISCHR(device.stat().st_mode)


def test_a_picture_replaces_nothing_unasked(run_dir, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    (tmp_path / "real.png").write_text("a thesis")
    (tmp_path / "e.png").symlink_to("real.png")
    arguments = ["explain", run_dir, "it was great", "--output", tmp_path / "e.png"]
    status, _, err = output_of(capsys, *arguments)
    assert (status, (tmp_path / "real.png").read_text()) == (2, "a thesis")
    assert "e.png already exists" in err
    assert output_of(capsys, *arguments, "--overwrite")[0] == 0
    assert (tmp_path / "e.png").is_symlink()
    assert (tmp_path / "real.png").read_bytes().startswith(b"\x89PNG")


def test_text_output_is_one_harmless_line_a_text(run_dir, capsys):
    _, out, _ = output_of(capsys, "predict", run_dir, "red \x1b[31m\nnext")
    assert out.endswith("\tred \\x1b[31m\\nnext\n")
    _, out, _ = output_of(capsys, "predict", run_dir, "red \x1b[31m\nnext", "--raw")
    assert out.endswith("\tred \x1b[31m\nnext\n")
    _, out, _ = output_of(capsys, "explain", run_dir, "red\x1b[31m")
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lstm"], "Say what to train on: --dataset with a corpus's name (demo, trec"),
        (["lstm", "--train-file", "a.txt"], "a.txt: its name does not show its format; give it with --dataset"),
        (["stacked_lstm_lm", "--train-file", "a.csv"], "a.csv is csv by its name. If it is not, give its format with"),
        (["bilstm_tagger", "--train-file", "a.jsonl"], "a.jsonl is jsonl by its name"),
    ],
)
def test_train_tells_the_format_by_the_name_or_asks(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "a.csv", "a.jsonl"):
        (tmp_path / name).write_text("text,label\na,b\n")
    for command in ("train", "tune"):
        status, out, err = output_of(capsys, command, *arguments, "--run-dir", "run")
        assert (status, out) == (2, "")
        assert message in err
    assert not (tmp_path / "run").exists()
