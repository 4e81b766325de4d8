"""Requests and answers of a signature in the JSON of TF Serving's REST interface."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from dense_lstm_zoo.exports.signature import Signature

REST = "..."  # stands for the rest of a long list
LONGEST = 12  # items of a list in an answer
# An array, or a value of one, as JSON has it. Bytes stay where they are not text.
Plain: TypeAlias = "str | bytes | bool | int | float | list[Plain]"
# The tensors of a request or an answer: by name, row by row, or those of the only one.
Content: TypeAlias = dict[str, list[Plain]] | list[Plain] | list[dict[str, Plain]]
_LARGEST_REQUEST = 600  # values of a tensor; a shorter one is shown whole, so that it can be sent as it is


def request(signature: Signature) -> str:
    """Return the body of the example's request.

    Signatures with a row per text take TF Serving's row format, others its columnar format.
    """
    inputs = {name: plain(value, _cut(value)) for name, value in signature.request.items()}
    form = "inputs" if signature.is_concatenated else "instances"
    return _body(f'"signature_name": {json.dumps(signature.name)}, "{form}": ', _content(inputs, signature))


def answer(signature: Signature) -> str:
    """Return the body of the answer to the example's request, its numbers rounded and its long lists cut."""
    outputs = {name: plain(value, LONGEST) for name, value in signature.answer.items()}
    form = "outputs" if signature.is_concatenated else "predictions"
    return _body(f'"{form}": ', _content(outputs, signature))


def plain(value: np.ndarray, longest: int | None = None, *, as_text: bool = True) -> list[Plain]:
    """Return an array as nested lists of strings, truth values, integers and numbers of four digits.

    Args:
        value: Any array. Its bytes are UTF-8.
        longest: Cut longer lists within a row, and say so with ``"..."``. None cuts none.
        as_text: Whether bytes become strings.

    Example:
        >>> plain(np.array([[0.123456, 2.0], [3.0, 4.0]]), longest=1)
        [[0.1235, '...'], [3.0, '...']]
    """
    return [_plain(row, longest, as_text) for row in value]


def _plain(value: np.ndarray | np.generic | bytes, longest: int | None, as_text: bool) -> Plain:
    if isinstance(value, np.ndarray):
        rows = [_plain(row, longest, as_text) for row in value[:longest]]
        return rows if longest is None or len(value) <= longest else [*rows, REST]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace") if as_text else value
    if isinstance(value, np.bool_):
        return bool(value)
    return float(f"{value:.4g}") if isinstance(value, np.floating) else int(value)


def _cut(value: np.ndarray) -> int | None:
    return LONGEST if value.size > _LARGEST_REQUEST else None


def _content(tensors: Mapping[str, list[Plain]], signature: Signature) -> Content:
    if signature.is_concatenated:
        return dict(tensors)
    if len(tensors) == 1:  # TF Serving leaves out the name of a single tensor
        return next(iter(tensors.values()))
    return [dict(zip(tensors, row, strict=True)) for row in zip(*tensors.values(), strict=True)]


def _body(start: str, content: Content) -> str:
    """Return a JSON object with one row, or one tensor, per line."""
    if isinstance(content, dict):
        lines, ends = [f"{_line(name)}: {_line(value)}" for name, value in content.items()], "{}"
    else:
        lines, ends = [_line(row) for row in content], "[]"
    return f"{{{start}{ends[0]}\n  " + ",\n  ".join(lines) + f"\n{ends[1]}}}"


def _line(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)
