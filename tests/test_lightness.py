"""Imports, listings and errors load no heavy library, so they answer at once."""

import json
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


# One process runs the programs, those that may load fewest libraries first. After each it says which are there.
ALL = """
import json, sys
programs, libraries = json.load(sys.stdin)
for name, program in programs.items():
    exec(program, {})
    print(json.dumps([name, sorted(set(libraries) & set(sys.modules))]))
"""


@pytest.fixture(scope="module")
def loaded():
    """The heavy libraries that are there after each program."""
    programs = {name: PROGRAMS[name][0] for name in sorted(PROGRAMS, key=lambda name: "numpy" not in PROGRAMS[name][1])}
    libraries = sorted({library for _, names in PROGRAMS.values() for library in names.split()})
    run = subprocess.run(
        [sys.executable, "-c", ALL],
        input=json.dumps([programs, libraries]),
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(line) for line in run.stdout.splitlines())


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_loads_no_heavy_library(name, loaded):
    assert not set(PROGRAMS[name][1].split()) & set(loaded[name])
