"""The first runs of a newcomer, ``train --effort quick``, ``good`` and ``best``, beside linear models.

Each corpus is trained with ``zoo.train("bilstm", corpus, effort="quick")``, likewise ``dc_bilstm`` with ``good`` and
``best``, and with four linear models whose free number is chosen on dev: TF-IDF with a logistic regression (the
baseline beside every training), the same with balanced labels, NB-SVM, and fastText where it is installed. ``sst2@150``
is a random 150 of the training texts. SST-2 begins from scratch, as the trained models that would serve it best have
seen all of its training texts. IMDB is scored on 2,000 test reviews, a corpus without test texts on the first of ten
folds, and each once. Rows go to results/first_hour.csv. From the repository's root:

    python -m benchmarks.first_hour trec sst2@150 imdb@1000
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import importlib.util
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression

import dense_lstm_zoo as zoo
from benchmarks.nb_svm import NBSVM
from dense_lstm_zoo import checks, display, machine, tasks
from dense_lstm_zoo.classification import baseline
from dense_lstm_zoo.classification.analysis import macro_f1
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.data.tokens import tokenize
from tuning import protocols, result_files

RESULTS = result_files.ROOT / "results" / "first_hour.csv"
KEY = ["dataset", "method"]
EFFORTS = tasks.find("classification").efforts
_TEST = 2_000  # texts, of a corpus that has more
_FROM_SCRATCH = "sst2"  # what these names begin with
_STARS = {1: 0, 2: 0, 3: 1, 4: 1, 7: 2, 8: 3, 9: 3, 10: 4}  # of five, from 0, for a rating; there is no 5 or 6


def corpus_of(name: str, seed: int) -> Corpus:
    """Return a corpus with dev and test texts by its name, such as ``sst2@150`` for 150 of its training texts."""
    base, _, number = name.partition("@")
    corpus: Any = _ratings() if base == "imdb_ratings" else zoo.load_corpus(base, "classification")
    if corpus.test is None:
        corpus = corpus.fold(1, 10)
    if len(corpus.test) > 10 * _TEST:
        corpus = dataclasses.replace(corpus, test=_some(corpus.test, _TEST, seed))
    if number:
        checks.integer(f"{name}: the number of texts", int(number) if number.isdecimal() else number)
        corpus = dataclasses.replace(corpus, train=_some(corpus.train, int(number), seed))
    corpus = corpus.with_dev(seed=seed)
    return Corpus(name, corpus.label_names, corpus.train, corpus.dev, corpus.test)


def _some(split: Split, number: int, seed: int) -> Split:
    return split.select(np.random.default_rng(seed).permutation(len(split))[:number].tolist())


def _ratings() -> Corpus:
    """Return the labelled reviews of IMDB with their ratings as five classes."""
    import pandas as pd

    parts = [pd.read_csv(path, sep="\t", quoting=csv.QUOTE_NONE) for path in zoo.fetch("imdb")[:2]]
    train, test = (Split(list(part.text), [_STARS[rating] for rating in part.rating]) for part in parts)
    return Corpus("imdb_ratings", tuple(f"{stars} stars" for stars in range(1, 6)), train, None, test)


def linear_models(corpus: Corpus) -> Iterator[tuple[str, Callable[[], np.ndarray]]]:
    """Yield the names of the linear models, and what fits each and returns the labels of the test texts."""
    train, dev, test = (tokenize(part.texts) for part in (corpus.train, corpus.dev, corpus.test))
    labels, dev_labels = np.array(corpus.train.labels), np.array(corpus.dev.labels)

    def best_on_dev(vectorizer: Any, models: list[Any]) -> np.ndarray:
        features, dev_features = vectorizer.fit_transform(train), vectorizer.transform(dev)
        best = max((model.fit(features, labels) for model in models), key=lambda m: m.score(dev_features, dev_labels))
        predicted: np.ndarray = best.predict(vectorizer.transform(test))
        return predicted

    def tf_idf() -> TfidfVectorizer:
        return TfidfVectorizer(analyzer=baseline.words_and_pairs, sublinear_tf=True)

    def regressions(class_weight: str | None) -> list[Any]:
        return [LogisticRegression(C=c, max_iter=300, class_weight=class_weight) for c in (0.3, 1.0, 3.0, 10.0, 30.0)]

    yield baseline.NAME, lambda: best_on_dev(tf_idf(), regressions(None))
    yield "the same, balanced", lambda: best_on_dev(tf_idf(), regressions("balanced"))
    counts = CountVectorizer(analyzer=baseline.words_and_pairs, binary=True)
    yield "NB-SVM", lambda: best_on_dev(counts, [NBSVM(c) for c in (0.03, 0.1, 0.3, 1.0, 3.0)])
    if importlib.util.find_spec("fasttext"):
        yield "fastText", lambda: _fast_text(corpus)


def _fast_text(corpus: Corpus) -> np.ndarray:
    from benchmarks.frontier.fasttext_peer import FastText

    names = [str(number) for number in range(len(corpus.label_names))]
    train, dev = ((list(part.texts), [names[i] for i in part.labels]) for part in (corpus.train, corpus.dev))
    peer = FastText()
    peer.fit(train, dev)
    return np.array([int(label) for label in peer.predict(list(corpus.test.texts))])


def _timed(call: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return what a call returns, its seconds and its processor seconds."""
    clocks = time.perf_counter(), time.process_time()
    result = call()
    return result, time.perf_counter() - clocks[0], time.process_time() - clocks[1]


def measure(corpus: Corpus, seed: int, efforts: Sequence[str], linear: bool) -> Iterator[dict[str, Any]]:
    """Yield the row of each effort, and of each linear model, on one corpus, as ``corpus_of`` returns it."""
    name = corpus.name
    right = np.array(corpus.test.labels)

    def row(method: str, seconds: float, cpu_seconds: float, scores: dict[str, Any]) -> dict[str, Any]:
        return {
            **{"dataset": name, "method": method, "texts": len(corpus.train), "test_texts": len(right)},
            **{key: round(100 * float(value), 2) for key, value in scores.items()},
            **{"seconds": round(seconds, 1), "cpu_seconds": round(cpu_seconds, 1), "seed": seed},
            "versions": protocols.read_versions({"versions": machine.versions()}),
            **{"processor": machine.processor(), "cores": machine.cores()},
            "command": f"python -m benchmarks.first_hour {name}" + (f" --seed {seed}" if seed != 1 else ""),
        }

    start = {"vectors": "zoo_600d"} if name.startswith(_FROM_SCRATCH) else {}
    keys = ("accuracy", "macro_f1", "ahead", "ahead_low", "ahead_high")
    for effort in efforts:
        with tempfile.TemporaryDirectory() as folder:
            model, run = EFFORTS[effort].model, Path(folder) / "run"
            train = partial(zoo.train, model, corpus, run, effort=effort, seed=seed, progress=False, **start)
            bundle, *spent = _timed(train)
        yield row(effort, *spent, {key: bundle.metrics[f"test_{key}"] for key in keys})
    if not linear:
        return
    for method, fit in linear_models(corpus):
        predicted, *spent = _timed(fit)
        yield row(
            method,
            *spent,
            {"accuracy": (predicted == right).mean(), "macro_f1": macro_f1(right, predicted)},
        )


def table() -> str:
    """Return the table of all methods, a line for each corpus."""
    rows = result_files.read_rows(RESULTS)
    linear = [method for method in dict.fromkeys(rows.method) if method not in EFFORTS]
    header = ["corpus", "texts", *EFFORTS, *linear, *(f"{effort} minus TF-IDF" for effort in EFFORTS)]
    cells = []
    for dataset, own_rows in rows.groupby("dataset", sort=False):
        by_method = {row.method: row for row in own_rows.itertuples()}

        def cell(method: str, text: Callable[[Any], str], by_method: dict[str, Any] = by_method) -> str:
            return text(by_method[method]) if method in by_method else "not run"

        scores = (cell(method, _score) for method in [*EFFORTS, *linear])
        ahead = (cell(m, lambda row: f"{row.ahead} ({row.ahead_low} to {row.ahead_high})") for m in EFFORTS)
        cells.append((dataset, own_rows.texts.iloc[0], *scores, *ahead))
    return "\n".join(
        [
            display.table(header, cells),
            "",
            f"Beyond chance, {', '.join(_verdict(effort, rows) for effort in EFFORTS)}.",
            "",
            result_files.sources(rows),
        ]
    )


def _score(row: Any) -> str:
    """Return the accuracy, macro F1, seconds and processor seconds of a row."""
    return f"{row.accuracy}, {row.macro_f1}, {float(row.seconds):.0f} s ({float(row.cpu_seconds):.0f})"


def _verdict(effort: str, rows: Any) -> str:
    """Return on how many corpora an effort is ahead of TF-IDF, and on how many it is behind."""
    own_rows = rows[rows.method == effort]
    ahead, behind = (own_rows.ahead_low.astype(float) > 0).sum(), (own_rows.ahead_high.astype(float) < 0).sum()
    return f"{effort} is ahead of TF-IDF on {ahead} of {len(own_rows)} corpora and behind on {behind or 'none'}"


@protocols.plain_errors()
def main(argv: list[str] | None = None) -> None:
    """Measure the corpora that the arguments name."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.first_hour",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("dataset", nargs="+", help="corpora, such as trec, sst2@150, imdb@1000, imdb_ratings@3000")
    parser.add_argument("--efforts", nargs="*", choices=EFFORTS, default=list(EFFORTS), help="(default: all)")
    parser.add_argument("--efforts-alone", action="store_true", help="keep the rows of the linear models as they are")
    parser.add_argument("--seed", type=int, default=1, help="of the run, and of the texts drawn (default: 1)")
    options = parser.parse_args(argv)
    corpora = [corpus_of(name, options.seed) for name in options.dataset]  # an unknown one fails first
    for corpus in corpora:
        for row in measure(corpus, options.seed, options.efforts, not options.efforts_alone):
            print(row, flush=True)
            result_files.merge(RESULTS, [row], KEY)


if __name__ == "__main__":
    main()
