"""Train linear models on word counts under the protocols of benchmarks.classification: what a deep model must beat.

Naive Bayes and a linear support vector machine, both of scikit-learn, over which words a text has. ``nb_svm`` also
sees pairs of words, and weighs each by how much more often one label has it. ``tf_idf_logistic_regression`` is the
baseline that stands beside the scores of every training. The one free number of each (smoothing, or
C) is chosen on dev. The test texts are scored once per run. Rows go to results/classification.csv.

examples:
  python -m benchmarks.linear_baselines --dataset trec sst2 --models nb_svm
  python -m benchmarks.linear_baselines --dataset mr --folds 10
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import BernoulliNB
from sklearn.svm import LinearSVC

import dense_lstm_zoo as zoo
from benchmarks import tables
from benchmarks.classification import KEY
from benchmarks.classification_tables import CLASSIFICATION
from benchmarks.nb_svm import NBSVM
from dense_lstm_zoo import checks
from dense_lstm_zoo.classification import baseline
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.search import published
from tuning import protocols

BASELINE = "tf_idf_logistic_regression"  # the one that stands beside the scores of every training
# Names, what is chosen on dev, how a model is made of it, and how many words in a row are a feature.
MODELS: dict[str, tuple[tuple[float, ...], Callable[[float], Any] | None, int]] = {
    "unigram_naive_bayes": ((0.01, 0.03, 0.1, 0.3, 1.0, 3.0), lambda value: BernoulliNB(alpha=value), 1),
    "unigram_linear_svm": ((0.003, 0.01, 0.03, 0.1, 0.3, 1.0), lambda value: LinearSVC(C=value, random_state=1), 1),
    BASELINE: ((), None, 2),
    "nb_svm": ((0.03, 0.1, 0.3, 1.0, 3.0), NBSVM, 2),
}
# Socher et al. 2013, as Ding et al. 2018 quote them; Wang and Manning 2012, Table 2 and 3, bigrams.
PAPER = {
    "unigram_naive_bayes": {"sst1_phrases": 41.0, "sst2_phrases": 81.8},
    "unigram_linear_svm": {"sst1_phrases": 40.7, "sst2_phrases": 79.4},
    BASELINE: {},
    "nb_svm": {"mr": 79.4, "cr": 81.8, "subj": 93.2},
}


@protocols.plain_errors()
def main(argv: list[str] | None = None) -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.linear_baselines",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dataset", nargs="+", default=["trec"], help="corpora (default: trec)")
    parser.add_argument(
        "--models", nargs="+", choices=MODELS, default=[*MODELS], metavar="MODEL", help=f"of {', '.join(MODELS)}"
    )
    parser.add_argument("--folds", type=int, help="cross-validate with this many folds")
    parser.add_argument("--seed", type=int, default=1, help="of the dev texts where a corpus has none (default: 1)")
    options = parser.parse_args(argv)
    corpora = [zoo.load_corpus(name, "classification") for name in options.dataset]  # an unknown one fails first
    if options.folds is not None:
        checks.integer("--folds", options.folds, minimum=2)
    for corpus in corpora:
        if corpus.test is None and options.folds is None:
            parser.error(f"{corpus.name} has no test texts: --folds 10 cross-validates")
    for corpus in corpora:
        for model in options.models:
            row = measure(model, corpus, options.folds, options.seed)
            print(f"{corpus.name} {model}: {row['accuracy_mean']} {row['accuracy_std']}", flush=True)
            tables.merge(CLASSIFICATION, [row], list(KEY))
    tables.update_pages()


def measure(model: str, corpus: Corpus, folds: int | None, seed: int) -> dict[str, Any]:
    """Return the row of one model on one corpus."""
    parts = [corpus] if folds is None else [corpus.fold(fold, folds) for fold in range(1, folds + 1)]
    runs = [_run(model, part.with_dev(seed=seed)) for part in parts]
    dev, test, seconds = (np.array(values) for values in zip(*runs, strict=True))
    command = f"python -m benchmarks.linear_baselines --dataset {corpus.name} --models {model}"
    return {
        **{"dataset": corpus.name, "model": model, "recipe": "", "settings": "", "vectors": ""},
        "protocol": f"{folds} folds, seed {seed}" if folds else f"seed {seed}",
        "accuracy_mean": round(100 * test.mean(), 2),
        "accuracy_std": round(100 * test.std(ddof=1), 2) if folds else "",
        "accuracies": " ".join(f"{100 * accuracy:.1f}" for accuracy in test),
        "dev_accuracy_mean": round(100 * dev.mean(), 2),
        "paper": published.figure(PAPER[model], corpus.name),
        "encoder_parameters": 0,
        **{"epochs": "", "patience": ""},
        "seconds_median": round(float(np.median(seconds)), 1),
        "versions": " ".join(f"{name}={version(name)}" for name in ("dense-lstm-zoo", "numpy", "scikit-learn")),
        "processor": platform.processor() or platform.machine(),
        "command": command + (f" --folds {folds}" if folds else "") + (f" --seed {seed}" if seed != 1 else ""),
    }


def _run(model: str, corpus: Corpus) -> tuple[float, float, float]:
    """Return dev and test accuracy and the seconds of training."""
    from dense_lstm_zoo.data.tokens import tokenize

    assert corpus.dev is not None
    assert corpus.test is not None
    values, make, length = MODELS[model]
    if make is None:
        return _run_baseline(corpus)
    counter = CountVectorizer(tokenizer=lambda tokens: tokens, lowercase=False, token_pattern=None, binary=True)
    counter.set_params(ngram_range=(1, length))
    train, dev, test = (tokenize(split.texts) for split in (corpus.train, corpus.dev, corpus.test))
    started = time.perf_counter()
    features = counter.fit_transform(train)
    fitted = [make(value).fit(features, corpus.train.labels) for value in values]
    dev_features = counter.transform(dev)
    scores = [each.score(dev_features, corpus.dev.labels) for each in fitted]
    seconds = time.perf_counter() - started
    best = int(np.argmax(scores))
    return scores[best], fitted[best].score(counter.transform(test), corpus.test.labels), seconds


def _run_baseline(corpus: Corpus) -> tuple[float, float, float]:
    assert corpus.dev is not None
    assert corpus.test is not None
    started = time.perf_counter()
    fitted = baseline.fit(corpus)
    seconds = time.perf_counter() - started
    if fitted is None:
        raise ValueError(f"{corpus.name} has no baseline; the line above says why.")
    dev, test = (float(np.mean(fitted.predict(part.texts) == part.labels)) for part in (corpus.dev, corpus.test))
    return dev, test, seconds


if __name__ == "__main__":
    main()
