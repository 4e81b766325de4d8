"""Batch jobs over small files: tiny exports, input files of each format, and what a job wrote."""

import json
from pathlib import Path

from dense_lstm_zoo.batch.job import Job, run
from tests.bundle_harness import bundle

TEXTS = ["The film was n't good", "", "It's a very LONG café , very very long", "bad !", "short", "a zzz film " * 9]


def exports(folder: Path) -> dict:
    """Write ONNX exports of two untrained bundles. Return each folder and its bundle, by model."""
    bundles = {name: bundle(name) for name in ("bilstm", "bilstm_tagger")}
    return {name: (bundle.export(folder / name, format="onnx"), bundle) for name, bundle in bundles.items()}


def predict(model, source, output, *arguments, **options):
    """Run a job in this process over a file or a pattern."""
    return run(Job(input=[str(source)], output=str(output), model=str(model), **options), arguments)


def lines_of(output: Path, kind: str = "part") -> list[dict]:
    """The JSON lines of all shards of a kind, in order."""
    paths = sorted(output.glob(f"{kind}-*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


def left_in(folder: Path) -> list[str]:
    """The names of what is in a folder, hidden files too."""
    return sorted(entry.name for entry in folder.iterdir())
