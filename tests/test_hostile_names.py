"""Names and metadata that would take over a terminal or a page: they are shown, and do nothing."""

import contextlib
import json
import os
import re
import subprocess
import sys

import pytest

from dense_lstm_zoo import describe
from dense_lstm_zoo.cli import main
from tests.bundle_harness import bundle, seal

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
    """Run a command; what it wrote on both streams, which is checked."""
    status = main([str(argument) for argument in arguments])
    written = capsys.readouterr()
    assert not UNSAFE.search((written.out + written.err).replace("\t", ""))
    assert not re.search(r"^\\x9b31m", written.out + written.err, re.MULTILINE)  # no line of the stranger's
    return status, written


def test_no_command_shows_control_characters_of_names_and_metadata(folder, capsys, tmp_path):
    status, written = run(capsys, "describe", folder)
    assert status == 0
    assert ESCAPED in written.out
    status, written = run(capsys, "predict", folder, "good film")
    assert status == 0
    out = tmp_path / NAME
    status, written = run(capsys, "export", folder, out, "--format", "onnx")
    assert (status, written.out.rstrip().endswith(ESCAPED)) == (0, True)
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
        written = capsys.readouterr()
        assert not UNSAFE.search((written.out + written.err).replace("\t", ""))


def test_a_refused_option_shows_no_control_characters(capsys):
    for arguments in ([f"--{NAME}"], [NAME], ["train", NAME], ["train", "bilstm", f"--{NAME}", "x"]):
        with contextlib.suppress(SystemExit):
            run(capsys, *arguments)
        written = capsys.readouterr()
        assert not UNSAFE.search(written.out + written.err)


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
