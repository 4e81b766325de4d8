"""Test accuracy by the number of labels: the last layer alone, training, fine-tuning, and TF-IDF.

The last layer is fitted as ``--recipe few_labels`` does, over the same frozen states and words and without dev texts.
Eight random texts come first, each label at least once. The next are random, or suggested as ``suggest`` does by the
model of the labels so far, at most 50 at a time. With ``--train``, the random texts also train ``bilstm`` with
``effort="quick"`` from word vectors, and fine-tune ``lm_classifier`` from the preset ``dense_lm_reviews``. Both hold a
tenth of the texts out as dev, except that ``quick`` takes turns with up to 250. TF-IDF with a logistic regression, the
baseline beside every training, has the random texts. Means and standard deviations are over draws, and nothing was
chosen on test. Rows go to results/few_labels.csv. From the repository's root:

    python -m benchmarks.few_labels sst2 trec
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import dense_lstm_zoo as zoo
from dense_lstm_zoo import checks, display, machine
from dense_lstm_zoo.classification import baseline, convex_head
from dense_lstm_zoo.classification.calibration import softmax
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.embedding import features_of
from dense_lstm_zoo.classification.suggesting import choose
from dense_lstm_zoo.training.prepare import prepare
from dense_lstm_zoo.training.request import check
from tuning import protocols, result_files

RESULTS = result_files.ROOT / "results" / "few_labels.csv"
KEY = ["dataset", "method", "labels"]
SIZES = (8, 32, 150, 500)
_ROUND = 50  # texts that are suggested by one model
METHODS = ("few_labels, random texts", "few_labels, suggested texts", baseline.NAME)
TRAININGS: dict[str, tuple[str, dict[str, Any]]] = {
    "bilstm, effort quick": ("bilstm", {"effort": "quick", "vectors": "zoo_600d"}),
    "lm_classifier, fine-tuned": ("lm_classifier", {"recipe": "fine_tuning", "init_from": "dense_lm_reviews"}),
}


def features(corpus: Corpus) -> tuple[np.ndarray, np.ndarray]:
    """Return what the last layer of the recipe reads of the training and the test texts."""
    from dense_lstm_zoo.classification.batches import predict_rows

    request = check("bilstm", "runs/none", {"vectors": "zoo_600d"}, recipe="few_labels")
    run = prepare(request, Corpus(corpus.name, corpus.label_names, corpus.train, None, None), progress=False)
    text_to_ids = run.job.words.vocabulary.text_to_ids()
    read = features_of(run.model, text_to_ids.signature)
    first, second = (predict_rows(read, text_to_ids.encode(part.texts)) for part in (corpus.train, corpus.test))
    return first, second


def first_texts(labels: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return the indices of the first texts: random ones, each label at least once."""
    order = generator.permutation(len(labels))
    one_each = [order[labels[order] == label][0] for label in np.unique(labels)]
    return np.concatenate([one_each, np.setdiff1d(order[: SIZES[0]], one_each)])[: SIZES[0]]


def orders(labels: np.ndarray, draw: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the first texts of a draw, and those of all texts in random order after these."""
    generator = np.random.default_rng(draw)
    first = first_texts(labels, generator)
    rest = np.setdiff1d(generator.permutation(len(labels)), first, assume_unique=True)
    return first, np.concatenate([first, generator.permutation(rest)])


def trained_accuracies(corpus: Corpus, draw: int) -> Iterator[tuple[str, int, float]]:
    """Yield method, number of labels and test accuracy of the trainings on one draw."""
    _, random_order = orders(np.array(corpus.train.labels), draw)
    for size in SIZES:
        own = Corpus(
            corpus.name, corpus.label_names, corpus.train.select(random_order[:size].tolist()), None, corpus.test
        )
        for method, (model, settings) in TRAININGS.items():
            with tempfile.TemporaryDirectory() as folder:
                run = Path(folder) / "run"
                bundle = zoo.train(model, own, run, seed=draw, baseline=False, progress=False, **settings)
            yield method, size, bundle.metrics["test_accuracy"]


def accuracies(corpus: Corpus, draw: int, train: np.ndarray, test: np.ndarray) -> Iterator[tuple[str, int, float]]:
    """Yield method, number of labels and test accuracy of the linear models on one draw."""
    labels, right, classes = np.array(corpus.train.labels), np.array(corpus.test.labels), len(corpus.label_names)
    first, random_order = orders(labels, draw)
    own, best = first, convex_head.fit(train[first], labels[first], classes)
    for size in SIZES:
        rows = random_order[:size]
        head = convex_head.fit(train[rows], labels[rows], classes)
        yield METHODS[0], size, convex_head.accuracy_and_likelihood(head.logits(test), right)[0]
        while len(own) < size:
            others = np.setdiff1d(np.arange(len(labels)), own)
            number = min(_ROUND, size - len(own))
            suggested = choose(softmax(best.logits(train[others])), train[others], number, draw)
            own = np.concatenate([own, others[suggested]])
            best = convex_head.fit(train[own], labels[own], classes)
        yield METHODS[1], size, convex_head.accuracy_and_likelihood(best.logits(test), right)[0]
        labelled = corpus.train.select(rows.tolist())
        fitted = baseline.fit(Corpus(corpus.name, corpus.label_names, labelled, None, None))
        assert fitted is not None
        yield METHODS[2], size, float((fitted.predict(corpus.test.texts) == right).mean())


def measure(corpus: Corpus, draws: int, *, trains: bool) -> Iterator[dict[str, Any]]:
    """Yield the rows of one corpus with test texts: those of the trainings, or of the others."""
    name = corpus.name
    one_draw: Callable[[int], Iterator[tuple[str, int, float]]]
    if trains:
        one_draw = partial(trained_accuracies, corpus)
    else:
        train, test = features(corpus)
        one_draw = partial(accuracies, corpus, train=train, test=test)
    scores: dict[tuple[str, int], list[float]] = {}
    for draw in range(1, draws + 1):
        for method, size, accuracy in one_draw(draw):
            scores.setdefault((method, size), []).append(100 * accuracy)
    for (method, size), values in scores.items():
        yield {
            **{"dataset": name, "method": method, "labels": size, "draws": draws},
            "accuracy_mean": round(float(np.mean(values)), 1),
            "accuracy_std": round(float(np.std(values, ddof=1)), 1),
            "accuracies": " ".join(f"{value:.1f}" for value in values),
            "versions": protocols.read_versions({"versions": machine.versions()}),
            "command": f"python -m benchmarks.few_labels {name}{' --train' * trains}"
            + (f" --draws {draws}" if draws != 5 else ""),
        }


def table() -> str:
    """Return the table: a line for each corpus and method, a column for each number of labels."""
    rows = result_files.read_rows(RESULTS)
    by_method = dict(list(rows.groupby(["dataset", "method"], sort=False)))
    cells = [
        (*key, *(f"{row.accuracy_mean} ± {row.accuracy_std}" for row in by_method[key].itertuples()))
        for key in itertools.product(dict.fromkeys(rows.dataset), [*METHODS, *TRAININGS])
        if key in by_method
    ]
    header = ["corpus", "method", *(f"{size} labels" for size in SIZES)]
    return "\n".join([display.table(header, cells), "", result_files.sources(rows)])


@protocols.plain_errors()
def main(argv: list[str] | None = None) -> None:
    """Measure the corpora that the arguments name."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.few_labels",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("dataset", nargs="+", help="corpora with test texts, such as sst2 trec")
    parser.add_argument("--draws", type=int, default=5, help="of the first texts (default: 5)")
    parser.add_argument("--train", action="store_true", help="train and fine-tune, and keep the other rows")
    options = parser.parse_args(argv)
    checks.integer("--draws", options.draws)
    corpora: list[Any] = [
        zoo.load_corpus(name, "classification") for name in options.dataset
    ]  # an unknown one fails first
    for corpus in corpora:
        if corpus.test is None:
            parser.error(f"{corpus.name} has no test texts")
    for corpus in corpora:
        rows = list(measure(corpus, options.draws, trains=options.train))
        result_files.merge(RESULTS, rows, KEY)
        for row in rows:
            print(row)


if __name__ == "__main__":
    main()
