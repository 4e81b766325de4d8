"""The form of a language model's answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dense_lstm_zoo.tasks.answers import AnswerForm


def _line(answer: Mapping[str, Any], text: str) -> list[str]:
    return [f"{answer['log_probability']:.4f}", f"{answer['perplexity']:.2f}", text]


ANSWERS = AnswerForm(
    {"log_probability": float, "perplexity": float, "tokens": int, "unknown_words": int},
    _line,
    output="log_probability",
)
