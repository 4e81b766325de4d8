"""NB-SVM: a linear model of words and pairs of words that deep models must beat (Wang and Manning 2012).

Two things differ from the paper. The linear model is a logistic regression, which did a little better here than a
support vector machine. Its weights are not interpolated with their mean size, which costs several points on CR,
whose labels are unequal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression


class NBSVM(ClassifierMixin, BaseEstimator):
    """Logistic regressions, one per label, over presence scaled by log-count ratios (section 2.3).

    Of two labels the second alone needs one.

    Args:
        inverse_strength: Of the regularisation: C of LogisticRegression.
        smoothing: The paper's alpha, added to the count of every feature.
    """

    def __init__(self, inverse_strength: float, smoothing: float = 1.0) -> None:
        self.inverse_strength, self.smoothing = inverse_strength, smoothing

    def fit(self, features: Any, labels: Any) -> NBSVM:
        """Fit on counts (texts, features) that are 0 or 1, and return self."""
        labels = np.asarray(labels)
        self.classes_ = np.unique(labels)
        targets = self.classes_ if len(self.classes_) > 2 else self.classes_[1:]
        fitted = [self._fit_one(features, labels == label) for label in targets]
        self.weights = np.stack([weights for weights, _ in fitted], axis=1)
        self.biases = np.array([bias for _, bias in fitted])
        return self

    def _fit_one(self, features: Any, is_label: Any) -> tuple[Any, float]:
        """Return the weights and the bias that tell a label from all others. The ratio is multiplied in."""
        inside, outside = (self.smoothing + features[texts].sum(axis=0).A1 for texts in (is_label, ~is_label))
        ratio = np.log(inside / inside.sum()) - np.log(outside / outside.sum())
        regression = LogisticRegression(C=self.inverse_strength, solver="liblinear", random_state=1)
        regression.fit(features.multiply(ratio).tocsr(), is_label)
        return regression.coef_[0] * ratio, float(regression.intercept_[0])

    def predict(self, features: Any) -> Any:
        """Return the likeliest label of each text."""
        decisions = features @ self.weights + self.biases
        best = decisions.argmax(axis=1) if len(self.classes_) > 2 else (decisions[:, 0] > 0).astype(int)
        return self.classes_[best]
