"""Inputs as users give them, read as texts, labels and tagged sentences, or refused in one clear error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dense_lstm_zoo import checks
from dense_lstm_zoo.data.frames import check_frame, column_names, is_frame
from dense_lstm_zoo.tagging.corpus import TaggedSplit

_CHUNK = 4096


def texts_of(x: Any) -> list[str]:
    """Return the texts in a sequence, a column or a table of one column, else raise ``TypeError``."""
    if hasattr(x, "numpy"):  # a tensor
        x = x.numpy()
    if is_frame(x) and len(column_names(x)) == 1:
        x = check_frame("X", x).iloc[:, 0]
    if isinstance(x, np.ndarray) and x.ndim == 2 and x.shape[1] == 1:
        x = x[:, 0]
    return [text for chunk in checks.text_chunks(x, _CHUNK) for text in chunk]


def labels_of(y: Any) -> np.ndarray:
    """Return labels as an array (texts,), else raise ``ValueError``."""
    import pandas as pd
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import column_or_1d

    if y is None:
        raise ValueError("fit requires y to be passed, a label for each text, but the target y is None.")
    lists = [x for x in y if isinstance(x, list | tuple | set)] if isinstance(y, Sequence | np.ndarray) else []
    if any(len(x) != 1 for x in lists):
        raise ValueError(
            f"y must hold one label for each text; received a list of labels, {lists[0]!r:.80}. train takes several "
            "labels per text."
        )
    # scikit-learn makes floats of pandas' integers that may be missing.
    labels: np.ndarray = column_or_1d(y.to_numpy() if isinstance(y, pd.Series) else y, warn=True)
    missing = np.flatnonzero(pd.isna(labels))
    if len(missing):
        raise ValueError(f"y holds a missing label (None or NaN) as item {missing[0]}, counted from 0.")
    if labels.dtype != object:
        check_classification_targets(labels)
    elif len(kinds := sorted({type(label).__name__ for label in labels})) > 1:
        raise ValueError(f"y must hold labels of one type; received {' and '.join(kinds)}.")
    return labels


def tagged_split(x: Any, y: Any) -> TaggedSplit:
    """Return sentences with their tags, else raise ``TypeError`` or ``ValueError``."""
    if y is None:
        raise ValueError("fit requires y to be passed, a list of tags for each sentence, but the target y is None.")
    return TaggedSplit(token_lists("X", x), token_lists("y", y))


def token_lists(name: str, rows: Any) -> list[list[str]]:
    """Return the rows as lists, else raise ``TypeError``. Their cells are checked by those who take them."""
    rows = rows.tolist() if isinstance(rows, np.ndarray) else rows
    expected = f"{name} must be a list of lists of strings; received"
    if isinstance(rows, str | bytes | Mapping) or is_frame(rows) or not isinstance(rows, Iterable):
        raise TypeError(f"{expected} {rows!r:.80} ({type(rows).__name__}).")
    lists = []
    for number, row in enumerate(rows):
        cells: Any = row.tolist() if isinstance(row, np.ndarray) else row
        if not isinstance(cells, Sequence) or isinstance(cells, str | bytes):
            raise TypeError(f"{expected} {row!r:.80} ({type(row).__name__}) as item {number}, counted from 0.")
        lists.append(list(cells))
    return lists
