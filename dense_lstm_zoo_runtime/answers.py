"""The answers of a predictor. The fields are those of the bundles in dense_lstm_zoo."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Prediction:
    """A text, its predicted label and probability, and the probability of every label.

    Attributes:
        text: The text.
        label: The predicted label.
        probability: Its probability.
        probabilities: The probability of every label.
        known_words: How many of the words that are read the model knows. With none, as of another language, the label
            is a guess, however likely. None where that is not counted: in the answers of a SavedModel.
    """

    text: str
    label: str
    probability: float
    probabilities: dict[str, float]
    known_words: int | None = field(default=None, compare=False)


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
class Explanation:
    """The words of a text, and what each contributes to the predicted label.

    Attributes:
        text: The text.
        label: The predicted label.
        probability: Its probability.
        probabilities: The probability of every label.
        tokens: The words of the text.
        effects: How much the log odds of the label fall if a word is left out, for each word. Below 0 the word counts
            against the label. In a long text neighbours are left out together, and each has the effect of all.
        in_vocabulary: Whether the model knows each word.
        group: The number of neighbours that are left out together, 1 for texts of up to 128 words.
    """

    text: str
    label: str
    probability: float
    probabilities: dict[str, float]
    tokens: list[str]
    effects: list[float]
    in_vocabulary: list[bool]
    group: int


@dataclass(frozen=True)
class Continuation:
    """A prompt, the text that continues it, and the log probability of that text."""

    prompt: str
    text: str
    log_probability: float


Answer = Prediction | TaggedSentence | Score
