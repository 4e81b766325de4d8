"""Accuracy against milliseconds and megabytes: the zoo's presets beside what one would take instead.

Peers run in an environment of their own, which benchmarks/frontier/requirements.txt describes. A peer is trained on the
training texts, what it leaves open is chosen on dev, and it is scored once on test. Then it is loaded in a fresh
process, as our presets are (SavedModel and ONNX), and timed on the test texts. ``--teachers`` adds transformers that
presets have learnt from. Rows go to results/frontier.csv, the picture to results/frontier.png. From the repository's
root, with nothing else running:

    python3.11 -m venv peers && peers/bin/pip install -r benchmarks/frontier/requirements.txt
    python -m benchmarks.frontier --peers-python peers/bin/python --teachers runs/teachers/sst2_100000
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import dense_lstm_zoo as zoo
from benchmarks import tables, teacher_answers
from benchmarks.frontier import data, figure
from benchmarks.frontier.peer import accuracy
from benchmarks.frontier.peers import CLASSIFIERS, FINE_TUNED, PEERS, TAGGERS
from dense_lstm_zoo import checks, machine
from dense_lstm_zoo.measuring import folders
from dense_lstm_zoo.measuring.process import Worker, WorkerError
from dense_lstm_zoo_runtime import Predictor
from tuning import protocols

RESULTS = tables.ROOT / "results" / "frontier.csv"
KEY = ["dataset", "model", "kind"]
COMMAND = "python -m benchmarks.frontier --peers-python peers/bin/python"
DATASETS = ("sst2", "trec", "cr", "ewt_upos")
_TIMES = ("start_s", "p50_ms_1", "p99_ms_1", "p50_ms_32", "p99_ms_32", "peak_mb")


def run_peer(do: str, peer: str, python: str, **arguments: Any) -> dict[str, Any]:
    """Let a peer's process train or serve, and return its answer.

    Raises:
        RuntimeError: It failed. The message says why.
    """
    environment = {"PYTHONPATH": "", "TOKENIZERS_PARALLELISM": "false"}
    with Worker("benchmarks.frontier.worker", python=python, environment=environment) as worker:
        try:
            return worker.ask(do, peer=peer, **arguments)
        except WorkerError as error:
            raise RuntimeError(f"{peer}: {error}") from error


def peer_row(peer: str, python: str, parts: dict[str, Any], work: Path, repeats: int) -> dict[str, Any]:
    """Train a peer, load it again in a fresh process, and return its row."""
    folder = work / "model"
    folder.mkdir(parents=True)
    scores = run_peer("train", peer, python, folder=str(folder), parts=parts)
    costs = run_peer("serve", peer, python, folder=str(folder), texts=parts["test"][0], repeats=repeats)
    return {"model": peer, "kind": "", **scores, **costs, "disk_mb": folders.size_mb(folder)}


def teacher_row(folder: Path, python: str, parts: dict[str, Any], repeats: int) -> dict[str, Any]:
    """Load a teacher of benchmarks.transformer_teacher in a fresh process, and return its row."""
    about = teacher_answers.scores_of(folder)
    costs = run_peer("serve", FINE_TUNED, python, folder=str(folder), texts=parts["test"][0], repeats=repeats)
    scores = {f"{part}_accuracy": round(100 * about[f"{part}_accuracy"], 2) for part in ("dev", "test")}
    name = {"model": f"{about['encoder']}, fine-tuned", "kind": "", "settings": f"epochs={about['epochs']}"}
    return {**name, **scores, **costs, "disk_mb": folders.size_mb(folder / "model"), "train_s": ""}


def our_rows(preset: str, parts: dict[str, Any], work: Path, repeats: int) -> Iterator[dict[str, Any]]:
    """Export a preset in both ways, and yield their rows. An export holds its word vectors itself.

    The dev accuracy is the one the preset was chosen by: where a corpus has no dev texts, another seed draws others
    than ``parts`` has, some of which the preset may have learnt.
    """
    bundle: Any = zoo.from_preset(preset)
    exports = {"SavedModel": bundle.export(work / "saved_model" / "1")}
    exports["ONNX"] = bundle.export(work / "onnx", format="onnx", weights="float16")
    texts, right = parts["test"]
    strings = [text if isinstance(text, str) else " ".join(text) for text in texts]
    costs = zoo.measure(list(exports.values()), strings, repeats=repeats).to_dict("records")
    predictors = {"SavedModel": bundle, "ONNX": Predictor(exports["ONNX"])}
    for (kind, predictor), cost in zip(predictors.items(), costs, strict=True):
        if cost["error"]:
            raise RuntimeError(f"{preset}, {kind}: {cost['error']}")
        yield {
            **{"model": preset, "kind": kind, "settings": "", "versions": cost["versions"]},
            "dev_accuracy": round(100 * bundle.metrics["dev_accuracy"], 2),
            "test_accuracy": accuracy(_answers(predictor.predict(texts)), right),
            **{name: cost[name] for name in (*_TIMES, "disk_mb")},
            "train_s": "",
        }


def _answers(predictions: Sequence[Any]) -> list[Any]:
    return [list(prediction.tags) if hasattr(prediction, "tags") else prediction.label for prediction in predictions]


def presets_of(dataset: str) -> list[str]:
    """Return the presets that were trained on a corpus."""
    return [preset.name for preset in zoo.list_presets() if preset.corpus == dataset]


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.frontier",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("--peers-python", required=True, help="the Python of the peers' environment")
    options.add_argument("--datasets", nargs="+", default=DATASETS, help=f"default: {' '.join(DATASETS)}")
    options.add_argument("--peers", nargs="*", default=[*PEERS], metavar="PEER", help="default: all; none: ours alone")
    options.add_argument(
        "--teachers", nargs="*", default=[], type=Path, metavar="FOLDER", help="of benchmarks.transformer_teacher"
    )
    options.add_argument("--repeats", type=int, default=200, help="timed calls at each size (default: 200)")
    return options


def main(argv: Sequence[str] | None = None) -> None:
    """Measure every corpus, and write and draw the rows."""
    options = parser().parse_args(argv)
    with protocols.plain_errors():
        peers = [checks.one_of("peer", peer, PEERS) for peer in options.peers]
        if peers and not Path(options.peers_python).is_file():
            raise FileNotFoundError(f"--peers-python: {options.peers_python} does not exist.")
        teachers = {folder: teacher_answers.scores_of(folder)["dataset"] for folder in options.teachers}
        for folder, dataset in teachers.items():
            if dataset not in options.datasets:
                raise ValueError(f"{folder} is a teacher of {dataset}, which is not among --datasets.")
            teacher_answers.check_trained_on(folder, dataset, data.fold_of(dataset))
        corpora = {name: data.parts_of(name) for name in options.datasets}
        shared = {"processor": machine.processor(), "cores": machine.cores(), "repeats": options.repeats}
        shared["command"] = f"{COMMAND} --datasets {' '.join(options.datasets)}"
        if options.teachers:
            shared["command"] += f" --teachers {' '.join(folder.name for folder in options.teachers)}"
        for dataset, parts in corpora.items():
            fitting = TAGGERS if data.task_of(dataset) == "tagging" else CLASSIFIERS
            with tempfile.TemporaryDirectory() as work:
                for number, peer in enumerate(name for name in fitting if name in peers):
                    row = peer_row(peer, options.peers_python, parts, Path(work) / str(number), options.repeats)
                    _add(dataset, {**row, **shared})
                for folder in [folder for folder, name in teachers.items() if name == dataset]:
                    _add(dataset, {**teacher_row(folder, options.peers_python, parts, options.repeats), **shared})
                for preset in presets_of(dataset):
                    for row in our_rows(preset, parts, Path(work) / preset, options.repeats):
                        _add(dataset, {**row, **shared})
        figure.draw(RESULTS)
        figure.draw_overview(RESULTS)
        tables.update_pages()


def _add(dataset: str, row: dict[str, Any]) -> None:
    """Add a row to the results, and print it."""
    rounded = {name: round(row[name], 3) for name in _TIMES} | {"disk_mb": round(row["disk_mb"], 1)}
    result = {"dataset": dataset, **row, **rounded, "load_average": machine.load_average()}
    tables.merge(RESULTS, [result], KEY)
    score, milliseconds, size = (result[name] for name in ("test_accuracy", "p50_ms_1", "disk_mb"))
    name = f"{result['model']} {result['kind']}".strip()
    print(f"{dataset} {name}: {score} %, {milliseconds} ms, {size} MB", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
