"""Views in notebooks of bundles, predictions and explanations: HTML that is readable without colour.

Every text goes through ``_text``, which escapes it. There are no scripts, links or pictures.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from dense_lstm_zoo.display import one_line
from dense_lstm_zoo_runtime.answers import Prediction, Score, TaggedSentence
from dense_lstm_zoo_runtime.span_forms import Span

_ROWS = 100  # of a table
_LETTERS = 300  # of a text
_SHOWN_LABELS = 12
_CELL = "text-align:left;vertical-align:top;padding:2px 12px 2px 0"
_WORD = "display:inline-block;text-align:center;margin:1px;padding:1px 4px;border-radius:3px"
# Half transparent, so that words stay readable on light and on dark pages.
_FOR, _AGAINST, _SHARE = "0,140,60", "210,60,30", "40,110,220"
_MARK = f"padding:1px 4px;border-radius:3px;background:rgba({_SHARE},0.30)"

T = TypeVar("T")


class Answers(list[T]):
    """A list of predictions, tagged sentences or scores, which a notebook shows as a table."""

    def _repr_html_(self) -> str:
        first = self[:_ROWS]
        header, rows = _columns(first)
        more = len(self) - len(first)
        end = f"<p>{more:,} more rows are not shown.</p>" if more else ""
        return _table(header, rows) + end


def _columns(answers: Sequence[Any]) -> tuple[list[str], list[list[str]]]:
    """Return the header and the cells, as HTML."""
    if all(isinstance(answer, Prediction) for answer in answers):
        labels = [answer.label if answer.labels is None else ", ".join(answer.labels) for answer in answers]
        cells = [
            [_text(answer.text), _text(label), f"{answer.probability:.4f}"]
            for answer, label in zip(answers, labels, strict=True)
        ]
        return ["text", "label", "probability"], cells
    if all(isinstance(answer, TaggedSentence) for answer in answers):
        kinds = "tags" if any(answer.span_list is None for answer in answers) else "spans"
        return [f"tokens with their {kinds}"], [[_tagged(answer)] for answer in answers]
    if all(isinstance(answer, Score) for answer in answers):
        numbers = ["log probability", "perplexity", "tokens", "unknown words"]
        cells = [
            [
                _text(answer.text),
                f"{answer.log_probability:.4f}",
                f"{answer.perplexity:.2f}",
                f"{answer.tokens:,}",
                f"{answer.unknown_words:,}",
            ]
            for answer in answers
        ]
        return ["text", *numbers], cells
    return ["answer"], [[_text(answer)] for answer in answers]


def _tagged(sentence: TaggedSentence) -> str:
    if sentence.span_list is not None:
        return _marked(sentence.tokens, sentence.span_list)
    pairs = zip(sentence.tokens, sentence.tags, strict=True)
    return " ".join(_word(token, tag) for token, tag in pairs)


def _marked(tokens: Sequence[str], spans: Iterable[Span]) -> str:
    """Return tokens in which spans are shaded, each with its label and confidence behind it."""
    parts, end = list[str](), 0
    for span in spans:
        note = f"{span.label} {span.confidence:.4f}".strip()
        parts += map(_text, tokens[end : span.first_token])
        parts.append(f'<span style="{_MARK}">{_text(span.text)} <small><strong>{_text(note)}</strong></small></span>')
        end = span.end_token
    parts += map(_text, tokens[end:])
    return f'<div style="overflow-wrap:anywhere">{" ".join(parts)}</div>'


def bundle_card(bundle: Any) -> str:
    """Return a card with the name, task, scores and sizes of a ``Bundle``."""
    config, metrics, measure = bundle.config, bundle.metrics, bundle.task.measure
    training = config["training"]
    rows = {"task": _text(bundle.task.name), "trained on": _text(training.get("dataset"))}
    for split in ("dev", "test"):
        value = metrics.get(f"{split}_{measure}")
        if isinstance(value, int | float):
            count = metrics.get(f"{split}_texts")
            of = f" ({count:,} texts)" if isinstance(count, int) else ""
            rows[f"{split} {measure}"] = f"{value:.{bundle.task.digits}f}{of}"
    if len(rows) == 2:
        rows["scores"] = "none"
    if bundle.labels:
        names = ", ".join(bundle.labels[:_SHOWN_LABELS])
        dots = ", ..." if len(bundle.labels) > _SHOWN_LABELS else ""
        rows["labels"] = f"{len(bundle.labels):,}: {_text(names + dots)}"
    rows["words"] = f"{len(bundle.vocabulary.words):,}"
    rows["parameters"] = f"{int(bundle.network.count_params()):,}"
    return f"<div><strong>{_text(config['model'])}</strong>{_pairs(rows)}</div>"


def explanation(explained: Any) -> str:
    """Return an explanation: words shaded by their saliency, and by each layer's shares, with the numbers below them.

    Args:
        explained: A classifier's ``Explanation``.
    """
    largest = max((abs(float(value)) for value in explained.saliency if math.isfinite(value)), default=0.0)
    lines = {
        "saliency": " ".join(map(_shaded, explained.tokens, explained.saliency, [largest] * len(explained.tokens)))
    }
    for name, shares in zip(explained.layers, explained.shares.T, strict=True):
        words = zip(explained.tokens, shares, strict=True)
        lines[name] = " ".join(_word(word, f"{share:.2f}", _SHARE, float(share)) for word, share in words)
    heading = f"<p><strong>{_text(explained.label)}</strong> {explained.probability:.4f}</p>"
    note = "<p>+ counts for the label, \N{MINUS SIGN} against it.</p>"
    return f"<div>{heading}{_pairs(lines)}{note}</div>"


def _shaded(word: str, saliency: float, largest: float) -> str:
    value = float(saliency)
    sign = "+" if value >= 0 else "\N{MINUS SIGN}"
    strength = abs(value) / largest if largest and math.isfinite(value) else 0.0
    return _word(word, f"{sign}{abs(value):.3f}", _FOR if value >= 0 else _AGAINST, strength)


def _word(word: str, below: str, colour: str = _SHARE, strength: float = 0.0) -> str:
    """Return a word with a text below it, on a background that is stronger the nearer ``strength`` is to 1."""
    shade = f";background:rgba({colour},{0.6 * min(max(strength, 0.0), 1.0):.2f})" if strength else ""
    return f'<span style="{_WORD}{shade}">{_text(word)}<br><small>{_text(below)}</small></span>'


def _text(value: object) -> str:
    return html.escape(one_line(value, _LETTERS))


def _table(header: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are HTML already."""
    head = "".join(f'<th style="{_CELL}">{_text(name)}</th>' for name in header)
    lines = ["".join(f'<td style="{_CELL}">{cell}</td>' for cell in row) for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _pairs(rows: Mapping[str, str]) -> str:
    """Return a table of names with what is HTML already beside each."""
    lines = [
        f'<tr><th style="{_CELL}">{_text(name)}</th><td style="{_CELL}">{cell}</td></tr>' for name, cell in rows.items()
    ]
    return f"<table><tbody>{''.join(lines)}</tbody></table>"
