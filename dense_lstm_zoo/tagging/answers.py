"""The form of a tagger's answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dense_lstm_zoo.tasks.answers import AnswerForm, strings
from dense_lstm_zoo_runtime.answers import TaggedSentence


def _line(answer: Mapping[str, Any], text: str) -> list[str]:
    return [" ".join(f"{token}/{tag}" for token, tag in zip(answer["tokens"], answer["tags"], strict=True))]


def _of_outputs(texts: Sequence[str], outputs: Mapping[str, Any]) -> list[TaggedSentence]:
    sentences = []
    for row, length in enumerate(outputs["row_lengths"].tolist()):
        tokens, tags = (strings(outputs[name][row][:length]) for name in ("tokens", "tags"))
        sentences.append(TaggedSentence(tokens, tags, outputs["probabilities"][row][:length].tolist()))
    return sentences


ANSWERS = AnswerForm(
    {"tokens": list[str], "tags": list[str], "probabilities": list[float]},
    _line,
    shared=frozenset({"tokens"}),
    output="tags",
    of_outputs=_of_outputs,
)
