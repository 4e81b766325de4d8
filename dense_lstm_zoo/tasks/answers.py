"""The form of a task's answers: their keys in JSON, their columns in a table, their line in a text file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo_runtime import answers

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class AnswerForm:
    """The keys of an answer and how a table and a text file show it.

    Args:
        keys: The type of each value that an answer has beside its text, by its name.
        line: Returns the strings that a line of text joins with tabs, from an answer's ``fields`` and its text.
        by_label: The key whose value is a number for each label. A table has a column for each of them.
        output: The output by which the default signature of a SavedModel shows its task.
        of_outputs: Returns the answers to texts that the outputs of such a signature hold, as arrays, or those of the
            function ``ANSWER`` where a SavedModel has it. It is None for a task whose SavedModels answer with numbers
            alone.
        shared: Keys that the input may already have, with the same value.
        several: The form of the answers of models whose texts may have several labels.
        more_keys: Returns keys that only the answers of some models have, from the model's labels.

    Example:
        >>> from dense_lstm_zoo import tasks
        >>> form = tasks.find("classification").answers
        >>> form.columns(["no", "yes"])
        ['label', 'probability', 'p_no', 'p_yes']
        >>> form.values({"label": "no", "probability": 0.75, "probabilities": {"no": 0.75, "yes": 0.25}}, ["no", "yes"])
        ['no', 0.75, 0.75, 0.25]
    """

    keys: Mapping[str, Any]
    line: Callable[[Mapping[str, Any], str], list[str]]
    output: str
    by_label: str | None = None
    of_outputs: Callable[[Sequence[str], Mapping[str, Any]], list[Any]] | None = None
    shared: frozenset[str] = frozenset()
    several: AnswerForm | None = None
    more_keys: Callable[[Sequence[str]], Mapping[str, Any]] = lambda labels: {}

    def of_model(self, model: object) -> AnswerForm:
        """Return the form of the answers of a trained model."""
        return self.several if self.several is not None and getattr(model, "is_several", False) else self

    def keys_of(self, labels: Sequence[str]) -> dict[str, Any]:
        """Return the keys of a model's answers, with the type of each value."""
        return {**self.keys, **self.more_keys(labels)}

    def columns(self, labels: Sequence[str]) -> list[str]:
        """Return the names of the columns of a table."""
        names: list[str] = []
        for key in self.keys_of(labels):
            names += [f"p_{label}" for label in labels] if key == self.by_label else [key]
        return names

    def values(self, fields: Mapping[str, Any], labels: Sequence[str]) -> list[Any]:
        """Return the values of those columns, from an answer's ``fields``."""
        values: list[Any] = []
        for key in self.keys_of(labels):
            values += [fields[key][label] for label in labels] if key == self.by_label else [fields[key]]
        return values


def fields(answer: Any) -> dict[str, Any]:
    """Return an answer's keys and values for files and tables, without its text and the count of its known words.

    A value that a model does not give, such as several labels, is left out.

    Example:
        >>> from dense_lstm_zoo_runtime import Prediction
        >>> fields(Prediction("fine", "yes", 0.75, {"no": 0.25, "yes": 0.75}))
        {'label': 'yes', 'probability': 0.75, 'probabilities': {'no': 0.25, 'yes': 0.75}}
    """
    return {name: value for name, value in answers.fields(answer).items() if name != "known_words"}


def cell(value: object) -> str:
    """Return a value of an answer as a cell of csv.

    Labels are joined with vertical bars, so that ``label_separator`` reads them again.

    Example:
        >>> cell(0.25), cell(["food", "staff"]), cell(["a|b", "c"])
        ('0.250000', 'food|staff', '["a|b", "c"]')
    """
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return answers.joined(value)
    if isinstance(value, str):
        return value
    return f"{value:.6f}" if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def strings(values: np.ndarray) -> list[str]:
    """Return the strings in an array of bytes."""
    return [value.decode() for value in values.tolist()]
