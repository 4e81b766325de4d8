"""Two language models on the same text, for the command compare."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dense_lstm_zoo.comparing.outcomes import Outcomes
from dense_lstm_zoo.data.text_file import TextSource, token_lines

if TYPE_CHECKING:
    from dense_lstm_zoo.comparing.sides import Side
    from dense_lstm_zoo.language.bundle import LanguageModelBundle

SCORES = ("perplexity",)
_WHY = "Perplexities compare only where the same words are predicted, in the same order"


def check(first: Side, second: Side) -> None:
    """Raise ``ValueError`` for language models of other words, or that read in opposite directions."""
    sizes = [side.config["arguments"]["vocab_size"] for side in (first, second)]
    if sizes[0] != sizes[1]:
        raise ValueError(f"{_WHY}: {first.name} knows {sizes[0]:,} words, {second.name} {sizes[1]:,}.")
    ways = [side.config["text"].get("direction", "forward") for side in (first, second)]
    if ways[0] != ways[1]:
        raise ValueError(f"{_WHY}: {first.name} reads {ways[0]}, {second.name} {ways[1]}.")


def outcomes(
    first: LanguageModelBundle,
    second: LanguageModelBundle,
    data: TextSource,
    label_names: Sequence[str] | None = None,
) -> Outcomes:
    """Return what two language models make of running text, line by line.

    Raises:
        ValueError: Models that do not know the same words, or a text of fewer than two tokens.
    """
    if set(first.vocabulary.words) != set(second.vocabulary.words):
        word = min(set(first.vocabulary.words) ^ set(second.vocabulary.words))
        raise ValueError(f"{_WHY}: only one of the models knows {word!r:.80}.")
    lines = [" ".join(tokens) for tokens in token_lines(data)]
    if first.vocabulary.direction == "backward":
        lines.reverse()
    line = np.repeat(np.arange(len(lines)), [1 + len(tokens.split()) for tokens in lines])  # of each token and end
    statistics = [_by_line(bundle, data, line) for bundle in (first, second)]

    def scores(sums: np.ndarray) -> dict[Hashable, np.ndarray]:
        with np.errstate(over="ignore"):
            return {"perplexity": np.exp(-sums[:, 0] / sums[:, 1])}

    return Outcomes(
        texts=lines,
        right=None,
        answers=tuple([f"{total:.4f}" for total, _ in rows] for rows in statistics),  # type: ignore[arg-type]
        is_right=None,
        statistics=(statistics[0], statistics[1]),
        scores=scores,
        unit="lines",
    )


def _by_line(bundle: LanguageModelBundle, text: TextSource, line: np.ndarray) -> np.ndarray:
    """Return the log probability of each line, and the number of its tokens: (lines, 2).

    Args:
        bundle: The language model.
        text: Its lines.
        line: The number of each token's line: (tokens,).
    """
    _, log_probabilities = bundle.token_scores(text)
    # The first token of the text is read, not predicted.
    totals = np.bincount(line[1:], log_probabilities, minlength=line[-1] + 1)
    return np.stack([totals, np.bincount(line[1:], minlength=line[-1] + 1)], axis=1)
