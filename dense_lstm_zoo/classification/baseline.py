"""The baseline beside a classifier's scores: TF-IDF of words and pairs of words, and a logistic regression."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dense_lstm_zoo import checks
from dense_lstm_zoo.classification import label_sets
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.comparing.outcomes import of_label_sets, of_labels
from dense_lstm_zoo.data.tokens import tokenize
from dense_lstm_zoo.display import notes, one_line

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

NAME = "TF-IDF + logistic regression"
_STRENGTHS = (1.0, 10.0)  # C, chosen on dev
# Bounds that end it within seconds.
_TEXTS, _TOKENS, _FEATURES = 20_000, 400, 100_000
_WORK = 10_000_000  # counts in the texts, times the regressions


@dataclass(frozen=True, eq=False)
class Baseline:
    """A fitted baseline.

    Args:
        vectorizer: Turns tokens into TF-IDF weights.
        regression: Tells the labels, as their indices. Of several labels per text, one regression for each.
        num_texts: The number of training texts that it was fitted on.
        thresholds: Of several labels per text, the probability from which each is given: (labels,).
    """

    vectorizer: TfidfVectorizer
    regression: Any
    num_texts: int
    thresholds: np.ndarray | None = None

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        """Return the index of the label of each text, (texts,), or of several whether it has each: (texts, labels)."""
        if self.thresholds is not None:
            return _shares(self.vectorizer, self.regression, texts) >= self.thresholds
        return np.concatenate([self.regression.predict(features) for features in _features(self.vectorizer, texts)])

    def scores(
        self, texts: Sequence[str], right: np.ndarray, predicted: np.ndarray, labels: Sequence[str]
    ) -> dict[str, float]:
        """Return its scores on labelled texts, and how far a model is ahead of it there. A failure returns none.

        Args:
            texts: The texts.
            right: The index of each one's label (texts,), or of several 0 and 1 (texts, labels).
            predicted: The index of the label that the model predicts (texts,), or bool (texts, labels).
            labels: The names of the labels.

        Returns:
            ``baseline_accuracy``, ``baseline_macro_f1``, and ``ahead``, the model's accuracy minus the baseline's, with
            its 95 % interval from ``ahead_low`` to ``ahead_high``. Of several labels also ``baseline_micro_f1``, and
            ``ahead`` is that of the micro F1.
        """
        names = ["accuracy", "macro_f1"]
        try:
            if self.thresholds is None:
                outcomes = of_labels(texts, right, predicted, self.predict(texts), labels)
            else:
                outcomes = of_label_sets(texts, right > 0, predicted, self.predict(texts), labels)
                names.insert(0, "micro_f1")
            ahead = outcomes.intervals()[names[0]]
        except Exception as error:  # nothing here may cost the model
            _say_why(error)
            return {}
        own = outcomes.of_model(1)
        scores = {f"baseline_{name}": own[name] for name in names}
        return scores | {"ahead": ahead.value, "ahead_low": ahead.low, "ahead_high": ahead.high}


def fit(corpus: Corpus, seed: int = 1) -> Baseline | None:
    """Fit the baseline on a corpus, with the C that is best on dev, or 10 without dev texts.

    After a failure, say so and return None.

    Large corpora are fitted on a random part of the texts, and of long texts only the beginning is read.

    Example:
        >>> from dense_lstm_zoo.classification.split import Split
        >>> texts = Split(["a good film", "a bad film"] * 20, [1, 0] * 20)
        >>> fit(Corpus("films", ("bad", "good"), texts, texts, None)).predict(["good !", "bad"])
        array([1, 0])
    """
    try:
        return _fit(corpus, seed)
    except Exception as error:  # nothing here may cost the model
        _say_why(error)
        return None


def _fit(corpus: Corpus, seed: int) -> Baseline:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    generator = np.random.Generator(np.random.PCG64(seed))
    order = generator.permutation(len(corpus.train))[:_TEXTS]
    vectorizer = TfidfVectorizer(analyzer=words_and_pairs, sublinear_tf=True, max_features=_FEATURES)
    features = vectorizer.fit_transform(_tokens([corpus.train.texts[i] for i in order]))
    regressions = len(corpus.label_names) if len(corpus.label_names) > 2 or corpus.is_several else 1
    most = max(1_000, int(len(order) * _WORK / max(1, features.nnz * regressions)))
    features, labels = features[:most], corpus.train.targets(len(corpus.label_names))[order[:most]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one that has not converged is a baseline all the same
        # Of two classes each, liblinear is many times as fast over sparse features.
        options: dict[str, Any] = {"solver": "liblinear"} if corpus.is_several else {}
        regression = [LogisticRegression(C=strength, max_iter=200, **options) for strength in _STRENGTHS]
        if corpus.is_several:
            return _of_several(corpus, vectorizer, [_OneForEach(each, features, labels) for each in regression])
        fitted = [each.fit(features, labels) for each in regression]
    if corpus.dev is None:
        return Baseline(vectorizer, fitted[-1], len(labels))
    hits, dev_labels = np.zeros(len(fitted), int), np.array(corpus.dev.labels)
    for part in _features(vectorizer, corpus.dev.texts):
        right, dev_labels = np.split(dev_labels, [part.shape[0]])
        hits += [int((regression.predict(part) == right).sum()) for regression in fitted]
    return Baseline(vectorizer, fitted[hits.argmax()], len(labels))


class _OneForEach:
    """A regression for each label, fitted on features and on 0 and 1 (texts, labels)."""

    def __init__(self, regression: LogisticRegression, features: csr_matrix, targets: np.ndarray) -> None:
        from sklearn.base import clone

        self.num_texts = len(targets)
        # A label that all texts have, or none, has a constant in place of a regression.
        self._of_labels = [
            clone(regression).fit(features, column) if column.min() < column.max() else float(column[0])
            for column in targets.T
        ]

    def shares(self, features: csr_matrix) -> np.ndarray:
        """Return the probability of each label: (texts, labels)."""
        columns = [
            np.full(features.shape[0], each) if isinstance(each, float) else each.predict_proba(features)[:, 1]
            for each in self._of_labels
        ]
        return np.stack(columns, axis=1)


def _of_several(corpus: Corpus, vectorizer: TfidfVectorizer, fitted: Sequence[_OneForEach]) -> Baseline:
    """Return the baseline of several labels per text, its thresholds tuned on dev as the model's are."""
    if corpus.dev is None:
        return Baseline(vectorizer, fitted[-1], fitted[-1].num_texts, np.full(len(corpus.label_names), 0.5))
    targets = corpus.dev.targets(len(corpus.label_names))
    candidates = []
    for each in fitted:
        shares = _shares(vectorizer, each, corpus.dev.texts)
        thresholds = label_sets.best_thresholds(shares, targets)
        candidates.append((label_sets.micro_f1(targets, shares >= thresholds), each, thresholds))
    _, best, thresholds = max(candidates, key=lambda candidate: candidate[0])
    return Baseline(vectorizer, best, best.num_texts, thresholds)


def _shares(vectorizer: TfidfVectorizer, fitted: _OneForEach, texts: Sequence[str]) -> np.ndarray:
    return np.concatenate([fitted.shares(features) for features in _features(vectorizer, texts)])


def _features(vectorizer: TfidfVectorizer, texts: Sequence[str]) -> Iterator[csr_matrix]:
    """Yield the features of texts, some texts at a time."""
    for chunk in checks.text_chunks(texts, _TEXTS):
        yield vectorizer.transform(_tokens(chunk))


def words_and_pairs(tokens: Sequence[str]) -> list[str]:
    """Return the features of a text: its tokens, and each pair of neighbours.

    Example:
        >>> words_and_pairs(["not", "a", "bad", "film"])
        ['not', 'a', 'bad', 'film', 'not a', 'a bad', 'bad film']
    """
    return [*tokens, *(f"{first} {second}" for first, second in itertools.pairwise(tokens))]


def _tokens(texts: Sequence[str]) -> list[list[str]]:
    return [tokens[:_TOKENS] for tokens in tokenize(texts)]


def _say_why(error: Exception) -> None:
    notes.say(f"no baseline: {type(error).__name__}: {one_line(error, 200)}")
