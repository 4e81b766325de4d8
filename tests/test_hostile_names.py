"""Names and metadata that would take over a terminal, a page or a spreadsheet: they are shown, and do nothing."""

import contextlib
import csv
import functools
import json
import os
import re
import subprocess
import sys

import pytest
from markdown_it import MarkdownIt

from dense_lstm_zoo import describe
from dense_lstm_zoo.cli import main
from dense_lstm_zoo.reports.cards import model_card
from tests.bundle_harness import bundle, seal
from tests.slow_cases import slow_but

pytestmark = pytest.mark.usefixtures("real_pictures")

NAME = "a\x1b]0;owned\x07\n\x9b31m\u202egnp"  # a title, a bell, a line of its own, a colour, letters from right to left
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
ESCAPED = r"a\x1b]0;owned\x07\n\x9b31m\u202egnp"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A bundle whose folder and metadata have such names."""
    folder = tmp_path_factory.mktemp("hostile") / NAME
    bundle("bilstm").save(folder)
    config = json.loads((folder / "config.json").read_text())
    config["training"] |= {"dataset": NAME, "recipe": NAME, "augment": NAME}
    (folder / "config.json").write_text(json.dumps(config))
    labels = json.loads((folder / "labels.json").read_text())
    (folder / "labels.json").write_text(json.dumps([NAME, *labels[1:]]))
    seal(folder)
    return folder


def run(capsys, *arguments):
    """Run a command, check both of its streams and return them with its status."""
    status = main([str(argument) for argument in arguments])
    streams = capsys.readouterr()
    assert not UNSAFE.search((streams.out + streams.err).replace("\t", ""))
    assert not re.search(r"^\\x9b31m", streams.out + streams.err, re.MULTILINE)  # no line of the stranger's
    return status, streams


def test_no_command_shows_control_characters_of_names_and_metadata(folder, capsys, tmp_path):
    status, streams = run(capsys, "describe", folder)
    assert status == 0
    assert ESCAPED in streams.out
    status, streams = run(capsys, "predict", folder, "good film")
    assert status == 0
    out = tmp_path / NAME
    status, streams = run(capsys, "export", folder, out, "--format", "onnx")
    assert (status, streams.out.rstrip().endswith(ESCAPED)) == (0, True)
    for arguments in (
        ("predict", out, "good film", "--format", "jsonl"),
        ("predict", tmp_path / f"{NAME}.none", "a"),
        ("evaluate", folder, "--test-file", tmp_path / f"{NAME}.csv"),
        ("curves", folder),
        ("predict", folder, "--file", tmp_path / NAME / "none"),
        ("train", "bilstm", "--train-file", tmp_path / f"{NAME}.csv", "--run-dir", tmp_path / "r"),
        ("train", "bilstm", "--dataset", NAME, "--run-dir", tmp_path / "r"),
        ("train", "bilstm", "--config", tmp_path / NAME),
        ("describe", NAME),
        ("list", "models", NAME),
        ("fetch", NAME),
    ):
        run(capsys, *arguments)


def test_the_runtimes_command_shows_no_control_characters_either(folder, capsys, tmp_path):
    from dense_lstm_zoo_runtime.command import main as runtime

    main(["export", str(folder), str(tmp_path / NAME), "--format", "onnx"])
    for arguments in ([str(tmp_path / NAME), "good film"], [str(tmp_path / f"{NAME}.none"), "a"], [NAME, "a"]):
        runtime(arguments)
        streams = capsys.readouterr()
        assert not UNSAFE.search((streams.out + streams.err).replace("\t", ""))


def test_a_refused_option_shows_no_control_characters(capsys):
    for arguments in ([f"--{NAME}"], [NAME], ["train", NAME], ["train", "bilstm", f"--{NAME}", "x"]):
        with contextlib.suppress(SystemExit):
            run(capsys, *arguments)
        streams = capsys.readouterr()
        assert not UNSAFE.search(streams.out + streams.err)


def test_a_description_in_python_shows_no_control_characters(folder):
    assert not UNSAFE.search(str(describe(folder)))
    assert not UNSAFE.search(repr(describe(folder)))


@pytest.mark.slow  # a training in a fresh process
def test_a_training_into_such_a_folder_shows_its_name_escaped(tmp_path):
    command = [sys.executable, "-m", "dense_lstm_zoo", "train", "bilstm", "--dataset", "demo", "--epochs", "1"]
    ended = subprocess.run(
        [*command, "--run-dir", tmp_path / NAME], capture_output=True, text=True, env={**os.environ, "PYTHONUTF8": "1"}
    )
    assert ended.returncode == 0, ended.stderr
    assert ESCAPED in ended.stdout
    assert not UNSAFE.search((ended.stdout + ended.stderr).replace("\t", "").replace("\b", "").replace("\r", ""))


MARKS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "# heading",
    "a\n\n# heading\n\n<b>",
    "](javascript:alert(1))",
    "[x](javascript:alert(1))",
    "![x](http://a.example/b.png)",
    "a | b",
    "``` a\n```\n# heading",
    "`" * 9 + "<b>",
    "&lt;b&gt; ***a*** http://a.example",
    '=HYPERLINK("http://a.example")',
    "\u202ea\x1b[31m",
)


def parts_of(page):
    """Return a page as a Markdown reader sees it: headings, and the parts that no stranger may add."""
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tokens = [inner for token in reader.parse(page) for inner in (token, *(token.children or ()))]
    kinds = [token.type for token in tokens]
    headings = [tokens[i + 1].content for i, kind in enumerate(kinds) if kind == "heading_open"]
    return headings, {
        kind for kind in kinds if kind.startswith(("html", "link", "image", "s_open", "strong", "em_open"))
    }


@functools.cache
def hostile(mark):
    """A bundle with a mark in every place that a stranger can fill, and scores of all kinds."""
    new_bundle = bundle("bilstm")
    new_bundle.labels = [mark, "no", "yes"]
    new_bundle.config["training"] |= {
        "dataset": mark,
        "recipe": mark,
        mark: mark,
        "vectors": mark,
        "init_from": {
            **{"name": mark, "model": mark, "dataset": mark, "sha256": mark, "head": mark, "freeze": mark},
            **{"unfreeze": mark, "layer_decay": mark, "unfreeze_after": mark, "new_words": 3, "overlap": {mark: 2}},
        },
        "context": {"name": mark, "datasets": [mark], "overlap": {mark: 2}},
    }
    new_bundle.config["versions"] = {mark: mark}
    new_bundle.config["arguments"] = {**new_bundle.config["arguments"], mark: mark}
    rows = [{"label": name, "precision": 0.5, "recall": 0.5, "f1": 0.5, "texts": 20} for name in new_bundle.labels]
    wrong = [{"label": mark, "predicted": "no", "probability": 0.9, "text": mark}]
    new_bundle.evaluation = {
        **{"split": mark, "classes": rows, "labels": new_bundle.labels, "confusion": [[1, 2, 3]] * 3, "wrong": wrong},
        **{"calibration": [], "calibration_error": 0.1},
    }
    new_bundle.metrics = {"parameters": 5, "encoder_parameters": 3, "speed_of": mark, "chosen": mark, "tested_on": mark}
    return new_bundle


@pytest.mark.parametrize("mark", MARKS)
def test_a_card_and_a_report_show_a_strangers_text_and_do_not_obey_it(mark):
    from dense_lstm_zoo.classification.report import markdown

    plain, marked = hostile("plain"), hostile(mark)
    for page, benign in (
        (model_card(marked), model_card(plain)),
        (model_card(marked, use="use"), model_card(plain, use="use")),
        (markdown(marked.evaluation, f"{mark} on {mark}"), markdown(plain.evaluation, "plain on plain")),
    ):
        headings, kinds = parts_of(page)
        expected, benign_kinds = parts_of(benign)
        assert len(headings) == len(expected)
        assert kinds <= benign_kinds
        assert not UNSAFE.search(page)


@pytest.mark.parametrize("mark", MARKS)
def test_a_notebook_shows_a_strangers_text_and_does_not_obey_it(mark):
    page = hostile(mark)._repr_html_()
    assert "<script" not in page
    assert "<img" not in page
    assert not re.search(r"<b>(?!\w)", page.replace("<b>bilstm", ""))
    assert not UNSAFE.search(page)


FORMULAS = ['=HYPERLINK("http://a.example")', "@SUM(1)", "+1+cmd|' /C calc'!A0", "\t=1+1", "-2+3"]


@pytest.mark.parametrize("mark", slow_but({FORMULAS[0], "\t=1+1"}, FORMULAS))
def test_labels_and_names_are_no_formulas_in_a_csv_file(mark, tmp_path):
    new_bundle = bundle("bilstm")
    new_bundle.labels = [mark, "no", "yes"]
    new_bundle.save(tmp_path / "b")
    (tmp_path / "a.csv").write_text("text\ngood film\n")
    assert (
        main(["predict", str(tmp_path / "b"), "--file", str(tmp_path / "a.csv"), "--output", str(tmp_path / "o.csv")])
        == 0
    )
    with (tmp_path / "o.csv").open(newline="") as file:
        for row in csv.reader(file):
            assert not [cell for cell in row if re.match(r"\s*[=+@-](?![\d.]+$)", cell)]
