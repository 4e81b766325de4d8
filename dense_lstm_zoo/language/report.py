"""The summary and the report of a language model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dense_lstm_zoo.display import escape, table
from dense_lstm_zoo.reports.base import summary, write

__all__ = ["USE", "all_scores", "markdown", "score_line", "summary", "write"]

USE = """bundle.score(["a sentence", "another one"])
bundle.generate("how a text begins", seed=1).text
bundle.next_words("how a text begins", k=5)
bundle.export("exports/my_model/1")  # a SavedModel for TF Serving: strings in, log probabilities out"""


def all_scores(scores: Mapping[str, Any]) -> str:
    """Return all scores of an evaluation in one line."""
    unknown = f"{scores['unknown_words']:,} of them unknown words"
    return f"perplexity {scores['perplexity']:.2f}, {scores['tokens']:,} tokens, {unknown}"


def score_line(scores: Mapping[str, Any]) -> str:
    """Return a split's score for display, with the number of tokens if it has it."""
    if not {"tokens", "unknown_words"} <= scores.keys():  # those of a user's own have none
        return f"{scores['perplexity']:.2f}"
    unknown = f"{scores['unknown_words']:,} of them unknown words"
    return f"{scores['perplexity']:.2f} ({scores['tokens']:,} tokens, {unknown})"


def markdown(evaluation: dict[str, Any], title: str) -> str:
    """Return the report in Markdown, with the perplexity of words by frequency."""
    rows = [
        (f"{row['from']:,} to {row['to']:,}", f"{row['perplexity']:.2f}", f"{row['tokens']:,}")
        for row in evaluation["by_rank"]
    ]
    text = f"""# {escape(title)}: {escape(evaluation["split"], 80)} text

Perplexity {evaluation["perplexity"]:.2f} over {evaluation["tokens"]:,} tokens, of which
{evaluation["unknown_words"]:,} are unknown words (`<unk>`), counted as in the papers.
"""
    if not rows:
        return text
    return f"""{text}
## By frequency in the training text

{table(["rank of the word", "perplexity", "tokens"], rows)}
"""
