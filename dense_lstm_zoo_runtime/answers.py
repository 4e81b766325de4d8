"""The answers of a predictor. The fields are those of the bundles in dense_lstm_zoo."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dense_lstm_zoo_runtime import span_forms
from dense_lstm_zoo_runtime.span_forms import Span


@dataclass(frozen=True)
class Prediction:
    """A text, its predicted label and probability, and the probability of every label.

    Attributes:
        text: The text.
        label: The predicted label.
        probability: Its probability.
        probabilities: The probability of every label.
        known_words: How many of the words that are read the model knows. With none, as of another language, the label
            is a guess, and all labels are given the same probability, unless the model reads characters, or texts may
            have several labels. None where that is not counted: in the answers of a SavedModel.
        labels: The labels of the text, the likeliest first, of a model whose texts may have several. Then ``label`` is
            the first of them. If there is none, it is an empty string, and ``probability`` that of none. None for a
            model whose texts have one label each.
    """

    text: str
    label: str
    probability: float
    probabilities: dict[str, float]
    known_words: int | None = field(default=None, compare=False)
    labels: list[str] | None = None


@dataclass(frozen=True)
class TaggedSentence:
    """The tokens of a sentence, with their tags and the probabilities of those tags.

    Attributes:
        tokens: The tokens.
        tags: The tag of each.
        probabilities: The probability of each tag.
        text: The raw text, or the tokens joined by single spaces where the sentence was a list of them.
        span_list: The spans, or None for tags that mark none. ``spans`` returns them or says why there are none.
        places: The first character of each token in ``text`` and the one after its last, where there are spans.
        no_spans: The reason for which there are no spans.
    """

    tokens: list[str]
    tags: list[str]
    probabilities: list[float]
    text: str = field(default="", compare=False, repr=False)
    span_list: list[Span] | None = field(default=None, repr=False)
    places: list[tuple[int, int]] = field(default_factory=list, compare=False, repr=False)
    no_spans: str = field(default="", compare=False, repr=False)

    @property
    def spans(self) -> list[Span]:
        """The spans that the tags mark, in the order of the text.

        Raises:
            ValueError: Tags that mark no spans, or of which it cannot be told.

        Example:
            >>> spans = [Span("LOC", "Rome", 3, 7, 0.9, 1, 2)]
            >>> TaggedSentence(["in", "Rome"], ["O", "B-LOC"], [1.0, 0.9], "in Rome", spans).spans[0].text
            'Rome'
        """
        if self.span_list is None:
            raise ValueError(
                self.no_spans or "This answer has no spans: the model does not say in which scheme it tags."
            )
        return self.span_list

    def to_spacy(self) -> dict[str, Any]:
        """Return the text, its spans and its tokens as spaCy writes a ``Doc`` as JSON: ``Doc.from_json`` reads it.

        As in spaCy, white space beyond a single space is a token of its own. Tokens from one character are one.

        Raises:
            ValueError: As for ``spans``.
        """
        return span_forms.spacy(self.text, self.spans, self.places)

    def to_brat(self, number: int = 1, offset: int = 0) -> str:
        """Return the spans as lines of brat's standoff format, which belong into the ``.ann`` beside the text.

        Args:
            number: The number of the first span: T1.
            offset: The place of the text's first character in its file.

        Raises:
            ValueError: As for ``spans``. A label with white space.
        """
        return span_forms.brat(self.spans, number, offset)


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


def fields(answer: Any) -> dict[str, Any]:
    """Return an answer's keys and values as JSON has them, without its text.

    A tagged sentence has ``spans`` where its tags mark some, and a prediction ``labels`` where texts may have several.

    Example:
        >>> fields(TaggedSentence(["Go"], ["VERB"], [1.0]))
        {'tokens': ['Go'], 'tags': ['VERB'], 'probabilities': [1.0]}
    """
    values = {name: value for name, value in vars(answer).items() if name != "text"}
    if isinstance(answer, Prediction) and answer.labels is None:
        del values["labels"]
    if isinstance(answer, TaggedSentence):
        spans = answer.span_list
        values = {name: values[name] for name in ("tokens", "tags", "probabilities")}
        values |= {} if spans is None else {"spans": [vars(span) for span in spans]}
    return values


def joined(labels: Sequence[str]) -> str:
    """Return several labels as one cell: with vertical bars between them, or as a list of JSON if one holds a bar.

    Example:
        >>> joined(["food", "staff"]), joined(["a|b", "c"])
        ('food|staff', '["a|b", "c"]')
    """
    return json.dumps(list(labels), ensure_ascii=False) if any("|" in label for label in labels) else "|".join(labels)


def perplexity(mean_log_probability: float) -> float:
    """Return the perplexity of words. One too large for a float becomes infinite instead of an error."""
    return math.exp(-mean_log_probability) if mean_log_probability > -700 else math.inf
