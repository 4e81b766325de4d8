"""The runtime needs neither TensorFlow nor dense_lstm_zoo: imports blocked, and an environment of its own."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from tests import pages
from tests.bundle_harness import bundle
from tests.preset_harness import with_vectors, write_table

BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"tensorflow", "tensorflow_text", "keras", "pandas", "onnx", "dense_lstm_zoo"}:
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocked())
import runpy
runpy.run_module("dense_lstm_zoo_runtime", run_name="__main__")
"""
TEXTS = ["good film", "It wasn't bad!", "", "café ½ “x”"]


def test_it_predicts_where_tensorflow_and_the_zoo_cannot_be_imported(tmp_path):
    new_bundle = bundle("bilstm")
    new_bundle.export(tmp_path / "export", format="onnx")
    ran = subprocess.run(
        [sys.executable, "-c", BLOCKED, "--json", str(tmp_path / "export"), *TEXTS], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [row["label"] for row in rows] == [row.label for row in new_bundle.predict(TEXTS)]


@pytest.mark.slow
def test_two_distributions_are_enough_to_answer(tmp_path, monkeypatch):
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(tmp_path / "own"))
    new_bundle = with_vectors(write_table(tmp_path / "own"))
    new_bundle.save(tmp_path / "own" / "models" / "films")
    new_bundle.export(tmp_path / "own" / "models" / "films" / "onnx", format="onnx", shared_words=True)
    expected = [(row.label, f"{row.probability:.4f}") for row in new_bundle.predict(TEXTS)]
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for name in ("dense_lstm_zoo_runtime", "presets"):  # copies: pip leaves a folder named build
        shutil.copytree(pages.ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("build", "*.egg-info"))
    subprocess.run([*install, tmp_path / "dense_lstm_zoo_runtime", tmp_path / "presets"], check=True)
    packages = subprocess.run([python, "-m", "pip", "list"], capture_output=True, text=True, check=True).stdout
    assert "tensorflow" not in packages
    assert "dense-lstm-zoo " not in packages
    ran = subprocess.run(
        [python, "-m", "dense_lstm_zoo_runtime", "films", *TEXTS], capture_output=True, text=True, cwd=tmp_path / "venv"
    )
    assert ran.returncode == 0, ran.stderr
    assert [tuple(line.split("\t")[:2]) for line in ran.stdout.splitlines()] == expected
    # The installed distribution of presets is found without the variable.
    bare = {name: value for name, value in os.environ.items() if name != "DENSE_LSTM_ZOO_PRESETS"}
    code = "from dense_lstm_zoo_runtime.word_table import installed_tables as t; print(sorted(t()))"
    ran = subprocess.run([python, "-c", code], capture_output=True, text=True, cwd=tmp_path / "venv", env=bare)
    assert ran.stdout.strip() == "['zoo_300d', 'zoo_600d']", ran.stderr
