"""The last layer of a classifier as a logistic regression over what its encoder gives, which is convex."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dense_lstm_zoo.classification.calibration import log_likelihoods
from dense_lstm_zoo.classification.label_sets import accuracy, weights_of_shares
from dense_lstm_zoo.classification.strata import folds_of

_STRENGTHS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3)  # C, over features of variance 1
_FOLDS = 5
_PATIENCE = 2  # that are no better than one before
_MAX_ITERATIONS, _TOLERANCE = 100, 1e-3
_NEVER = -10.0  # the logit of a label without a text
_LEAST_SHARE = 0.01  # of a label that is learnt, which bounds the memory for many labels


@dataclass(frozen=True, eq=False)
class ConvexHead:
    """The weights of a last layer that reads features of mean 0 and variance 1.

    Args:
        kernel: (width, classes), float32.
        bias: (classes,), float32.
        mean: The mean of each feature: (width,).
        scale: One over its standard deviation, or 0 for a feature that never changes: (width,).
        strength: C of the logistic regression: a larger one is regularised less.
        dev_accuracy: The share of dev texts, or of those held out, that such a head labels right.
        dev_log_likelihoods: The logarithm of the probability that it gives to the right label of each.
        dev_logits: Its logits of these texts, in the order of ``dev_labels``, and so of their likelihoods.
        dev_labels: Their labels.
    """

    kernel: np.ndarray
    bias: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    strength: float
    dev_accuracy: float = 0.0
    dev_log_likelihoods: np.ndarray = field(default_factory=lambda: np.zeros(1))
    dev_logits: np.ndarray | None = None
    dev_labels: np.ndarray | None = None

    @property
    def dev_likelihood(self) -> float:
        """The mean of ``dev_log_likelihoods``."""
        return float(self.dev_log_likelihoods.mean())

    def logits(self, features: np.ndarray) -> np.ndarray:
        """Return the logits (texts, classes) of features (texts, width)."""
        logits: np.ndarray = (features - self.mean) * self.scale @ self.kernel + self.bias
        return logits

    @property
    def for_raw_features(self) -> tuple[np.ndarray, np.ndarray]:
        """The kernel and the bias of a layer that computes the same from features as they are."""
        kernel = self.kernel * self.scale[:, None]
        return kernel, self.bias - self.mean @ kernel


def fit(
    features: np.ndarray,
    labels: np.ndarray,
    num_classes: int,
    dev: tuple[np.ndarray, np.ndarray] | None = None,
    class_weight: Mapping[int, float] | None = None,
    shares: np.ndarray | None = None,
) -> ConvexHead:
    """Fit the last layer on training texts, with the C that has the lowest loss on other texts.

    The others are dev texts or, without any, those that each of five folds holds out. On a few hundred texts, the loss
    says more of C than the accuracy does.

    Args:
        features: What the last layer reads of the training texts: (texts, width).
        labels: The index of each one's label, or where texts may have several 0 and 1 (texts, labels): then the head
            has a regression for each label, all with one C.
        num_classes: The number of labels. One without a training text is never predicted.
        dev: Features and labels of dev texts, or None.
        class_weight: The weight of each label's index, or None.
        shares: The probability of each label (texts, classes) where training texts have soft labels. ``labels`` are
            then the likeliest ones, or of several those of a half or more, by which folds are scored.

    Example:
        >>> features, labels = np.array([[0.0, 1.0], [1.0, 0.0]] * 9, np.float32), np.array([0, 1] * 9)
        >>> fit(features, labels, num_classes=2).logits(features[:2]).argmax(axis=1)
        array([0, 1])
    """
    targets = _Targets(labels, _weights(labels, num_classes, class_weight, shares), shares)
    if dev is None:
        return _cross_validated(features, targets, num_classes)
    return _best((head, head.logits(dev[0]), dev[1]) for head in _heads(features, targets, num_classes, _STRENGTHS))


def _weights(
    labels: np.ndarray, num_classes: int, class_weight: Mapping[int, float] | None, shares: np.ndarray | None
) -> np.ndarray:
    """Return the weight of each text (texts,), or of each of its labels (texts, labels) where it may have several."""
    by_class = class_weight or dict.fromkeys(range(num_classes), 1.0)
    if labels.ndim == 2:
        return weights_of_shares(by_class, labels if shares is None else shares)
    of_label = np.array([by_class[label] for label in range(num_classes)])
    weighted: np.ndarray = of_label[labels] if shares is None or class_weight is None else shares @ of_label
    return weighted


@dataclass(frozen=True, eq=False)
class _Targets:
    """The targets of a regression.

    Args:
        labels: (texts,), or 0 and 1 (texts, labels) where texts may have several.
        weights: Likewise.
        shares: Soft labels (texts, classes), or None.
    """

    labels: np.ndarray
    weights: np.ndarray
    shares: np.ndarray | None

    def select(self, mask: np.ndarray) -> _Targets:
        """Return those of some texts."""
        return _Targets(self.labels[mask], self.weights[mask], None if self.shares is None else self.shares[mask])

    def rows(self) -> tuple[np.ndarray | slice, np.ndarray, np.ndarray]:
        """Return which texts to fit on, with the label and the weight of each.

        A text with soft labels comes once for each label, with its probability as the weight: the loss is then the
        cross-entropy with the probabilities. Where texts may have several labels, it comes once with all of them and
        once with none.
        """
        if self.shares is None:
            return slice(None), self.labels, self.weights
        if self.labels.ndim == 2:
            shares = np.concatenate([self.shares, 1 - self.shares])
            has_label = np.arange(len(shares))[:, None] < len(self.shares)
            labels = np.broadcast_to(has_label, shares.shape).astype(np.int8)
            weights = np.tile(self.weights, (2, 1)) * np.where(shares > _LEAST_SHARE, shares, 0.0)
            return np.tile(np.arange(len(self.shares)), 2), labels, weights
        rows, places = np.nonzero(self.shares > _LEAST_SHARE)
        return rows, places, self.weights[rows] * self.shares[rows, places]


def _best(candidates: Iterable[tuple[ConvexHead, np.ndarray, np.ndarray]]) -> ConvexHead:
    """Return the head with the highest likelihood, given with its logits of other texts and their labels.

    They come from the smallest C to the largest, and the search ends with the second that is no better.
    """
    best, num_worse = None, 0
    for head, logits, labels in candidates:
        likelihoods = log_likelihoods(logits, labels)
        if best is None or likelihoods.mean() > best.dev_likelihood:
            scores: dict[str, Any] = {"dev_accuracy": accuracy(logits, labels), "dev_log_likelihoods": likelihoods}
            best, num_worse = replace(head, **scores, dev_logits=logits, dev_labels=labels), 0
        else:
            num_worse += 1
        if num_worse == _PATIENCE:
            break
    assert best is not None
    return best


def _cross_validated(features: np.ndarray, targets: _Targets, num_classes: int) -> ConvexHead:
    """Return the head of all texts, with the C that is best for texts that were held out."""
    labels = targets.labels
    fold_of = folds_of(labels, min(_FOLDS, len(labels)))
    folds = [(fold_of != fold, fold_of == fold) for fold in range(fold_of.max() + 1)]
    held_out_labels = np.concatenate([labels[out] for _, out in folds])
    by_fold = [_heads(features[own], targets.select(own), num_classes, _STRENGTHS) for own, _ in folds]

    def candidates() -> Iterator[tuple[ConvexHead, np.ndarray, np.ndarray]]:
        for heads in zip(*by_fold, strict=False):
            logits = [head.logits(features[out]) for head, (_, out) in zip(heads, folds, strict=True)]
            yield heads[0], np.concatenate(logits), held_out_labels

    best = _best(candidates())
    (head,) = _heads(features, targets, num_classes, (best.strength,))
    scores = ("dev_accuracy", "dev_log_likelihoods", "dev_logits", "dev_labels")
    return replace(head, **{name: getattr(best, name) for name in scores})


def _heads(
    features: np.ndarray, targets: _Targets, num_classes: int, strengths: Sequence[float]
) -> Iterator[ConvexHead]:
    """Yield the head of each C. Each regression begins where the one before it ended."""
    from sklearn.linear_model import LogisticRegression

    mean, deviation = features.mean(axis=0), features.std(axis=0)
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 1e-6)
    rows, labels, weights = targets.rows()
    scaled, rotation = (features - mean) * scale, None
    if len(scaled) < scaled.shape[1]:  # the coefficients are a sum of texts, so that as many directions are enough
        rotation = np.linalg.svd(scaled, full_matrices=False)[2]
        scaled = scaled @ rotation.T
    scaled = scaled[rows]
    columns = [*labels.T] if labels.ndim == 2 else [labels]
    column_weights = [*weights.T] if labels.ndim == 2 else [weights]
    is_soft_set = labels.ndim == 2 and targets.shares is not None
    regressions = [LogisticRegression(max_iter=_MAX_ITERATIONS, tol=_TOLERANCE, warm_start=True) for _ in columns]
    for strength in strengths:
        kernel = np.zeros((features.shape[1], num_classes), np.float32)
        bias = np.full(num_classes, _NEVER, np.float32)
        for number, (column, regression) in enumerate(zip(columns, regressions, strict=True)):
            used = column_weights[number] > 0 if is_soft_set else slice(None)
            present: Sequence[int] | np.ndarray = np.unique(column[used])
            if len(present) == 1:
                if labels.ndim == 1:
                    bias[present] = 0.0
                elif present[0]:  # a label that all texts have
                    bias[number] = -_NEVER
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # one that has not converged is compared like the others
                regression.set_params(C=strength).fit(scaled[used], column[used], column_weights[number][used])
            coefficients, intercepts = regression.coef_, regression.intercept_
            if rotation is not None:
                coefficients = coefficients @ rotation
            if labels.ndim == 2:
                present = [number]
            elif len(present) == 2:  # a single logit, of the second label
                coefficients = np.concatenate([-coefficients, coefficients]) / 2
                intercepts = np.array([-1, 1]) * intercepts / 2
            kernel[:, present], bias[present] = coefficients.T, intercepts
        yield ConvexHead(kernel, bias, mean, scale, strength)


def accuracy_and_likelihood(logits: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Return the share of right labels, and the mean log-likelihood."""
    return accuracy(logits, labels), float(log_likelihoods(logits, labels).mean())
