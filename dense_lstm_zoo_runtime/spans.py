"""Spans of a tagger's answers: with their text, their place in the raw text and how sure the model is of each."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dense_lstm_zoo_runtime.answers import TaggedSentence
from dense_lstm_zoo_runtime.chain import Chain
from dense_lstm_zoo_runtime.offsets import Place, places, places_between_spaces
from dense_lstm_zoo_runtime.schemes import Scheme, SchemeError, scheme_of
from dense_lstm_zoo_runtime.span_forms import Span


class SpanReader:
    """Makes a tagger's answers, with spans where its tags mark them.

    Args:
        labels: The model's tags.
        crf: The transitions (K, K), the start (K,) and the end (K,) of its conditional random field, or None for a
            softmax.

    Attributes:
        scheme: The scheme of the tags, or None.
        needs_scores: Whether ``answer`` reads the scores of all tags.

    Raises:
        ValueError: As for ``Chain``.

    Example:
        >>> answer = SpanReader(["B-LOC", "I-LOC", "O"]).answer
        >>> answer("in New York", ["in", "New", "York"], ["O", "B-LOC", "I-LOC"], [1.0, 0.75, 0.5]).spans
        [Span(label='LOC', text='New York', start=3, end=11, confidence=0.375, first_token=1, end_token=3)]
    """

    def __init__(self, labels: Sequence[str], crf: Sequence[np.ndarray] | None = None) -> None:
        self.scheme: Scheme | None = None
        self._reason, self._chain = "", None
        try:
            self.scheme = scheme_of(labels)
        except SchemeError as error:
            self._reason = str(error)
        else:
            self._chain = None if crf is None else Chain(labels, self.scheme, *crf)
        self.needs_scores = self._chain is not None

    def answer(
        self,
        sentence: str | Sequence[str],
        tokens: list[str],
        tags: list[str],
        probabilities: list[float],
        scores: np.ndarray | None = None,
    ) -> TaggedSentence:
        """Return the answer to a sentence.

        Args:
            sentence: The raw text, or the list of tokens. Tokens are joined by single spaces.
            tokens: Its tokens.
            tags: A tag for each.
            probabilities: The probability of each tag.
            scores: The scores of all tags (tokens, K), for a CRF.
        """
        is_raw = isinstance(sentence, str)
        text = sentence if isinstance(sentence, str) else " ".join(tokens)
        if self.scheme is None:
            return TaggedSentence(tokens, tags, probabilities, text, no_spans=self._reason)
        rows = list(self.scheme.spans(tags))
        at: list[Place] = places(text, tokens) if is_raw else places_between_spaces(tokens)
        if self._chain is not None and scores is not None:
            confidences = self._chain.probabilities(scores, rows)
        else:
            confidences = [math.prod(probabilities[first:stop]) for _, first, stop in rows]
        spans = []
        for (label, first, stop), confidence in zip(rows, confidences, strict=True):
            start, end = at[first][0], at[stop - 1][1]
            spans.append(Span(label, text[start:end], start, end, confidence, first, stop))
        return TaggedSentence(tokens, tags, probabilities, text, spans, places=at)
