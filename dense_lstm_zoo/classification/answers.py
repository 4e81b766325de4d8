"""The form of a classifier's answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dense_lstm_zoo.tasks.answers import AnswerForm, cell, strings
from dense_lstm_zoo_runtime.answers import Prediction


def _line(answer: Mapping[str, Any], text: str) -> list[str]:
    return [answer["label"], f"{answer['probability']:.4f}", text]


def _line_of_several(answer: Mapping[str, Any], text: str) -> list[str]:
    return [cell(answer["labels"]), f"{answer['probability']:.4f}", text]


def _of_outputs(texts: Sequence[str], outputs: Mapping[str, Any]) -> list[Prediction]:
    names = strings(outputs["labels"][0])
    if "predicted" in outputs:
        from dense_lstm_zoo_runtime.decisions import of_several

        several = zip(texts, outputs["probabilities"], outputs["predicted"], strict=True)
        return [of_several(names, text, shares, label_mask, None) for text, shares, label_mask in several]
    rows = zip(texts, strings(outputs["label"]), outputs["probabilities"].tolist(), strict=True)
    return [
        Prediction(text, label, shares[names.index(label)], dict(zip(names, shares, strict=True)))
        for text, label, shares in rows
    ]


_KEYS = {"label": str, "probability": float, "probabilities": dict[str, float]}
_OF_SEVERAL = AnswerForm(
    {"labels": list[str], **_KEYS},
    _line_of_several,
    by_label="probabilities",
    output="label",
    of_outputs=_of_outputs,
)
ANSWERS = AnswerForm(
    _KEYS, _line, by_label="probabilities", output="label", of_outputs=_of_outputs, several=_OF_SEVERAL
)
