"""Inputs as users give them, read as texts, labels and tagged sentences, or refused in one clear error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from dense_lstm_zoo import checks
from dense_lstm_zoo.data.frames import check_frame, column_names, is_frame
from dense_lstm_zoo.data.label_columns import SETS
from dense_lstm_zoo.tagging.corpus import TaggedSplit

if TYPE_CHECKING:
    import pandas as pd
    import tensorflow as tf
    from scipy.sparse import spmatrix

# What users give. Its parts are checked when they are read.
Texts: TypeAlias = "Iterable[str] | pd.DataFrame | tf.Tensor | tf.data.Dataset"
TokenRows: TypeAlias = "Iterable[Sequence[str]] | np.ndarray"  # the tokens, or the tags, of each sentence
Sentences: TypeAlias = "Texts | TokenRows | tf.RaggedTensor"
Labels: TypeAlias = "Sequence[Any] | np.ndarray | spmatrix | pd.Series | pd.DataFrame | tf.Tensor | tf.RaggedTensor"
SampleWeights: TypeAlias = "Sequence[float] | np.ndarray | pd.Series | tf.Tensor"

_CHUNK = 4096
_LISTS = (*SETS, np.ndarray)


class TextData(Protocol):
    """Raw text in memory, with what belongs to it."""

    def divided(self, share: float) -> tuple[TextData, TextData]:
        """Return what to train on, and the last texts, this share, to validate on."""

    def training(self, batch_size: int | None, seed: int, epoch: int, shuffle: bool) -> tf.data.Dataset:
        """Return the batches of ``train``, from an epoch on."""

    def evaluation(self, batch_size: int | None, steps: int | None = None) -> tf.data.Dataset:
        """Return the batches to score or to validate on, this number of them if it is given."""


def place_of_division(number: int, share: float) -> int:
    """Return how many of the texts train where the last ones, this share, are held out, as Keras counts them.

    Raises:
        ValueError: A share out of range, or one that leaves no texts to train on.
    """
    place = math.floor(number * (1 - checks.fraction("validation_split", share)))
    if not place:
        raise ValueError(f"validation_split={share} of {number} texts leaves none to train on.")
    return place


def texts_in(steps: int | None, batch_size: int | None) -> int | None:
    """Return how many of the texts, the first ones, this number of batches takes, or None for all of them.

    It is for batches sorted by length, the first of which hold the shortest texts. Without ``batch_size``, all are
    taken, as Keras divides arrays by the number of batches.
    """
    if steps is not None:
        steps = checks.integer("steps", steps)
    return None if steps is None or batch_size is None else steps * checks.integer("batch_size", batch_size)


def texts_of(x: Texts) -> list[str]:
    """Return the texts in a sequence, a column or a table of one column, else raise ``TypeError``."""
    if hasattr(x, "numpy"):  # a tensor
        x = x.numpy()
    if is_frame(x) and len(column_names(x)) == 1:
        x = check_frame("X", x).iloc[:, 0]
    if isinstance(x, np.ndarray) and x.ndim == 2 and x.shape[1] == 1:
        x = x[:, 0]
    return [
        text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        for chunk in checks.text_chunks(x, _CHUNK)
        for text in chunk
    ]


def targets_of(y: Labels) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes, and what each text has of them: their places (texts,), or 0 and 1 (texts, classes).

    A matrix of two or more columns, or a table of them, says that texts have several labels. Its classes are the
    names of a table's columns, else their places.

    Raises:
        ValueError: Labels that cannot be learnt.
    """
    if y is None:
        raise ValueError("fit requires y to be passed, a label for each text, but the target y is None.")
    if is_matrix(y):
        columns, matrix = indicators(y)
        return np.arange(matrix.shape[1]) if columns is None else np.array(columns), matrix
    classes, places = np.unique(_labels_of(y), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"fit needs at least two classes; y holds one class, {classes.tolist()[0]!r:.80}.")
    return classes, places


def is_matrix(y: Labels) -> bool:
    """Return whether labels are a matrix of two or more columns, or a table of them.

    Rows may be lists of one length, as scikit-learn has it.

    Raises:
        ValueError: A list of labels for each text.
    """
    if is_frame(y):
        return len(column_names(y)) > 1
    shape: Any = getattr(y, "shape", ())
    if len(shape) == 2:
        return bool(shape[1] > 1)
    rows = y.tolist() if hasattr(y, "tolist") else y
    lists = [row for row in rows if isinstance(row, _LISTS)] if isinstance(rows, Sequence) else []
    # Rows of one number are a column, as scikit-learn has it.
    if all(len(row) == 1 and not any(isinstance(cell, str) for cell in row) for row in lists):
        return False
    is_table = len(lists) == len(rows) and len(set(map(len, lists))) == 1
    if not is_table or any(cell not in (0, 1) for row in lists for cell in row) or not len(lists[0]):
        raise ValueError(
            "y must hold one label for each text, or where texts have several a matrix of 0 and 1 (texts, labels); "
            f"received lists of labels, such as {max(lists, key=len)!r:.80}. scikit-learn's "
            "MultiLabelBinarizer().fit_transform(y) makes such a matrix of them."
        )
    return True


def indicators(y: Labels, label_names: Sequence[str] | None = None) -> tuple[list[Any] | None, np.ndarray]:
    """Return the names of the columns of labels, None without a table, and 0 and 1, int8 (texts, labels).

    Args:
        y: A matrix of 0 and 1, dense or sparse, or a table of such columns.
        label_names: The labels of a model. The columns of a table are put into their order. None takes any.

    Raises:
        ValueError: Other values than 0 and 1, or columns that are not the labels.
    """
    wide = "labels" if label_names is None else len(label_names)
    if not is_matrix(y):
        raise ValueError(f"y must be a matrix of 0 and 1 (texts, {wide}); received one label for each text.")
    columns, values = None, y.toarray() if hasattr(y, "toarray") else y  # sparse
    if is_frame(y):
        frame = check_frame("y", y)
        columns = list(frame.columns)
        if label_names is not None and (names := list(map(str, columns))) != list(label_names):
            if sorted(names) != sorted(label_names):
                raise ValueError(
                    f"The columns of y must be the labels, {', '.join(label_names):.200}; they are "
                    f"{', '.join(names):.200}."
                )
            frame = frame.iloc[:, [names.index(name) for name in label_names]]
            columns = list(frame.columns)
        values = frame.to_numpy(object, na_value=None)
    matrix = np.asarray(values)
    if label_names is not None and matrix.shape[1] != len(label_names):
        raise ValueError(f"y must be a matrix of 0 and 1 (texts, {wide}); received shape {matrix.shape}.")
    matrix = matrix if matrix.dtype.kind in "biuf" else matrix.astype(object)  # which compares with all
    is_one = matrix == 1
    wrong = np.argwhere(~(is_one | (matrix == 0)))
    if len(wrong):
        row, place = wrong[0].tolist()
        value = matrix[row].tolist()[place]
        raise ValueError(
            f"y must be a matrix of 0 and 1 (texts, {wide}); row {row}, counted from 0, holds {value!r:.80}."
        )
    return columns, is_one.astype(np.int8)


def _labels_of(y: Labels) -> np.ndarray:
    """Return labels as an array (texts,), else raise ``ValueError``."""
    import pandas as pd
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import column_or_1d

    if isinstance(y, list | tuple) and len({isinstance(label, str) for label in y}) > 1:
        y = np.array(y, object)  # NumPy would make strings of the others
    # scikit-learn makes floats of pandas' integers that may be missing.
    labels: np.ndarray = column_or_1d(y.to_numpy() if isinstance(y, pd.Series) else y, warn=True)
    missing = np.flatnonzero(pd.isna(labels))
    if len(missing):
        raise ValueError(f"y holds a missing label (None or NaN) as item {missing[0]}, counted from 0.")
    if labels.dtype == object and len(kinds := sorted({type(label).__name__ for label in labels})) > 1:
        raise ValueError(f"y must hold labels of one type; received {' and '.join(kinds)}.")
    labels = with_own_dtype(labels)
    if labels.dtype != object:
        check_classification_targets(labels)
    return labels


def with_own_dtype(labels: np.ndarray) -> np.ndarray:
    """Return labels that are objects, but all booleans or all numbers, as an array of these.

    scikit-learn scores no numbers that it sees as objects.
    """
    if labels.dtype != object or len({type(label) for label in labels}) != 1:
        return labels
    return np.array(labels.tolist()) if isinstance(labels[0], int | float | np.number | np.bool_) else labels


def tagged_split(x: TokenRows, y: TokenRows) -> TaggedSplit:
    """Return sentences with their tags, else raise ``TypeError`` or ``ValueError``."""
    if y is None:
        raise ValueError("fit requires y to be passed, a list of tags for each sentence, but the target y is None.")
    return TaggedSplit(token_lists("X", x), token_lists("y", y))


def token_lists(name: str, rows: object) -> list[list[str]]:
    """Return the rows as lists, else raise ``TypeError``. Their cells are checked by those who take them."""
    rows = rows.tolist() if isinstance(rows, np.ndarray) else rows
    expected = f"{name} must be a list of lists of strings; received"
    if isinstance(rows, str | bytes | Mapping) or is_frame(rows) or not isinstance(rows, Iterable):
        raise TypeError(f"{expected} {rows!r:.80} ({type(rows).__name__}).")
    lists = []
    for number, row in enumerate(rows):
        cells = row.tolist() if isinstance(row, np.ndarray) else row
        if not isinstance(cells, Sequence) or isinstance(cells, str | bytes):
            raise TypeError(f"{expected} {row!r:.80} ({type(row).__name__}) as item {number}, counted from 0.")
        lists.append(list(cells))
    return lists
