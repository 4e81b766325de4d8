"""The cost of serving without TensorFlow: a bundle, its SavedModel and its ONNX exports, one after another.

Each is measured by ``zoo.measure`` in a fresh process. Accuracy is that on the dev texts of the corpus that the model
was trained on. ``W`` is an untrained DC-Bi-LSTM 15 x 13 + 100 on vectors of 300 numbers, with texts of 30 words.
Rows go to results/onnx_export.csv. From the repository's root, with nothing else running:

    python -m benchmarks.onnx_export W dc_bilstm_sst2 dc_bilstm_trec gated_skip_tagger_ewt_upos
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import dense_lstm_zoo as zoo
from benchmarks import tables
from dense_lstm_zoo.data.word_table import installed_tables
from dense_lstm_zoo_runtime import Predictor
from presets.build import corpus_of
from tuning import protocols

RESULTS = tables.ROOT / "results" / "onnx_export.csv"
WEIGHTS = ("float32", "float16", "int8")
KEY = ["model", "kind", "weights"]
_COSTS = ("start_s", "p50_ms_1", "p99_ms_1", "p50_ms_32", "p50_ms_200", "texts_per_s", "peak_mb", "disk_mb")
_ABOUT = ("words_per_text", "repeats", "processor", "cores", "load_average", "versions")
_WORDS, _CLASSES, _STEPS = 20_000, 2, 30


def workload() -> tuple[Any, list[str], list[Any]]:
    """Return the untrained model W, as a bundle, and 1,000 texts of 30 words. There are no labels."""
    import pandas as pd

    from dense_lstm_zoo import tasks
    from dense_lstm_zoo.classification.vocabulary import Vocabulary
    from dense_lstm_zoo.models import registry

    words = tuple(f"w{number}" for number in range(_WORDS - 2))
    text = {"num_frozen_words": 0, "oov": "unk", "chars": ""}
    arguments = registry.resolve("dc_bilstm", {"vocab_size": _WORDS, "num_classes": _CLASSES})
    config = {"task": "classification", "model": "dc_bilstm", "arguments": arguments, "text": text}
    config |= {"training": {"dataset": "none", "seed": 1}, "versions": {}}
    history = pd.DataFrame(columns=["epoch", "loss"])
    bundle = tasks.find("classification").bundle_class(
        zoo.build("dc_bilstm", **arguments), config, Vocabulary(words, **text), ["no", "yes"], {}, history
    )
    word_ids = np.random.default_rng(1).integers(0, len(words), (1000, _STEPS))
    return bundle, [" ".join(words[i] for i in row) for row in word_ids], []


def trained(source: str) -> tuple[Any, list[Any], list[Any]]:
    """Return a bundle, and the dev texts, or token lists, of its corpus with their labels or tags."""
    bundle: Any = zoo.from_preset(source)
    corpus = corpus_of(bundle)
    dev = corpus.dev
    if bundle.task.name == "tagging":
        return bundle, list(dev.tokens), list(dev.tags)
    return bundle, list(dev.texts), [corpus.label_names[label] for label in dev.labels]


def answers(predicted: Sequence[Any]) -> tuple[list[Any], np.ndarray]:
    """Return labels or tags, and the probabilities of each, of predictions."""
    if hasattr(predicted[0], "tags"):
        return [tag for prediction in predicted for tag in prediction.tags], np.concatenate(
            [prediction.probabilities for prediction in predicted]
        )
    return [prediction.label for prediction in predicted], np.array(
        [list(prediction.probabilities.values()) for prediction in predicted]
    )


def rows(name: str, work: Path, repeats: int) -> list[dict[str, Any]]:
    """Export a model in every way, and return a row for each, with its accuracy, differences and costs."""
    bundle, texts, labels = workload() if name == "W" else trained(name)
    shared = bundle.config["training"].get("vectors") in installed_tables()
    name = Path(name).name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # W has no scores
        folders: dict[tuple[str, str], Path] = {("bundle", "float32"): bundle.save(work / name / "bundle")}
    folders["export", "float32"] = bundle.export(work / name / "saved_model" / "1")
    for weights in WEIGHTS:
        options: dict[str, Any] = {"format": "onnx", "weights": weights, "shared_words": shared}
        folders["onnx", weights] = bundle.export(work / name / weights, **options)
    expected, shares = answers(bundle.predict(texts))
    right = [label for answer in labels for label in answer] if bundle.task.name == "tagging" else labels
    strings = [text if isinstance(text, str) else " ".join(text) for text in texts]
    costs = zoo.measure(list(folders.values()), strings, repeats=repeats).to_dict("records")
    model_rows = []
    for ((kind, weights), folder), cost in zip(folders.items(), costs, strict=True):
        if cost["error"]:
            raise RuntimeError(f"{folder} could not be measured: {cost['error']}")
        predictions, probabilities = (expected, shares) if kind != "onnx" else answers(Predictor(folder).predict(texts))
        row = {"model": name, "kind": kind, "weights": weights, "dev_texts": len(texts) if labels else ""}
        if kind != "export":
            hits = [answer == other for answer, other in zip(predictions, right, strict=True)] if right else []
            row["accuracy"] = round(100 * float(np.mean(hits)), 2) if hits else ""
            row["answers_that_differ"] = sum(
                answer != other for answer, other in zip(predictions, expected, strict=True)
            )
            row["largest_difference"] = f"{np.abs(probabilities - shares).max():.1e}"
        row |= {column: cost[column] for column in _COSTS}
        row |= {column: cost[column] for column in _ABOUT}
        model_rows.append(row)
    return model_rows


def main() -> None:
    """Measure each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL", help="W, a preset's name or a bundle's folder")
    parser.add_argument("--repeats", type=int, default=100, help="timed calls at each size (default: 100)")
    options = parser.parse_args()
    command = " ".join(["python -m benchmarks.onnx_export", *sys.argv[1:]])
    with protocols.plain_errors(), tempfile.TemporaryDirectory() as work:
        for name in options.models:
            model_rows = [{**row, "command": command} for row in rows(name, Path(work), options.repeats)]
            tables.merge(RESULTS, model_rows, KEY)
            print(*model_rows, sep="\n", flush=True)


if __name__ == "__main__":
    main()
