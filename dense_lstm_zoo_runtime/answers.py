"""The answers of a predictor. The fields are those of the bundles in dense_lstm_zoo."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Prediction:
    """A text, its predicted label and probability, and the probability of every label."""

    text: str
    label: str
    probability: float
    probabilities: dict[str, float]


@dataclass(frozen=True)
class TaggedSentence:
    """The tokens of a sentence, with their tags and the probabilities of those tags."""

    tokens: list[str]
    tags: list[str]
    probabilities: list[float]


@dataclass(frozen=True)
class Score:
    """A text, its log probability (natural logarithm), its perplexity, its tokens and how many are unknown words."""

    text: str
    log_probability: float
    perplexity: float
    tokens: int
    unknown_words: int


@dataclass(frozen=True)
class Continuation:
    """A prompt, the text that continues it, and the log probability of that text."""

    prompt: str
    text: str
    log_probability: float


Answer = Prediction | TaggedSentence | Score
