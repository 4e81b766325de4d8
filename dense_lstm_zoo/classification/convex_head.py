"""The last layer of a classifier as a logistic regression over what its encoder gives, which is convex."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

_STRENGTHS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3)  # C, over features of variance 1
_PATIENCE = 2  # that are no better than one before
_MAX_ITERATIONS, _TOLERANCE = 100, 1e-3
_NEVER = -10.0  # the logit of a label without a text


@dataclass(frozen=True, eq=False)
class ConvexHead:
    """The weights of a last layer.

    Args:
        kernel: (width, classes), float32.
        bias: (classes,), float32.
        strength: C of the logistic regression: a larger one is regularised less.
        dev_accuracy: The share of dev texts that it labels right.
        dev_likelihood: The mean logarithm of the probability that it gives the right labels of dev texts.
    """

    kernel: np.ndarray
    bias: np.ndarray
    strength: float
    dev_accuracy: float = 0.0
    dev_likelihood: float = 0.0

    def logits(self, features: np.ndarray) -> np.ndarray:
        """Return the logits (texts, classes) of features (texts, width)."""
        logits: np.ndarray = features @ self.kernel + self.bias
        return logits


def fit(
    features: np.ndarray,
    labels: np.ndarray,
    dev_features: np.ndarray,
    dev_labels: np.ndarray,
    num_classes: int,
    class_weight: Mapping[int, float] | None = None,
) -> ConvexHead:
    """Fit the last layer on training texts, with the C that has the lowest loss on dev texts.

    On a few hundred dev texts, the loss says more of C than the accuracy does.

    Args:
        features: What the last layer reads of the training texts: (texts, width).
        labels: The index of each one's label.
        dev_features: The same of the dev texts.
        dev_labels: The index of each one's label.
        num_classes: The number of labels. One without a training text is never predicted.
        class_weight: The weight of each label's index, or None.

    Example:
        >>> features, labels = np.array([[0.0, 1.0], [1.0, 0.0]] * 9, np.float32), np.array([0, 1] * 9)
        >>> head = fit(features, labels, features, labels, num_classes=2)
        >>> head.logits(features[:2]).argmax(axis=1)
        array([0, 1])
    """
    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale[scale < 1e-6] = np.inf  # a feature that never changes says nothing
    scaled = (features - mean) / scale
    weights = None if class_weight is None else np.array([class_weight[label] for label in labels])
    best, num_worse = None, 0
    for strength, kernel, bias in _regressions(scaled, labels, num_classes, weights):
        head = ConvexHead(kernel / scale[:, None], bias - (mean / scale) @ kernel, strength)
        accuracy, likelihood = accuracy_and_likelihood(head.logits(dev_features), dev_labels)
        if best is None or likelihood > best.dev_likelihood:
            best, num_worse = replace(head, dev_accuracy=accuracy, dev_likelihood=likelihood), 0
        else:
            num_worse += 1
        if num_worse == _PATIENCE:
            break
    assert best is not None
    return best


def _regressions(
    features: np.ndarray, labels: np.ndarray, num_classes: int, weights: np.ndarray | None
) -> Iterator[tuple[float, np.ndarray, np.ndarray]]:
    """Yield each C with the kernel and the bias of its regression. Each begins where the one before it ended."""
    from sklearn.linear_model import LogisticRegression

    present = np.unique(labels)
    regression = LogisticRegression(max_iter=_MAX_ITERATIONS, tol=_TOLERANCE, warm_start=True)
    for strength in _STRENGTHS:
        kernel = np.zeros((features.shape[1], num_classes), np.float32)
        bias = np.full(num_classes, _NEVER, np.float32)
        if len(present) == 1:
            bias[present] = 0.0
            yield strength, kernel, bias
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one that has not converged is scored on dev like the others
            regression.set_params(C=strength).fit(features, labels, weights)
        coefficients, intercepts = regression.coef_, regression.intercept_
        if len(present) == 2:  # a single logit, of the second label
            coefficients = np.concatenate([-coefficients, coefficients]) / 2
            intercepts = np.array([-1, 1]) * intercepts / 2
        kernel[:, present], bias[present] = coefficients.T, intercepts
        yield strength, kernel, bias


def accuracy_and_likelihood(logits: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Return the share of right labels, and the mean log-likelihood."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    likelihood = shifted[np.arange(len(labels)), labels] - np.log(np.exp(shifted).sum(axis=1))
    return float((logits.argmax(axis=1) == labels).mean()), float(likelihood.mean())
