"""The summary and the error report of a tagger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dense_lstm_zoo.display import Markdown, by_class, escape, label, one_line, percent, table
from dense_lstm_zoo.reports.base import summary, write

__all__ = ["USE", "all_scores", "markdown", "score_line", "summary", "write"]

USE = """bundle.predict(["a raw sentence", ["a", "list", "of", "tokens"]])
bundle.export("exports/my_model/1")  # a SavedModel for TF Serving: strings in, tokens and tags out"""


def all_scores(scores: Mapping[str, Any]) -> str:
    """Return all scores of an evaluation in one line."""
    f1 = ""
    if "f1" in scores:
        f1 = f", span F1 {scores['f1']:.4f} (precision {scores['precision']:.4f}, recall {scores['recall']:.4f})"
    return f"accuracy {scores['accuracy']:.4f}{f1}, {scores['tokens']:,} tokens, {scores['texts']:,} sentences"


def score_line(scores: Mapping[str, Any]) -> str:
    """Return a split's score for display, with the numbers of tokens and sentences if it has them."""
    f1 = f", span F1 {scores['f1']:.4f}" if "f1" in scores else ""
    has_numbers = {"tokens", "texts"} <= scores.keys()  # not with scores of a user's own
    numbers = f" ({scores['tokens']:,} tokens of {scores['texts']:,} sentences)" if has_numbers else ""
    return f"{scores['accuracy']:.4f}{f1}{numbers}"


def markdown(evaluation: dict[str, Any], title: str) -> str:
    """Return the report in Markdown: scores by span and by tag, and the most frequent confusions."""
    confusions = [cells for row in evaluation["confusions"] for cells in _confusion(row)]
    f1 = f", span F1 {percent(evaluation['f1'])} %" if "f1" in evaluation else ""
    return f"""# {escape(title)}: {escape(evaluation["split"], 80)} sentences

Accuracy {percent(evaluation["accuracy"])} % of {evaluation["tokens"]:,} tokens{f1}.

## The most frequent confusions

{table(["tokens", "right", "predicted", "in a sentence"], confusions) if confusions else "None."}

{_spans(evaluation)}## By tag

{by_class(evaluation["tags"], "tokens")}
"""


def _spans(evaluation: Mapping[str, Any]) -> str:
    """Return the scores of spans by label, or the reason for which there are none, or nothing for other tags."""
    if reason := evaluation.get("no_spans"):
        return f"## Spans\n\nNot scored. {escape(reason)}\n\n"
    rows = evaluation.get("spans")  # none in older analyses
    return f"## By span\n\n{by_class(rows, 'spans')}\n\n" if rows else ""


def _confusion(row: Mapping[str, Any]) -> Iterator[tuple[object, ...]]:
    """Yield the cells of a confusion, with a line for each of its examples."""
    examples = [_sentence(**example) for example in row.get("examples", ())] or [Markdown()]  # none in older analyses
    yield row["tokens"], label(row["right"]), label(row["predicted"]), examples[0]
    yield from (("", "", "", example) for example in examples[1:])


def _sentence(words: Sequence[str], position: int, is_cut: Sequence[bool]) -> Markdown:
    """Return a part of a sentence in Markdown, with the wrong word in bold."""
    before, after = (escape(" ".join(part), cell=True) for part in (words[:position], words[position + 1 :]))
    word = escape(one_line(words[position], 60) or "(empty)", cell=True)
    parts = ("... " * is_cut[0] + before, f"**{word}**", after + " ..." * is_cut[1])
    return Markdown(" ".join(part for part in parts if part))
