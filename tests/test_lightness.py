"""Imports, listings and errors load no heavy library, so they answer at once."""

import subprocess
import sys
from pathlib import Path

import pytest

LISTING = """
import contextlib, io
import dense_lstm_zoo as zoo
from dense_lstm_zoo.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    [str(zoo.describe(model)) for model in zoo.list_models()]
    main(["list"]), main(["describe", "bilstm"]), main(["--help"])
"""
FAILING = """
from dense_lstm_zoo.cli import main
from dense_lstm_zoo.cli.command import COMMANDS
def fail(**options):
    raise RuntimeError("x")
COMMANDS["train"].run = fail
assert main(["train", "bilstm", "--dataset", "demo", "--run-dir", "x"]) == 1
"""
TEACHING = """
import tempfile, dense_lstm_zoo as zoo
def teacher(texts):
    return [[0.5, 0.5]] * len(texts)
with tempfile.TemporaryDirectory() as folder:
    options = {"dataset": "demo", "augment": 1, "progress": False}
    zoo.teach(teacher, ["A film that nobody has seen."], output=f"{folder}/soft.csv", **options)
"""
# A program, and the libraries that it must not load.
PROGRAMS = {
    "lists and descriptions": (LISTING, "tensorflow keras pandas numpy keras_tuner sklearn"),
    "a command that fails": (FAILING, "tensorflow"),
    "classification corpora": (
        "import dense_lstm_zoo.corpora.loader, dense_lstm_zoo.data.tables",
        "tensorflow keras pandas numpy",
    ),
    "language corpora": ("import dense_lstm_zoo.language.corpus", "tensorflow"),
    "tagging corpora": ("from dense_lstm_zoo.tagging import corpora, demo", "keras"),
    "benchmarks": ("import benchmarks.speed.__main__, benchmarks.tables", "tensorflow"),
    "estimators": ("from dense_lstm_zoo.sklearn import TextClassifier\nTextClassifier(units=3)", "tensorflow keras"),
    "teaching by a function": (TEACHING, "tensorflow keras"),
    "the runtime's rules": ("import dense_lstm_zoo_runtime.rules", "onnxruntime numpy re2"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_loads_no_heavy_library(name):
    program, libraries = PROGRAMS[name]
    report = f"import sys; print(sorted({set(libraries.split())} & set(sys.modules)))"
    root = Path(__file__).parents[1]
    command = [sys.executable, "-c", f"{program}\n{report}"]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
