"""The soft labels of a table or a frame, in the order of a corpus's labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dense_lstm_zoo.data import labels, soft_labels
from dense_lstm_zoo.data.label_columns import Label, names_of
from dense_lstm_zoo.data.soft_labels import SoftRows

if TYPE_CHECKING:
    import numpy as np


def unified(soft: SoftRows, spellings: Iterable[Label], location: str) -> dict[str, str]:
    """Return the name of each label's key, as ``labels.unify`` does, for a table with soft labels.

    Args:
        soft: The soft labels.
        spellings: The labels that rows have themselves. An empty one stands for none.
        location: The table, for errors.

    Raises:
        ValueError: Two columns for one label, or a label that has no column.

    Example:
        >>> rows = SoftRows()
        >>> rows.append({"1": 0.5, "2": 0.5}, "line 2")
        >>> unified(rows, ["", "2.0"], "reviews.csv")
        {'1': '1', '2': '2'}
    """
    names = {labels.key(name): name for name in soft.names}
    if len(names) < len(soft.names):
        (first, second) = next(
            [name for name in soft.names if labels.key(name) == key]
            for key in names
            if sum(labels.key(name) == key for name in soft.names) > 1
        )[:2]
        raise ValueError(f"{location} has two columns of probabilities for one label: {first!r} and {second!r}.")
    for label in (name for spelling in spellings for name in names_of(spelling)):
        if label and labels.key(label) not in names:
            raise soft_labels.unknown_label(label, soft.names, location)
    return names


def in_order(soft: SoftRows, names: dict[str, str], label_names: Sequence[str]) -> np.ndarray:
    """Return the probabilities (rows, labels) in the order of the labels, NaN for rows without."""
    places = [soft.names.index(name) for name in map(names.__getitem__, map(labels.key, label_names))]
    ordered: np.ndarray = soft.values[:, places]
    return ordered


def with_labels(shares: np.ndarray, places: Sequence[int | None]) -> np.ndarray:
    """Return probabilities in which a row that has none gives all to its label.

    Args:
        shares: The probabilities (rows, labels), NaN for rows that have none.
        places: The index of the label of each row, or None, where the row has probabilities.

    Example:
        >>> import numpy as np
        >>> with_labels(np.array([[0.25, 0.75], [np.nan, np.nan]]), [None, 0]).tolist()
        [[0.25, 0.75], [1.0, 0.0]]
    """
    import numpy as np

    filled = shares.copy()
    for row in np.flatnonzero(np.isnan(shares).all(axis=1)).tolist():
        filled[row] = 0.0
        filled[row, places[row]] = 1.0
    return filled
