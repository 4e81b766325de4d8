"""The form of a tagger's answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dense_lstm_zoo.tasks.answers import AnswerForm, strings
from dense_lstm_zoo_runtime.answers import Span, TaggedSentence
from dense_lstm_zoo_runtime.schemes import SchemeError, scheme_of

_NO_SPANS = "A SavedModel does not say which tags it has, so its answers have no spans. Use an ONNX export or a bundle."


def _line(answer: Mapping[str, Any], text: str) -> list[str]:
    return [" ".join(f"{token}/{tag}" for token, tag in zip(answer["tokens"], answer["tags"], strict=True))]


def _of_outputs(texts: Sequence[str], outputs: Mapping[str, Any]) -> list[TaggedSentence]:
    sentences = []
    for row, length in enumerate(outputs["row_lengths"].tolist()):
        tokens, tags = (strings(outputs[name][row][:length]) for name in ("tokens", "tags"))
        probabilities = outputs["probabilities"][row][:length].tolist()
        sentences.append(TaggedSentence(tokens, tags, probabilities, texts[row], no_spans=_NO_SPANS))
    return sentences


def _spans_of(labels: Sequence[str]) -> dict[str, Any]:
    try:
        scheme_of(labels)
    except SchemeError:
        return {}
    return {"spans": list[Span]}


ANSWERS = AnswerForm(
    {"tokens": list[str], "tags": list[str], "probabilities": list[float]},
    _line,
    shared=frozenset({"tokens"}),
    output="tags",
    of_outputs=_of_outputs,
    more_keys=_spans_of,
)
