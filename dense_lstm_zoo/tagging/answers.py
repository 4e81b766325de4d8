"""The form of a tagger's answers."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.tasks.answers import AnswerForm, strings
from dense_lstm_zoo_runtime.answers import TaggedSentence
from dense_lstm_zoo_runtime.schemes import SchemeError, scheme_of
from dense_lstm_zoo_runtime.span_forms import Span

if TYPE_CHECKING:
    from dense_lstm_zoo_runtime.spans import SpanReader

_NO_SPANS = "This SavedModel, of an older version, does not say which tags it has. Export it again for spans."


def _line(answer: Mapping[str, Any], text: str) -> list[str]:
    return [" ".join(f"{token}/{tag}" for token, tag in zip(answer["tokens"], answer["tags"], strict=True))]


def _of_outputs(texts: Sequence[str], outputs: Mapping[str, Any]) -> list[TaggedSentence]:
    reader = _reader_of(outputs) if "labels" in outputs else None
    sentences = []
    for row, length in enumerate(outputs["row_lengths"].tolist()):
        tokens, tags = (strings(outputs[name][row][:length]) for name in ("tokens", "tags"))
        probabilities = outputs["probabilities"][row][:length].tolist()
        if reader is None:
            sentences.append(TaggedSentence(tokens, tags, probabilities, texts[row], no_spans=_NO_SPANS))
        else:
            scores = outputs["scores"][row][:length]
            sentences.append(reader.answer(texts[row], tokens, tags, probabilities, scores))
    return sentences


def _reader_of(outputs: Mapping[str, Any]) -> SpanReader:
    """Return what makes answers with spans of a SavedModel's outputs."""
    from dense_lstm_zoo_runtime.chain import CRF_WEIGHTS

    weights = [outputs[name] for name in CRF_WEIGHTS if name in outputs]
    return _reader(tuple(strings(outputs["labels"][0])), tuple((w.shape, w.tobytes()) for w in weights))


@functools.lru_cache(maxsize=8)  # the same for each batch of a model
def _reader(labels: tuple[str, ...], weights: tuple[tuple[tuple[int, ...], bytes], ...]) -> SpanReader:
    import numpy as np

    from dense_lstm_zoo_runtime.spans import SpanReader

    arrays = [np.frombuffer(values, np.float32).reshape(shape) for shape, values in weights]
    return SpanReader(labels, arrays or None)


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
