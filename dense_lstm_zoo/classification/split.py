"""The texts of a part of a corpus with their labels, or a teacher's probabilities of labels."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any, SupportsIndex

from dense_lstm_zoo import checks
from dense_lstm_zoo.data import soft_labels
from dense_lstm_zoo.data.label_columns import SETS
from dense_lstm_zoo.data.stored_texts import StoredTexts

if TYPE_CHECKING:
    import numpy as np

_LIKELY = 0.5  # the probability from which a label is one of several that stand for missing ones


@dataclass(frozen=True, repr=False)
class Split:
    """Texts and, for each, the index of its label in ``Corpus.label_names``, or a list of them if texts have several.

    Training texts may have soft labels instead, or as well: ``probabilities``, a matrix (texts, labels). The labels, or
    some of them, are then None. In their place ``labels`` holds the likeliest ones, and ``is_labelled`` says which are
    given. ``teachers`` names those who gave the probabilities. Where texts may have several labels, each probability is
    one by itself, and the likely labels are those of at least a half. ``several=True`` says so where no label does.

    Arrays and pandas' columns become lists. ``StoredTexts``, which a large file is read into, stay as they are, and the
    labels and lines beside them are arrays of Python's ``array``. ``lines`` says where each text is in its file, for
    errors, and ``unit`` whether that is a "line" or a "row".

    Raises:
        TypeError: A string in place of texts, an item that is no string, a label that is not an integer, or lists
            among single labels.
        ValueError: Another number of labels than of texts, or probabilities that are negative, not finite or do not add
            up to 1, or of several labels are above 1.

    Example:
        >>> split = Split(["fine", "dull"], [1, None], probabilities=[[0.4, 0.6], [0.9, 0.1]])
        >>> split.labels, split.is_labelled.tolist()
        ([1, 0], [True, False])
    """

    texts: Sequence[str]
    labels: Sequence[Any] = ()
    lines: Sequence[int] = field(default=(), compare=False)
    unit: str = field(default="line", compare=False)
    probabilities: Any = field(default=(), compare=False, kw_only=True)
    is_labelled: Any = field(default=(), compare=False, kw_only=True)
    teachers: Sequence[str] = field(default=(), compare=False, kw_only=True)
    several: InitVar[bool] = field(default=False, kw_only=True)

    def __post_init__(self, several: bool) -> None:
        checks.sequence(self.texts)
        if self.probabilities is None:
            object.__setattr__(self, "probabilities", ())
        if self.is_soft:
            self._complete_labels(several)
        if self.labels is None:
            raise ValueError("A split without labels needs probabilities (probabilities=); received neither.")
        if len(self.texts) != len(self.labels):
            raise ValueError(f"A split needs a label for each text; received {len(self.texts)} and {len(self.labels)}.")
        if isinstance(self.texts, StoredTexts):
            labels: Sequence[Any] = _label_sets(self.labels) if _holds_sets(self.labels) else array("i", self.labels)
            object.__setattr__(self, "labels", labels)
            object.__setattr__(self, "lines", array("q", self.lines))
            return
        object.__setattr__(self, "texts", list(self.texts))
        for number, text in enumerate(self.texts):
            if not isinstance(text, str | bytes):
                raise TypeError(checks.not_text("texts", number, text))
        labels = _label_sets(self.labels) if _holds_sets(self.labels) else [_index(label) for label in self.labels]
        object.__setattr__(self, "labels", labels)

    @property
    def is_soft(self) -> bool:
        """True if the texts have probabilities."""
        return len(self.probabilities) > 0

    def _complete_labels(self, several: bool) -> None:
        """Check the probabilities, and put the likeliest label, or the likely ones, where none is given."""
        import numpy as np

        is_labelled, labels = np.asarray(self.is_labelled, bool), self.labels
        several = several or (labels is not None and any(isinstance(label, SETS) for label in labels))
        shares = soft_labels.checked(self.probabilities, "text {}, counted from 0".format, is_several=several)
        if len(shares) != len(self.texts):
            raise ValueError(f"probabilities need a row for each of {len(self.texts)} texts; received {len(shares)}.")
        if not len(is_labelled):
            own = list[Any](self.labels) if self.labels is not None and len(self.labels) else [None] * len(shares)
            is_labelled = np.array([label is not None for label in own], bool)
            likely: list[Any] = shares.argmax(axis=1).tolist()
            if several:
                likely = [tuple(np.flatnonzero(row >= _LIKELY).tolist()) for row in shares]
            labels = [best if label is None else label for label, best in zip(own, likely, strict=False)]
        values = {"probabilities": shares, "is_labelled": is_labelled, "labels": labels, "teachers": self.teachers}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def is_several(self) -> bool:
        """True if texts have several labels, each a tuple of indices."""
        return _holds_sets(self.labels)

    def targets(self, num_labels: int) -> np.ndarray:
        """Return the labels as an array: indices (texts,), or 0 and 1 (texts, labels) if texts have several.

        Example:
            >>> Split(["both", "none"], [[0, 1], []]).targets(2).tolist()
            [[1, 1], [0, 0]]
        """
        import numpy as np

        if not self.is_several:
            return np.array(self.labels)
        targets = np.zeros((len(self), num_labels), np.int8)
        rows = np.repeat(np.arange(len(self)), [len(label) for label in self.labels])
        targets[rows, [index for label in self.labels for index in label]] = 1
        return targets

    def __repr__(self) -> str:
        return f"<Split: {len(self):,} texts>"

    def select(self, indices: Sequence[int] | np.ndarray) -> Split:
        """Return the texts with these indices, in their order, with their labels."""
        soft: dict[str, Any] = {}
        if self.is_soft and len(indices):
            soft = {name: getattr(self, name)[indices] for name in ("probabilities", "is_labelled")}
            soft["teachers"] = self.teachers
        if isinstance(self.texts, StoredTexts):
            rows = _of_array(self.lines, indices) if self.lines else ()
            labels: Sequence[Any] = (
                [self.labels[i] for i in indices] if self.is_several else _of_array(self.labels, indices)
            )
            return Split(self.texts.select(indices), labels, rows, self.unit, **soft)
        lines = [self.lines[i] for i in indices] if self.lines else ()
        return Split([self.texts[i] for i in indices], [self.labels[i] for i in indices], lines, self.unit, **soft)

    def with_hard_labels(self) -> Split:
        """Return the texts with their labels alone."""
        return Split(self.texts, self.labels, self.lines, self.unit)

    @property
    def labelled(self) -> np.ndarray:
        """The texts that have a label of their own: bool (texts,)."""
        import numpy as np

        return np.asarray(self.is_labelled, bool) if self.is_soft else np.ones(len(self), bool)


def _of_array(values: Sequence[int], indices: Sequence[int] | np.ndarray) -> array[int]:
    import numpy as np

    assert isinstance(values, array)
    return array(values.typecode, np.asarray(values)[indices].tobytes())


def _index(label: SupportsIndex) -> int:
    try:
        return operator.index(label)
    except TypeError:
        raise TypeError(
            "A split's labels must be integers, the places of their names in label_names, or where texts have several "
            f"a list of them for each text; received {label!r:.80}."
        ) from None


def _holds_sets(labels: Sequence[Any]) -> bool:
    return isinstance(next(iter(labels), None), SETS)


def _label_sets(labels: Sequence[Any]) -> list[tuple[int, ...]]:
    """Return the indices of each text's labels in order, each once. Equal ones are one object."""
    shared: dict[tuple[int, ...], tuple[int, ...]] = {}
    sets = []
    for label in labels:
        if not isinstance(label, SETS):
            raise TypeError(
                f"A split's labels must all be integers, or all lists of integers; received {label!r:.80} among lists."
            )
        indices = tuple(sorted({_index(index) for index in label}))
        sets.append(shared.setdefault(indices, indices))
    return sets


def check_labels(owner: str, labels: Sequence[Any], names: Sequence[str]) -> None:
    """Raise ``ValueError`` for a label that is not the index of one of the names."""
    if _holds_sets(labels):
        labels = [index for label in set(labels) for index in label]
    if not labels or (min(labels) >= 0 and max(labels) < len(names)):
        return
    wrong = next(label for label in labels if not 0 <= label < len(names))
    raise ValueError(f"The labels of {owner} must be from 0 to {len(names) - 1}, one for each name; received {wrong}.")


def counts(targets: np.ndarray, num_labels: int) -> np.ndarray:
    """Return the number of texts of each label (labels,), from what ``Split.targets`` returns."""
    import numpy as np

    return targets.sum(axis=0, dtype=int) if targets.ndim == 2 else np.bincount(targets, minlength=num_labels)
