"""A conditional random field at prediction: exact probabilities of tags and spans, summed over all their sequences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dense_lstm_zoo_runtime.schemes import Scheme, SpanRow, ends_between, starts_between

CRF_WEIGHTS = ("transitions", "start", "end")  # as exports name them


class Field:
    """A linear-chain CRF in NumPy and float64.

    The score of a tag sequence y is start[y_1] + sum_t potentials[t, y_t] + sum_t transitions[y_{t-1}, y_t] + end[y_n],
    and its probability is proportional to exp(score).

    Args:
        count: The number of tags K.
        transitions: (K, K), from row to column.
        start: (K,).
        end: (K,).

    Raises:
        ValueError: Weights of another shape, or that are not finite.

    Example:
        >>> Field(2, np.zeros((2, 2)), np.zeros(2), np.zeros(2)).marginals(np.log([[1.0, 3.0]])).round(4).tolist()
        [[0.25, 0.75]]
    """

    def __init__(self, count: int, transitions: np.ndarray, start: np.ndarray, end: np.ndarray) -> None:
        shapes = dict(zip(CRF_WEIGHTS, [(count, count), (count,), (count,)], strict=True))
        weights = dict(zip(CRF_WEIGHTS, [transitions, start, end], strict=True))
        for name, shape in shapes.items():
            if np.shape(weights[name]) != shape or not np.isfinite(weights[name]).all():
                raise ValueError(f"the CRF's {name} must be finite numbers {shape}; received {np.shape(weights[name])}")
        self._transitions, self._start, self._end = (np.asarray(weights[name], np.float64) for name in shapes)
        self._backward_transitions = np.ascontiguousarray(self._transitions.T)

    def marginals(self, potentials: np.ndarray) -> np.ndarray:
        """Return the probability of every tag at every token, (tokens, K): the sum over all sequences that have it.

        Args:
            potentials: (tokens, K), the network's scores of tags.
        """
        scores = np.asarray(potentials, np.float64)
        if not len(scores):
            return np.empty_like(scores)
        sums = self._forward(scores) + self._backward(scores)
        return np.exp(sums - np.logaddexp.reduce(sums, axis=1, keepdims=True))

    def _forward(self, scores: np.ndarray) -> np.ndarray:
        """Return the log of the sum over the beginnings of all sequences, up to each tag: (tokens, K)."""
        alphas = np.empty_like(scores)
        alphas[0] = self._start + scores[0]
        for t in range(1, len(scores)):
            alphas[t] = np.logaddexp.reduce(alphas[t - 1][:, None] + self._transitions, axis=0) + scores[t]
        return alphas

    def _backward(self, scores: np.ndarray) -> np.ndarray:
        """Return the log of the sum over what may follow each tag: (tokens, K)."""
        betas = np.empty_like(scores)
        betas[-1] = self._end
        for t in range(len(scores) - 2, -1, -1):
            betas[t] = np.logaddexp.reduce(self._backward_transitions + (scores[t + 1] + betas[t + 1])[:, None], axis=0)
        return betas


class Chain(Field):
    """A CRF whose tags mark spans.

    A span's probability is the sum over all sequences whose tags stand for it: with its label, its first and its last
    token (constrained forward-backward).

    Args:
        labels: The tags, K of them.
        scheme: Their scheme.
        transitions: As for ``Field``.
        start: As for ``Field``.
        end: As for ``Field``.

    Raises:
        ValueError: As for ``Field``.

    Reference: Culotta & McCallum 2004, Confidence estimation for information extraction.
    """

    def __init__(
        self, labels: Sequence[str], scheme: Scheme, transitions: np.ndarray, start: np.ndarray, end: np.ndarray
    ) -> None:
        super().__init__(len(labels), transitions, start, end)
        parts = [scheme.part(label) for label in labels]
        starts, ends = (
            np.array([[rule(before, after) for after in parts] for before in parts])
            for rule in (starts_between, ends_between)
        )
        into = np.where(starts, self._transitions, -np.inf)  # to a span's first token
        within = np.where(~ends, self._transitions, -np.inf)
        after = np.where(ends, self._transitions, -np.inf)  # from a span's last token
        self._by_label: dict[str, tuple[np.ndarray, ...]] = {}
        for label in {label for prefix, label in parts if prefix != "O"}:
            tags = np.array([i for i, part in enumerate(parts) if part[0] != "O" and part[1] == label])
            self._by_label[label] = tags, into[:, tags], within[np.ix_(tags, tags)], after[tags]

    def probabilities(self, potentials: np.ndarray, spans: Sequence[SpanRow]) -> list[float]:
        """Return the probability of each span of a sentence.

        Args:
            potentials: (tokens, K), the network's scores of tags.
            spans: As ``Scheme.spans`` yields them. No token of theirs is past the last.
        """
        if not spans:
            return []
        scores = np.asarray(potentials, np.float64)
        alphas, betas = self._forward(scores), self._backward(scores)
        total = np.logaddexp.reduce(alphas[-1] + self._end)
        return [float(np.exp(min(self._log_sum(scores, alphas, betas, span) - total, 0.0))) for span in spans]

    def _log_sum(self, scores: np.ndarray, alphas: np.ndarray, betas: np.ndarray, span: SpanRow) -> float:
        """Return the log of the sum over the sequences with a span."""
        label, first, stop = span
        tags, into, within, after = self._by_label[label]
        if first == 0:
            inside = alphas[0][tags]
        else:
            inside = np.logaddexp.reduce(alphas[first - 1][:, None] + into, axis=0) + scores[first, tags]
        for t in range(first + 1, stop):
            inside = np.logaddexp.reduce(inside[:, None] + within, axis=0) + scores[t, tags]
        if stop == len(scores):
            return float(np.logaddexp.reduce(inside + self._end[tags]))
        ends = inside[:, None] + after + (scores[stop] + betas[stop])
        return float(np.logaddexp.reduce(ends.ravel()))
