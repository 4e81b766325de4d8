"""The result of a comparison, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.comparing.differences import Interval
from dense_lstm_zoo.data.cells import csv_row, escape_controls
from dense_lstm_zoo.tasks import Task

if TYPE_CHECKING:
    from dense_lstm_zoo.storage.outputs import Target

_MOST_CLASSES = 50
_NAMES = ("A", "B")
_CHANCE = 0.05  # a p-value above it may be chance


@dataclass(frozen=True)
class Row:
    """A score of both models, and the first model's minus the second's."""

    name: str
    first: float
    second: float
    difference: Interval

    def values(self) -> dict[str, Any]:
        """Return its values, for JSON and for a frame."""
        bounds = {"difference": self.difference.value, "low": self.difference.low, "high": self.difference.high}
        return {"score": self.name, "first": self.first, "second": self.second, **bounds}


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two trained models on the same texts. ``print`` shows it as a table.

    Args:
        names: The names of the two models, A and B, as they were given.
        models: The registered names of their models.
        task: Their task.
        dataset: The name of the texts.
        split: The part of it.
        count: The number of texts, or of pairs of runs.
        unit: What is counted.
        scores: One row per score, the task's own first.
        classes: One row per class with its F1.
        only_right: How many texts A alone gets right, and how many B alone gets right. None where answers are not right
            or wrong.
        p_value: That of McNemar's exact test, or None.
        texts: The texts on which they differ: text, right answer (None for language models), answer of A, answer of B,
            and which of the two is right (``"A"``, ``"B"`` or ``""``).
        notes: Sentences that a reader needs.
    """

    names: tuple[str, str]
    models: tuple[str, str]
    task: Task
    dataset: str
    split: str
    count: int
    unit: str
    scores: Sequence[Row]
    classes: Sequence[Row] = ()
    only_right: tuple[int, int] | None = None
    p_value: float | None = None
    texts: Sequence[tuple[str, str | None, str, str, str]] = ()
    notes: Sequence[str] = field(default_factory=list)

    @property
    def difference(self) -> Interval:
        """The difference of the task's own score, A minus B, with its 95 % interval."""
        return self.scores[0].difference

    @property
    def verdict(self) -> str:
        """A sentence that says whether the difference is more than chance."""
        name, difference = self.scores[0].name.replace("_", " "), self.difference
        if difference.low != difference.low:
            return f"Nothing is known of chance in the difference of {name}."
        if not difference.is_apart:
            return f"The difference of {name} may be chance: its 95 % interval contains zero."
        if name == "accuracy" and self.p_value is not None and self.p_value > _CHANCE:
            return (
                f"The difference of {name} may be chance: only {sum(self.only_right or ())} texts tell the models "
                f"apart (McNemar's exact test, p = {self.p_value:.2g})."
            )
        better = _NAMES[(difference.value > 0) != self.task.higher_is_better]
        return f"{better} has the better {name}: the 95 % interval of the difference leaves zero out."

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, without the texts."""
        return {
            **{"first": self.names[0], "second": self.names[1], "models": list(self.models), "task": self.task.name},
            **{"dataset": self.dataset, "split": self.split, self.unit: self.count},
            "scores": [row.values() for row in self.scores],
            "f1_by_class": [row.values() for row in self.classes],
            "only_first_right": self.only_right and self.only_right[0],
            "only_second_right": self.only_right and self.only_right[1],
            "mcnemar_p": self.p_value,
            "differing": len(self.texts),
            "notes": list(self.notes),
        }

    def write_texts(self, target: Target) -> None:
        """Write the texts on which they differ as csv, whole or not at all.

        The columns are ``text``, ``right``, ``A``, ``B`` and ``only_right``. Language models have the log probability
        of each line in ``A`` and ``B``.
        """
        from dense_lstm_zoo.storage.packed_files import new_output

        columns = [0, 2, 3] if self.only_right is None else [0, 1, 2, 3, 4]
        names = ("text", "right", *_NAMES, "only_right")
        with new_output(target) as file:
            file.write(csv_row(names[i] for i in columns))
            for row in self.texts:
                file.write(csv_row(row[i] for i in columns))

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for letter, name, model in zip(_NAMES, self.names, self.models, strict=True):
            yield f"{letter}  {escape_controls(name)} ({model})"
        yield f"{self.count:,} {self.unit}, {self.split} set of {escape_controls(self.dataset)}\n"
        yield from _table(self.scores, "score", self.task.digits)
        if self.classes:
            yield ""
            yield from _table(self.classes[:_MOST_CLASSES], "F1 by class", self.task.digits)
            if len(self.classes) > _MOST_CLASSES:
                yield f"{len(self.classes) - _MOST_CLASSES:,} more classes are not shown."
        yield f"\n{self.verdict}"
        if self.only_right is not None and self.p_value is not None:
            yield (
                f"{self.only_right[0]:,} {self.unit} only A gets right, {self.only_right[1]:,} only B: McNemar's exact "
                f"test p = {self.p_value:.2g}."
            )
            yield f"They answer {len(self.texts):,} {self.unit} differently."
        yield from self.notes


def _table(rows: Sequence[Row], title: str, digits: int) -> Iterator[str]:
    names = [escape_controls(row.name.replace("_", " ") if title == "score" else row.name)[:40] for row in rows]
    width = max(len(title), *map(len, names))
    yield f"{title:<{width}}  {'A':>9}  {'B':>9}  A - B (95 % interval)"
    for name, row in zip(names, rows, strict=True):
        first, second = (f"{value:.{digits}f}" if value == value else "-" for value in (row.first, row.second))
        yield f"{name:<{width}}  {first:>9}  {second:>9}  {row.difference.text(digits)}"
