"""Self-training with few labels, beside the same model on the labels alone and beside the recipe few_labels.

For each number of labels, the first texts of a draw are labelled, as in ``benchmarks.few_labels``, and the others are
sentences of IMDB's unlabelled reviews (``--raw``), or with ``--rest`` the training texts that are left, without their
labels. ``zoo.self_train`` holds a tenth of the labelled texts out as dev and stops where a round does not gain there.
Its first round is the training on the labels alone, and the round that is best on dev is the one that counts, which may
be the first. Both are means over the models of a round. The recipe has all of the labels and no dev texts. Nothing is
chosen on test. Rows go to results/self_training.csv, and a repeated command leaves out the draws that are there. From
the repository's root:

    python -m benchmarks.self_training sst2 trec --labels 150 500 --raw 20000
"""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import dense_lstm_zoo as zoo
from benchmarks import few_labels, raw_sentences
from dense_lstm_zoo import checks, display, machine
from dense_lstm_zoo.classification.corpus import Corpus
from tuning import protocols, result_files
from tuning.table_cells import mean_of

RESULTS = result_files.ROOT / "results" / "self_training.csv"
KEY = ["dataset", "model", "settings", "way", "labels", "raw", "rounds", "models", "threshold", "draw"]
ALONE, ROUNDS, RECIPE = "labels alone", "self-training", "few_labels"
_INTRODUCTION = (
    "### Self-training\n\n"
    "Few labels and many other texts: [self-training](../docs/teaching.md#your-own-models-as-teachers) beside the same "
    "model on the labels alone and beside the recipe few_labels: test accuracy, with the standard deviation "
    "over draws of the labelled texts."
)


def parts(corpus: Corpus, size: int, draw: int) -> tuple[Corpus, list[str]]:
    """Return a corpus of a draw's first texts, and the texts that are left."""
    _, order = few_labels.orders(np.array(corpus.train.labels), draw)
    own, rest = (corpus.train.select(places.tolist()) for places in (order[:size], order[size:]))
    return dataclasses.replace(corpus, train=own, dev=None), list(rest.texts)


def accuracies(options: argparse.Namespace, corpus: Corpus, raw: list[str], draw: int) -> Iterator[dict[str, Any]]:
    """Yield way, number of training texts, test accuracy, round and seconds of each way to train."""
    settings = {"vectors": options.vectors, "baseline": False, "progress": False}
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        result = zoo.self_train(
            options.model,
            corpus,
            raw,
            Path(folder) / "rounds",
            rounds=options.rounds,
            models=options.models,
            threshold=options.threshold,
            seed=draw,
            epochs=options.epochs,
            **settings,
            **protocols.parse_settings(options.set),
        )
        seconds = time.perf_counter() - began
        for way, number in ((ALONE, 0), (ROUNDS, result.best_round)):
            row = result.rounds.iloc[number]
            yield _figures(way, row["texts"], row["test"], number, seconds if way == ROUNDS else None)
        began = time.perf_counter()
        recipe = zoo.train("bilstm", corpus, Path(folder) / "recipe", recipe=RECIPE, seed=draw, **settings)
        accuracy = recipe.metrics["test_accuracy"]
        yield _figures(RECIPE, len(corpus.train), accuracy, None, time.perf_counter() - began)


def _figures(way: str, texts: Any, accuracy: float, best: int | None, seconds: float | None) -> dict[str, Any]:
    return {
        **{"way": way, "texts": int(texts), "accuracy": round(100 * float(accuracy), 2)},
        "best_round": "" if best is None else best,
        "seconds": "" if seconds is None else round(seconds, 1),
    }


def measure(options: argparse.Namespace, corpus: Corpus) -> Iterator[dict[str, Any]]:
    """Yield the rows of a corpus: of each number of labels and each draw, one for each way."""
    flags = ("labels", "raw", "rounds", "models", "threshold", "epochs", "draws", "model", "vectors", "set")
    command = f"python -m benchmarks.self_training {corpus.name}{' --rest' * options.rest}"
    for flag in flags:
        value = getattr(options, flag)
        if value:
            words = (
                map(str, value) if isinstance(value, list) else [f"{value:g}" if flag == "threshold" else str(value)]
            )
            command += f" --{flag} {' '.join(words)}"
    raw = raw_sentences.draw(options.raw, seed=1) if options.raw else []
    for size in options.labels:
        for draw in range(1, options.draws + 1):
            own, rest = parts(corpus, size, draw)
            others = [*raw, *(rest if options.rest else [])]
            about = {
                **{"dataset": corpus.name, "model": options.model, "settings": " ".join(options.set)},
                **{"labels": size, "raw": len(others), "rounds": options.rounds, "models": options.models},
                **{"threshold": options.threshold, "draw": draw},
            }
            if result_files.has_row(RESULTS, {**about, "way": RECIPE}, KEY):  # the last one of a draw
                continue
            for figures in accuracies(options, own, others, draw):
                yield {
                    **about,
                    **figures,
                    "versions": protocols.read_versions({"versions": machine.versions()}),
                    **{"processor": machine.processor(), "cores": machine.cores(), "command": command},
                }


def table() -> str:
    """Return the table: a line for each corpus, model and way, a column for each number of labels. Empty without rows.

    The column "rounds" has the mean round that was best on dev, where 0 is the one on the labels alone.
    """
    if not RESULTS.is_file():
        return ""
    rows = result_files.read_rows(RESULTS)
    sizes = sorted({int(size) for size in rows.labels})
    cells = []
    rows["others"] = [
        "the other training texts" if " --rest" in command else f"{int(raw):,} other texts"
        for command, raw in zip(rows.command, rows.raw, strict=True)
    ]
    for (dataset, model, settings, others), own in rows.groupby(["dataset", "model", "settings", "others"], sort=False):
        for way in (ALONE, ROUNDS, RECIPE):
            of_way = own[own.way == way]
            name = RECIPE if way == RECIPE else " ".join(filter(None, [model, settings]))
            trained_on = {ROUNDS: f"labels and {others}"}.get(way, "labels")
            by_size = [mean_of([*map(float, of_way[of_way.labels == str(size)].accuracy)], 1) for size in sizes]
            cells.append((dataset, name, trained_on, *by_size))
    header = ["corpus", "model", "trained on", *(f"{size:,} labels" for size in sizes)]
    return "\n".join([_INTRODUCTION, "", display.table(header, cells), "", result_files.sources(rows)])


@protocols.plain_errors()
def main(argv: list[str] | None = None) -> None:
    """Measure what self-training is worth."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.self_training",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("dataset", nargs="+", help="corpora with test texts, such as sst2 trec")
    parser.add_argument("--labels", type=int, nargs="+", default=[150, 500], metavar="N", help="(default: 150 500)")
    parser.add_argument("--raw", type=int, default=0, metavar="N", help="sentences of raw reviews (default: 0)")
    parser.add_argument("--rest", action="store_true", help="the training texts that are left, without their labels")
    parser.add_argument("--model", default="bilstm", help="a model (default: bilstm)")
    parser.add_argument(
        "--set", nargs="+", default=[], metavar="NAME=VALUE", help="arguments of train, such as units=64"
    )
    parser.add_argument("--vectors", default="zoo_600d", help="word vectors, or none (default: zoo_600d)")
    parser.add_argument("--rounds", type=int, default=2, help="at most, after the first (default: 2)")
    parser.add_argument("--models", type=int, default=3, help="of a round (default: 3)")
    parser.add_argument("--threshold", type=float, default=0.9, help="(default: 0.9)")
    parser.add_argument("--epochs", type=int, default=30, help="at most (default: 30)")
    parser.add_argument("--draws", type=int, default=3, help="of the labelled texts (default: 3)")
    options = parser.parse_args(argv)
    for name in ("rounds", "models", "epochs", "draws"):
        checks.integer(f"--{name}", getattr(options, name))
    for size in options.labels:
        checks.integer("--labels", size, minimum=few_labels.SIZES[0])
    checks.integer("--raw", options.raw, minimum=0)
    checks.share("--threshold", options.threshold)
    protocols.parse_settings(options.set)
    if not options.raw and not options.rest:
        raise ValueError(
            "Name other texts: --raw N, sentences of reviews, or --rest, the texts that are left, or both."
        )
    corpora: list[Any] = [zoo.load_corpus(name, "classification") for name in options.dataset]
    for corpus in corpora:
        if corpus.test is None:
            raise ValueError(f"{corpus.name} has no test texts; name a corpus that has.")
        if max(options.labels) >= len(corpus.train):
            raise ValueError(f"--labels must be below {len(corpus.train):,}, the texts of {corpus.name}.")
    for corpus in corpora:
        for row in measure(options, corpus):
            print(row, flush=True)
            result_files.merge(RESULTS, [row], KEY)


if __name__ == "__main__":
    main()
