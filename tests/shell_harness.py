"""A reader who types the commands of a page in a folder: with the files and runs that it supposes, and small data.

Published corpora are 100 examples of the demo corpus under their own names, and each training is one short epoch. So a
command is typed as it stands in the page, and only what it takes is small.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import time
import urllib.request
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dense_lstm_zoo import tasks
from dense_lstm_zoo.cli import main
from dense_lstm_zoo.models import registry
from tests import pages, vector_files
from tests.fleet_harness import free_address
from tests.several_labels_harness import examples
from tests.tagged_files import write_split

PRESETS = pages.ROOT / "presets" / "dense_lstm_zoo_presets"
PARTS = {"train": 80, "dev": 20, "test": 20}
PATIENCE = 900  # seconds that a command of its own process has

# What keeps a training short, whatever a page asks for. Options on the command line come last and count.
SHORTER = {
    "train": ["--epochs", "1", "--batch-size", "20", "--kernel", "native"],
    "self-train": ["--epochs", "1", "--batch-size", "20", "--kernel", "native", "--models", "1"],
    "tune": ["--epochs", "1", "--kernel", "native", "--trials", "2"],
    "measure": ["--repeats", "2"],
}

# Runs and exports that a page speaks of without making them, each with the command before it.
BEFORE = {
    "exports/reviews-onnx": "export runs/reviews exports/reviews-onnx --format onnx",
    "exports/trec-onnx": "export runs/trec exports/trec-onnx --format onnx",
    "exports/trec/1": "export runs/trec exports/trec/1",
    "runs/a": "train bilstm --train-file texts.csv",
    "runs/b": "train lstm --train-file texts.csv",
    "runs/backward": "train dense_lstm_lm --dataset demo --recipe reviews_lm --direction backward",
    "runs/bilstm_folds": "train bilstm --train-file texts.csv --folds 2",
    "runs/dc": "train dc_bilstm --dataset trec --dev-every 2",
    "runs/demo": "train bilstm --dataset demo",
    "runs/di": "train di_bilstm --dataset trec --dev-every 2",
    "runs/encoder": "join-lm runs/forward runs/backward --output runs/encoder",
    "runs/forward": "train dense_lstm_lm --dataset demo --recipe reviews_lm",
    "runs/large": "train bilstm --train-file texts.csv",
    "runs/lstm_folds": "train lstm --train-file texts.csv --folds 2",
    "runs/meals": "train bilstm --train-file meals.jsonl",
    "runs/places": "train bilstm_tagger --train-file spans.conll --crf true",
    "runs/reviews": "train bilstm --train-file reviews.csv --text-column review --label-column stars",
    "runs/trec": "train dc_bilstm --dataset trec",
    "runs/upos": "train gated_skip_tagger --dataset ewt_upos",
}
OUTPUTS = ("--run-dir", "--output", "-o", "--report", "--errors")  # options with what a command makes
_DEMO = {task.name: task.sources["demo"].read for task in tasks.every()}


@functools.cache
def demo(task: str, name: str = "demo") -> Any:
    """A part of a demo corpus, under the name of another, and of treebanks all tags."""
    corpus = replace(_DEMO[task]("demo", []).first_texts(PARTS), name=name)
    if name == "ewt_upos":
        train = corpus.train
        others = replace(train, tokens=[*train.tokens, ["oh", "$", "etc"]], tags=[*train.tags, ["INTJ", "SYM", "X"]])
        return replace(corpus, train=others)
    return corpus


def table(start: int = 0) -> list[dict[str, Any]]:
    """Rows with each column that a page names. Labels and stars say the same."""
    corpus = _DEMO["classification"]("demo", [])
    split = list(zip(corpus.train.texts, corpus.train.labels, strict=True))[start : start + 120]
    return [{"text": x, "label": corpus.label_names[y], "review": x, "stars": 1 + 4 * y} for x, y in split]


def csv(rows: list[dict[str, Any]]) -> str:
    lines = [list(rows[0]), *(row.values() for row in rows)]
    return "".join(",".join(json.dumps(str(cell)) for cell in line) + "\n" for line in lines)


def json_lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def lines(start: int = 0) -> str:
    return "".join(f"{row['text']}\n" for row in table(start)[:100])


def tagged() -> str:
    return write_split(demo("tagging").train)


def conllu() -> str:
    split = demo("tagging").test
    rows = [
        [f"{i}\t{word}\t_\t{tag}\t_\t_\t0\troot\t_\t_\n" for i, (word, tag) in enumerate(zip(*pair, strict=True), 1)]
        for pair in zip(split.tokens, split.tags, strict=True)
    ]
    return "".join("".join(sentence) + "\n" for sentence in rows)


def vectors(dimension: int) -> str:
    words = sorted({word for text in demo("classification").train.texts for word in text.lower().split()})
    return "".join(f"{line}\n" for line in vector_files.some_lines(words, dimension))


def meals(join: str | None) -> list[dict[str, Any]]:
    rows = [(text, labels) for text, labels in examples(120, 1) if labels or not join]
    return [{"text": text, "label": join.join(labels) if join else labels} for text, labels in rows]


def comments() -> list[dict[str, Any]]:
    names = {"toxic": "food", "insult": "price", "threat": "staff"}
    return [{"text": x, **{name: int(y in labels) for name, y in names.items()}} for x, labels in examples(120, 1)]


SPANS = "She O\nlives O\nin O\nNew B-LOC\nYork I-LOC\n\nRome B-LOC\nis O\nold O\n\n" * 30
FILES: dict[str, Callable[[], str]] = {
    "reviews.csv": lambda: csv([{"review": row["review"], "stars": row["stars"]} for row in table()]),
    **dict.fromkeys(("texts.csv", "few.csv", "data/1.csv"), lambda: csv(table())),
    "mine.csv": lambda: csv(table(600)),  # for runs that go on from one of a corpus, other texts than those
    **dict.fromkeys(("labelled.csv", "test.csv"), lambda: csv(table(200))),
    **dict.fromkeys(("raw.txt", "mine.txt", "mine.txt.gz", "other.txt", "questions.txt"), lambda: lines(400)),
    **dict.fromkeys(("mine.conll", "train.txt", "test.txt"), tagged),
    **dict.fromkeys(("glove.42B.300d.zip", "glove.6B.300d.zip", "cc.fr.300.vec.gz"), lambda: vectors(300)),
    "imdb.300d.txt.gz": lambda: vectors(300),
    "glove.6B.100d.zip": lambda: vectors(100),
    "comments.csv": lambda: csv(comments()),
    "data/1.jsonl": lambda: json_lines(table()),
    "meals.csv": lambda: csv(meals("|")),
    "meals.jsonl": lambda: json_lines(meals(None)),
    "mine.conllu": conllu,
    "notes.txt": lambda: "She lives in New York\nRome is old\n",
    "reviews.txt": lambda: lines(),
    "spans.conll": lambda: SPANS,
}


def write(path: Path, text: str) -> None:
    """Write a file in the form that its name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"{path.stem}.txt", text)
    else:
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def wait_for(address: str) -> None:
    for _ in range(3000):
        with contextlib.suppress(OSError), urllib.request.urlopen(address) as answer:
            if answer.status == 200:
                return
        time.sleep(0.1)
    raise TimeoutError(address)


class Shell:
    """Types commands in a folder, each in a process of its own. A server stays until the next one, or ``close``."""

    def __init__(self, folder: Path) -> None:
        self.port = free_address().rpartition(":")[2]
        environment = {"DENSE_LSTM_ZOO_PRESETS": str(PRESETS), "COLUMNS": "200"}
        environment["PYTHONPATH"] = os.pathsep.join([str(pages.ROOT), str(pages.ROOT / "dense_lstm_zoo_runtime")])
        self.options: dict[str, Any] = {"cwd": folder, "env": {**os.environ, **environment}, "text": True}
        self.server: subprocess.Popen[str] | None = None

    def type(self, command: str) -> tuple[str, int]:
        """Return what a command prints on both streams, and its exit status."""
        for name, module in (("dense-lstm-zoo", "-m dense_lstm_zoo"), ("python", "")):
            if command.startswith(f"{name} "):
                command = f"{shlex.quote(sys.executable)} {module} {command.partition(' ')[2]}"
        command = re.sub(r"\b80[08]0\b", self.port, command)
        if re.search(r"[ .]serve ", command):
            self.close()
            port = "" if " --port " in command else f" --port {self.port}"
            self.server = subprocess.Popen(["sh", "-c", f"exec {command}{port}"], **self.options)
            wait_for(f"http://127.0.0.1:{self.port}/readyz")
            return "", 0
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        run = subprocess.run(["sh", "-c", command], timeout=PATIENCE, **streams, **self.options)
        return run.stdout, run.returncode

    def close(self) -> None:
        if self.server:
            self.server.terminate()
            self.server.wait(30)
        self.server = None


class Reader:
    """Types the commands of a page, those of the zoo within this process, after what makes their files and runs."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shell = Shell(folder)
        monkeypatch.chdir(folder)
        monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(PRESETS))
        for task in tasks.every():
            read = functools.partial(_read, task.name)
            small = {
                name: replace(x, files=(), prepare=None, locate=None, read=read) for name, x in task.sources.items()
            }
            for name, source in small.items():
                monkeypatch.setitem(task.sources, name, source)

    def type(self, command: str) -> None:
        """Run a command, and fail if it does."""
        words = shlex.split(command, comments=True)
        self._provide(words)
        if words[0] != "dense-lstm-zoo" or words[1] in ("serve", "tune"):  # whose processes know no small corpora
            shorter = [] if words[0] != "dense-lstm-zoo" else _shorter(words)
            output, status = self.shell.type(shlex.join([*words, *shorter]) if "<" not in words else command)
            assert status == 0, f"{command}\n\n{output}"
        else:
            assert main([*words[1:], *_shorter(words)]) == 0, command

    def _provide(self, words: list[str]) -> None:
        """Make the files and folders that a command reads, where no command before it has."""
        inputs = [word for option, word in itertools.pairwise(words) if option not in OUTPUTS]
        if words[1] == "export":
            del inputs[2]  # its target
        for word in inputs:
            for name in (file for file in FILES if word and Path(file).match(word) and not Path(file).exists()):
                write(Path(name), FILES[name]())
            for name in {word, str(Path(word).parent)} & set(BEFORE):  # a run, or a file of it
                if not Path(name).exists():
                    end = f" --run-dir {name}" if BEFORE[name].startswith("train") else ""
                    self.type(f"dense-lstm-zoo {BEFORE[name]}{end}")


def _shorter(words: list[str]) -> list[str]:
    """Return the options that make a command cheaper."""
    names = set(words)
    if words[1] not in SHORTER or names & {"--effort", "--config"}:  # they set all of it themselves
        return []
    options = [] if "few_labels" in names else list(SHORTER[words[1]])
    if names & {"fine_tuning", "--unfreeze-after", "--dev-every"}:
        options += ["--epochs", "4"]  # one for each layer, and as many as these options need
    if words[1] != "measure" and registry.entry(words[2]).task != "language_model":
        options += [] if names & {"--init-from", "none"} else ["--vector-words", "500"]
    return options


def _read(task: str, name: str, paths: list[Path]) -> Any:
    return demo(task, name)
