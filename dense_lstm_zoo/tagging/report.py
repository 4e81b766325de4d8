"""The summary and the error report of a tagger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dense_lstm_zoo.display import by_class, escape, label, percent, table
from dense_lstm_zoo.reports.base import summary, write

__all__ = ["USE", "all_scores", "markdown", "score_line", "summary", "write"]

USE = """bundle.predict(["a raw sentence", ["a", "list", "of", "tokens"]])
bundle.export("exports/my_model/1")  # a SavedModel for TF Serving: strings in, tokens and tags out"""


def all_scores(scores: Mapping[str, Any]) -> str:
    """Return all scores of an evaluation in one line."""
    f1 = f", span F1 {scores['f1']:.4f}" if "f1" in scores else ""
    return f"accuracy {scores['accuracy']:.4f}{f1}, {scores['tokens']:,} tokens, {scores['texts']:,} sentences"


def score_line(scores: Mapping[str, Any]) -> str:
    """Return a split's score for display, with the numbers of tokens and sentences."""
    f1 = f", span F1 {scores['f1']:.4f}" if "f1" in scores else ""
    return f"{scores['accuracy']:.4f}{f1} ({scores['tokens']:,} tokens of {scores['texts']:,} sentences)"


def markdown(evaluation: dict[str, Any], title: str) -> str:
    """Return the report in Markdown: scores by tag, and the most frequent confusions."""
    confusions = [(row["tokens"], label(row["right"]), label(row["predicted"])) for row in evaluation["confusions"]]
    f1 = f", span F1 {percent(evaluation['f1'])} %" if "f1" in evaluation else ""
    return f"""# {escape(title)}: {escape(evaluation["split"], 80)} sentences

Accuracy {percent(evaluation["accuracy"])} % of {evaluation["tokens"]:,} tokens{f1}.

## The most frequent confusions

{table(["tokens", "right", "predicted"], confusions) if confusions else "None."}

## By tag

{by_class(evaluation["tags"], "tokens")}
"""
