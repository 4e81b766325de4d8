"""Shell completion, asked as bash asks through argcomplete."""

import json
import os
import subprocess
import sys

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.bundles import presets
from dense_lstm_zoo.cli import completion
from dense_lstm_zoo.cli.parser import parser

LINES = (
    "",
    "train dc_",
    "train bilstm --dataset tre",
    "train bilstm --dataset min",
    "train bilstm --recipe kim",
    "evaluate run --split ",
    "list re",
    "describe dc_",
    "train dc_bilstm --dataset demo --d",
    "train dense_lstm_lm --d",
)
# A process of its own, as argcomplete takes over its file descriptors.
SCRIPT = """
import io, json, os, sys
from dense_lstm_zoo.cli import completion
from dense_lstm_zoo.cli.parser import parser
completions_of_lines = {}
for line in json.loads(sys.argv[1]):
    command_line = f"dense-lstm-zoo {line}"
    os.environ.update({"COMP_LINE": command_line, "COMP_POINT": str(len(command_line))})
    assert completion.is_asked()
    written = io.StringIO()
    completion.complete(parser(), exit_method=lambda status: None, output_stream=written)
    completions_of_lines[line] = sorted(word.strip() for word in written.getvalue().split("\\n"))
print(json.dumps(completions_of_lines))
assert "keras" not in sys.modules
"""


@pytest.fixture(scope="module")
def completions(tmp_path_factory):
    """Return the completions of each line."""
    folder = tmp_path_factory.mktemp("completion")
    for name in ("mine.csv", "dc_file"):
        (folder / name).write_text("")
    environment = {**os.environ, "_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n"}
    command = [sys.executable, "-c", SCRIPT, json.dumps(LINES)]
    run = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(run.stdout)


def test_commands_names_and_files_are_completed(completions):
    assert {"train", "describe", "evaluate"} <= set(completions[""])
    assert completions["train dc_"] == ["dc_bilstm"]
    assert completions["train bilstm --dataset tre"] == ["trec", "trec_fine"]
    assert completions["train bilstm --dataset min"] == ["mine.csv"]
    assert completions["train bilstm --recipe kim"] == ["kim2014", "kim2014_fixed_vectors"]
    assert completions["evaluate run --split "] == ["dev", "test", "train"]
    assert completions["list re"] == ["recipes"]
    near = {name for name in (*zoo.list_models(), *zoo.list_recipes()) if name.startswith("dc_")}
    near |= {preset.name for preset in presets.list_presets("dc_*")}
    assert set(completions["describe dc_"]) == near | {"dc_file"}


def test_the_options_of_a_model_are_its_own(completions):
    options = set(completions["train dc_bilstm --dataset demo --d"])
    assert {"--dense-units", "--dropout", "--dev-file", "--dtype", "--dev-every"} <= options
    assert not {"--depth", "--directions", "--direction", "--dropout-sharing"} & options
    assert "--direction" in completions["train dense_lstm_lm --d"]


def test_without_the_package_nothing_happens(monkeypatch):
    monkeypatch.setitem(sys.modules, "argcomplete", None)
    completion.complete(parser())
