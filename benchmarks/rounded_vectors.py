"""The cost of one byte per number: trained models with the zoo's vectors before and after rounding, on dev texts.

WORK is the work folder of ``presets.vectors``, which holds the vectors before rounding. From the repository's root:

    python -m benchmarks.rounded_vectors WORK runs/presets/dc_bilstm_sst2/seed1 runs/presets/dc_bilstm_trec/seed1
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import dense_lstm_zoo as zoo
from benchmarks import tables
from presets import vectors
from tuning import protocols

RESULTS = tables.ROOT / "results" / "rounded_vectors.csv"


def with_vectors(bundle: Any, words: list[str], matrix: np.ndarray) -> None:
    """Give a model's words their rows of a matrix. Other words keep their vectors."""
    layer = next(layer for layer in bundle.network.layers if layer.name == "embedding")
    rows = {word: row for row, word in enumerate(words)}
    pairs = [(i, rows[word]) for i, word in enumerate(bundle.vocabulary.words, start=2) if word in rows]
    ids, row_ids = map(list, zip(*pairs, strict=True))
    full = layer.get_matrix()
    full[ids] = matrix[row_ids]
    layer.set_matrix(full)


def compare(run: Path, words: list[str], matrix: np.ndarray, work: Path) -> dict[str, Any]:
    """Return a row: dev accuracy with rounded and with unrounded vectors, and how many labels differ."""
    bundle: Any = zoo.load(run)
    training = bundle.config["training"]
    corpus = zoo.load_corpus(training["dataset"])
    if corpus.test is None:
        raise ValueError(f"{training['dataset']} has no test texts: which of its texts {run} has read is not recorded.")
    dev = corpus.with_dev(seed=training["seed"]).dev
    assert dev is not None
    rounded = bundle.probabilities(dev.texts)
    with_vectors(bundle, words, matrix)
    unrounded = bundle.probabilities(dev.texts)
    labels = np.asarray(dev.labels)
    accuracies = [round(100 * float((shares.argmax(1) == labels).mean()), 2) for shares in (rounded, unrounded)]
    return {
        "dataset": training["dataset"],
        "model": bundle.config["model"],
        "dev_texts": len(dev),
        "rounded": accuracies[0],
        "unrounded": accuracies[1],
        "labels_that_differ": int((rounded.argmax(1) != unrounded.argmax(1)).sum()),
        "largest_difference": f"{np.abs(rounded - unrounded).max():.4f}",
        "versions": protocols.read_versions(bundle.config),
        "command": f"python -m benchmarks.rounded_vectors {work} {run}",
    }


def main() -> None:
    """Compare each run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("runs", type=Path, nargs="+")
    options = parser.parse_args()
    words, reviews, distilled = vectors.halves(options.work, "zeros")
    matrix = np.concatenate([reviews, distilled], axis=1)
    rows = [compare(run, words, matrix, options.work) for run in options.runs]
    tables.merge(RESULTS, rows, ["dataset", "model"])
    print(*rows, sep="\n")


if __name__ == "__main__":
    with protocols.plain_errors():
        main()
