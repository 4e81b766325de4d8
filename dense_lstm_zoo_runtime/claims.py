"""Checks of what the files of a bundle or an export claim: each raises ``ValueError`` before any use.

A checksum shows that files are unchanged since they were written, not who wrote them, so no claim in them is trusted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from dense_lstm_zoo_runtime import checks, rules

DIRECTIONS = ("forward", "backward")  # in which a language model reads
_CASES = (None, "binary", "four_way")
_TEXT = {
    "chars": str,
    "num_frozen_words": int,
    "oov": str,
    "max_tokens": int,
    "case": (str, type(None)),
    "whole_words": bool,
    "direction": str,
    "tokenizer": int,
}


def parse_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: Not JSON, nested too deeply, an object with the same key twice, of which readers take either, or
            ``NaN`` or ``Infinity``, which JSON does not have but Python's reader accepts.

    Example:
        >>> parse_json('{"units": 3, "units": 4}')
        Traceback (most recent call last):
        ValueError: the key 'units' occurs twice in an object
    """
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError(f"the key {short(twice(key for key, _ in pairs))} occurs twice in an object")
    return fields


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number that JSON has")


def short(value: object) -> str:
    """Return how a value begins, for a message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def labels(values: object) -> list[str]:
    """Return the names of classes or tags, which must be a list of distinct strings that can be written to a file."""
    if not isinstance(values, list):
        raise ValueError(f"the labels must be a list of strings; they are {short(values)}")
    for label in values:
        if not isinstance(label, str):
            raise ValueError(f"a label must be a string; one is {short(label)}")
        if not checks.is_writable(label):
            raise ValueError(f"the label {short(label)} holds a lone surrogate, which no file can hold")
    return distinct(values)


def thresholds(values: object, labels: Sequence[str], labels_per_text: object) -> None:
    """Check thresholds by label, which must be names of labels with numbers above 0 and below 1.

    Where texts have one label each, only one of two labels can have one.
    """
    if labels_per_text not in ("one", "several"):
        raise ValueError(f"the labels of a text must be one or several; they are {short(labels_per_text)}")
    if not isinstance(values, dict):
        raise ValueError(f"the thresholds must be an object; they are {short(values)}")
    for name, value in values.items():
        if name not in labels:
            raise ValueError(f"a threshold is for {short(name)}, which is not a label")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
            raise ValueError(f"the threshold of {short(name)} is {short(value)}")
    if labels_per_text == "one" and values and (len(labels) != 2 or len(values) != 1):
        raise ValueError(f"{len(values)} thresholds are for texts that have one of {len(labels)} labels")


def distinct(values: list[str]) -> list[str]:
    """Return values if none of them occurs twice."""
    if len(set(values)) < len(values):
        raise ValueError(f"{short(twice(values))} occurs twice")
    return values


def twice(values: Iterable[Any]) -> Any:
    """Return the value that occurs most often."""
    return Counter(values).most_common(1)[0][0]


def words(data: bytes) -> list[str]:
    """Return the words of a vocabulary file, one per line. There may be none, and none may occur twice."""
    *lines, unfinished = data.decode().split("\n")
    if unfinished:
        raise ValueError(f"its last line, {short(unfinished)}, has no end")
    return distinct(lines)


def text_settings(text: dict[str, Any]) -> None:
    """Check how a model reads text, the ``text`` of its config: the kind and range of every value."""
    for name, value in text.items():
        is_right = (
            name in _TEXT
            and isinstance(value, _TEXT[name])  # type: ignore[arg-type]
            and not (isinstance(value, bool) and _TEXT[name] is not bool)
            and not (name == "oov" and value not in ("drop", "unk"))
            and not (name == "max_tokens" and value < 1)
            and not (name == "num_frozen_words" and value < 0)
            and not (name == "case" and value not in _CASES)
            and not (name == "direction" and value not in DIRECTIONS)
            and not (name == "tokenizer" and value not in rules.VERSIONS)
        )
        if not is_right:
            raise ValueError(f"{name!r:.80} in 'text' is {short(value)}")
    chars = text.get("chars", "")
    if len(set(chars)) < len(chars) or not checks.is_writable(chars):
        raise ValueError("its characters must be distinct and valid Unicode")


def own_names(names: Sequence[str]) -> None:
    """Check the names of a folder's files in its manifest: each in that folder, and apart from the others anywhere."""
    for name in names:
        if Path(name).name != name or name in ("", ".", "..") or set(name) & set("/\\:\0"):
            raise ValueError(f"{name!r:.80} is not the name of a file in its folder")
    folded = [name.casefold() for name in names]
    if len(set(folded)) < len(folded):
        raise ValueError(f"{twice(folded)!r:.80} names two files on systems that ignore capitals")
