"""The soft labels of a table or a frame, in the order of a corpus's labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dense_lstm_zoo import checks
from dense_lstm_zoo.data import labels, soft_labels
from dense_lstm_zoo.data.label_columns import Label, LabelColumns, names_of
from dense_lstm_zoo.data.soft_labels import SoftRows

if TYPE_CHECKING:
    import numpy as np


def unified(soft: SoftRows, columns: LabelColumns, spellings: Iterable[Label], location: str) -> dict[str, str]:
    """Return the name of each label's key, as ``label_columns.unified`` does, for a table with soft labels.

    Args:
        soft: The soft labels.
        columns: The columns of labels.
        spellings: The labels that rows have themselves. An empty one stands for none.
        location: The table, for errors.

    Raises:
        ValueError: Two columns for one label, a label that has no column, or columns of other labels than those that
            are labels themselves.

    Example:
        >>> rows = SoftRows()
        >>> rows.append({"1": 0.5, "2": 0.5}, "line 2")
        >>> unified(rows, LabelColumns(), ["", "2.0"], "reviews.csv")
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
    own = columns.label_names or tuple(name for spelling in spellings for name in names_of(spelling))
    for label in own:
        if label and labels.key(label) not in names:
            raise soft_labels.unknown_label(label, soft.names, location)
    if not columns.indicators:
        return names
    keys = [*map(labels.key, own)]
    for key, name in names.items():
        if key not in keys:
            owner = f"label for label_columns (--label-columns), with probabilities in {location}:"
            raise checks.unknown_name(owner, name, own)
    return {}


def in_order(soft: SoftRows, label_names: Sequence[str]) -> np.ndarray:
    """Return the probabilities (rows, labels) in the order of the labels, NaN for rows without."""
    place_of = {labels.key(name): place for place, name in enumerate(soft.names)}
    ordered: np.ndarray = soft.values[:, [place_of[labels.key(name)] for name in label_names]]
    return ordered


def with_labels(shares: np.ndarray, places: Sequence[int | tuple[int, ...] | None]) -> np.ndarray:
    """Return probabilities in which a row that has none gives all to its label, or to each of its labels.

    Args:
        shares: The probabilities (rows, labels), NaN for rows that have none.
        places: The index of the label of each row, or of its labels, or None, where the row has probabilities.

    Example:
        >>> import numpy as np
        >>> with_labels(np.array([[0.25, 0.75], [np.nan, np.nan]]), [None, 0]).tolist()
        [[0.25, 0.75], [1.0, 0.0]]
    """
    import numpy as np

    filled = shares.copy()
    for row in np.flatnonzero(np.isnan(shares).all(axis=1)).tolist():
        filled[row] = 0.0
        filled[row, np.array(places[row], int)] = 1.0
    return filled
