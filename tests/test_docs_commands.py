"""Commands of pages that read a model or a list run, over an untrained bundle and the presets.

Trainings and servers are run by tests of their own, such as those of the tutorial. All commands of all pages are parsed
in test_docs.py.
"""

import re
import shlex
from pathlib import Path

import pytest

from dense_lstm_zoo.cli import main
from tests import pages
from tests.bundle_harness import bundle

PAGES = ("choose", "commands", "start", "vectors")
ELSEWHERE = ("train", "serve")


def commands(page):
    """Return the words of each command that is run here."""
    blocks = pages.blocks(pages.ROOT / "docs" / f"{page}.md", "shell")
    lines = [shlex.split(line)[1:] for block in blocks for line in block.text.splitlines()]
    return [words for words in lines if words[0] not in ELSEWHERE]


def provide(words):
    """Make the models and files that a command reads."""
    for word in words[1:]:
        if re.match(r"(runs|exports)/[\w-]+$", word) and not Path(word).exists():
            model = bundle("bilstm")
            model.export(word, format="onnx") if word.startswith("exports/") else model.save(word)
    Path("mine.txt").write_text("the film was good\nit was bad\n", encoding="utf-8")


@pytest.mark.slow  # it exports models and reads presets
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_that_read_a_model_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(pages.ROOT / "presets" / "dense_lstm_zoo_presets"))
    assert len(commands(page)) > 1
    for words in commands(page):
        (tmp_path / "exports" if words[0] == "export" else tmp_path / "runs").mkdir(exist_ok=True)
        provide([word for word in words if words[0] != "export" or not word.startswith("exports/")])
        assert main(words) == 0, (words, capsys.readouterr().err)
