"""Ids, labels and weights that users give for their own training, checked before anything is made of them."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dense_lstm_zoo import checks
from dense_lstm_zoo.data.label_columns import SETS
from dense_lstm_zoo.data.labels import sorted_labels
from dense_lstm_zoo_runtime.ids import UNKNOWN

if TYPE_CHECKING:
    import numpy.typing as npt

_MOST_IDS = 1 << 31  # batches hold int32
_MOST_NUMBERED = 10_000  # classes that few labels may number; each has a name


def rows_of(ids: Any, lengths: npt.ArrayLike | None = None, vocab_size: int | None = None) -> list[Any]:
    """Return the ids of each text without padding: int32 arrays (tokens,), or dictionaries of arrays (tokens, ...).

    Args:
        ids: One row per text, right-padded with 0 or not, or a dictionary of them. See ``datasets.bucketed``.
        lengths: How many ids of each row are real. None means all before the padding.
        vocab_size: Ids must be below it. None allows any.

    Raises:
        TypeError: Not rows of integers.
        ValueError: No texts, an id out of range, 0 before the end of a row, lengths that do not fit.
    """
    features = dict(ids) if isinstance(ids, Mapping) else {"token_ids": ids}
    if "token_ids" not in features:
        raise ValueError(f"A dictionary of ids needs 'token_ids'; received {', '.join(map(str, features)) or 'none'}.")
    rows_by_feature = {name: _rows(name, values) for name, values in features.items()}
    tokens = rows_by_feature["token_ids"]
    real = _real_lengths(tokens, lengths)
    _check_range("token_ids", tokens, None if vocab_size is None else checks.integer("vocab_size", vocab_size, 2))
    for name, rows in rows_by_feature.items():
        if name != "token_ids":
            _check_feature(name, rows, real)
    real_rows = {
        name: [_real_part(name, row, n) for row, n in zip(rows, real, strict=True)]
        for name, rows in rows_by_feature.items()
    }
    if not isinstance(ids, Mapping):
        return real_rows["token_ids"]
    return [dict(zip(real_rows, row, strict=True)) for row in zip(*real_rows.values(), strict=True)]


def _real_part(name: str, row: np.ndarray, length: int) -> np.ndarray:
    """Return the real part of a row. One without any token becomes one unknown word, as no row may be empty."""
    if length:
        return row[:length].astype(np.int32)
    return np.full((1, *row.shape[1:]), UNKNOWN if name == "token_ids" else 0, np.int32)


def _rows(name: str, values: Any) -> list[np.ndarray]:
    if hasattr(values, "row_splits"):  # tf.RaggedTensor
        values = np.split(np.asarray(values.values), np.asarray(values.row_splits)[1:-1])
    elif hasattr(values, "columns") or isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(
            f"{name} must be a list of rows of ids, or an array (texts, time); received {type(values).__name__}."
        )
    rows = [np.asarray(row) for row in (values if hasattr(values, "__len__") else list(values))]
    if not rows:
        raise ValueError(f"{name} holds no texts; give at least one row of ids.")
    expected = next((row.shape[1:] for row in rows if row.size), ())
    for number, row in enumerate(rows):
        if row.size == 0:
            rows[number] = np.zeros((0, *expected), np.int32)
        elif row.dtype.kind not in "iu" or row.ndim == 0 or row.shape[1:] != expected:
            raise TypeError(
                f"{name} must hold rows of integers; row {number}, counted from 0, is {row!r:.80}. Strings are for "
                "text_dataset; floats need astype('int32')."
            )
    if name == "token_ids" and expected:
        raise TypeError(f"token_ids must be (texts, time); received rows of {len(expected) + 1} dimensions.")
    return rows


def _real_lengths(rows: Sequence[np.ndarray], lengths: npt.ArrayLike | None) -> np.ndarray:
    """Return how many ids of each row are real, and padding is only on the right."""
    row_lengths = np.array([len(row) for row in rows])
    owner, flat = np.repeat(np.arange(len(rows)), row_lengths), np.concatenate(rows)
    position = np.arange(len(flat)) - np.repeat(np.cumsum(row_lengths) - row_lengths, row_lengths)
    real = np.zeros(len(rows), np.int64)
    if lengths is None:
        np.maximum.at(real, owner[flat != 0], position[flat != 0] + 1)
    else:
        real = _check_lengths(lengths, row_lengths)
    inside = position < real[owner]
    if (zeros := owner[inside & (flat == 0)]).size:
        raise ValueError(
            f"Id 0 is padding, which comes only after a row's last id; row {zeros[0]}, counted from 0, has it before. "
            "Pad on the right, and count ids from 2 (1 is the unknown word)."
        )
    return real


def _check_lengths(lengths: npt.ArrayLike, row_lengths: np.ndarray) -> np.ndarray:
    real_lengths = np.asarray(lengths)
    if real_lengths.shape != row_lengths.shape or real_lengths.dtype.kind not in "iu":
        raise ValueError(
            f"lengths must be one integer per row: ({len(row_lengths)},); received shape "
            f"{real_lengths.shape} of {real_lengths.dtype}."
        )
    wrong = np.flatnonzero((real_lengths < 0) | (real_lengths > row_lengths))
    if wrong.size:
        i = int(wrong[0])
        raise ValueError(
            f"A row of {row_lengths[i]} ids cannot have {real_lengths[i]} real ones (row {i}, counted from 0)."
        )
    return real_lengths.astype(np.int64)


def _check_range(name: str, rows: Sequence[np.ndarray], size: int | None) -> None:
    limit = _MOST_IDS if size is None else size
    for number, row in enumerate(rows):
        if row.size and (row.min() < 0 or row.max() >= limit):
            wrong = row.min() if row.min() < 0 else row.max()
            raise ValueError(
                f"{name} must be from 0 to {limit - 1}; row {number}, counted from 0, has {wrong}."
                + ("" if size is None else f" The model was built with vocab_size={size}.")
            )


def _check_feature(name: str, rows: Sequence[np.ndarray], real: np.ndarray) -> None:
    if len(rows) != len(real):
        raise ValueError(f"{name} needs a row for each of {len(real)} texts; received {len(rows)}.")
    for number, (row, n) in enumerate(zip(rows, real, strict=True)):
        if len(row) < n:
            raise ValueError(f"Row {number} of {name} has {len(row)} tokens and that of token_ids {n}; align them.")
    _check_range(name, rows, None)


def labels_of(
    labels: Iterable[Any], num_texts: int, label_names: Iterable[str] | None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the index of each text's label, int32 (texts,), and the names of the labels.

    Where texts have lists of labels, 0 and 1 are returned, int8 (texts, labels).

    Args:
        labels: Names, or integers from 0, or for each text a list of them. Names may be bytes in UTF-8.
        num_texts: How many there must be.
        label_names: The names in the order of their indices. By default those that occur, sorted, or for integers their
            digits up to the largest.

    Raises:
        TypeError: Labels that are neither all strings nor all integers, or lists for some texts only.
        ValueError: Another number of labels, a missing or unknown one, one out of range, fewer than two names.
    """
    values = list(map(without_bytes, _one_per_text("labels", labels, num_texts)))
    names = None if label_names is None else tuple(label_names)
    if names is not None and (len(set(names)) < len(names) or not all(isinstance(name, str) for name in names)):
        raise ValueError(f"label_names must be different strings; received {names!r:.80}.")
    if any(isinstance(label, SETS) for label in values):
        return _matrix_of(values, names)
    if all(isinstance(label, str) for label in values):
        names = sorted_labels(set(values)) if names is None else names
        index = {name: i for i, name in enumerate(names)}
        if (unknown := next((label for label in values if label not in index), None)) is not None:
            raise checks.unknown_name("label", unknown, names)
        indices = np.array([index[label] for label in values], np.int32)
    else:
        if any(isinstance(label, str) for label in values):
            place, other = next((place, x) for place, x in enumerate(values) if not isinstance(x, str))
            raise TypeError(
                f"Labels must be all strings or all integers; item {place}, counted from 0, is {other!r:.80} "
                f"({type(other).__name__})."
            )
        indices = class_indices(values, num_texts, None if names is None else len(names))
        names = _numbered(indices) if names is None else names
    if len(names) < 2:
        raise ValueError(f"A classifier needs at least two labels; received only {names[0] if names else 'none'!r}.")
    return indices, names


def _numbered(indices: np.ndarray) -> tuple[str, ...]:
    """Return the names of labels that are integers: their digits, up to the largest."""
    size, count = int(indices.max()) + 1, len(np.unique(indices))
    if size > max(_MOST_NUMBERED, 100 * count):
        raise ValueError(
            f"Labels must be integers from 0, each the index of a class; the largest of {count:,} different ones is "
            f"{size - 1}. Number them from 0, or give them as strings."
        )
    return tuple(map(str, range(size)))


def without_bytes(label: Any) -> Any:
    """Return a label. Bytes, which tensors and arrays of NumPy hold for strings, are the string that they say."""
    return label.decode("utf-8", "backslashreplace") if isinstance(label, bytes) else label


def _matrix_of(values: list[Any], names: tuple[str, ...] | None) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return 0 and 1 (texts, labels) for lists of labels, and the names."""
    for number, label in enumerate(values):
        if not isinstance(label, SETS):
            raise TypeError(
                f"Labels must be one for each text, or a list for each; item {number}, counted from 0, is "
                f"{label!r:.80} among lists."
            )
    items = [item for label in values for item in label]
    if not items and names is None:
        raise ValueError("labels holds only empty lists; name the labels with label_names.")
    indices, names = labels_of(items, len(items), names) if items else (np.zeros(0, np.int32), names or ())
    matrix = np.zeros((len(values), len(names)), np.int8)
    matrix[np.repeat(np.arange(len(values)), [len(label) for label in values]), indices] = 1
    return matrix, names


def class_targets(labels: Iterable[Any], num_texts: int, num_classes: int | None) -> np.ndarray:
    """Return what ``class_indices`` does, or for lists of integers 0 and 1, int8 (texts, classes)."""
    if getattr(labels, "shape", None) is None and any(isinstance(label, SETS) for label in labels):
        names = None if num_classes is None else map(str, range(checks.integer("num_classes", num_classes, 2)))
        return labels_of(labels, num_texts, names)[0]
    return class_indices(labels, num_texts, num_classes)


def class_indices(labels: Iterable[Any], num_texts: int, num_classes: int | None) -> np.ndarray:
    """Return labels as int32 (texts,). Each must be an integer from 0 to ``num_classes`` - 1.

    Raises:
        TypeError: A label that is not an integer.
        ValueError: Another number of labels, or one out of range.
    """
    values = _one_per_text("labels", labels, num_texts)
    for number, label in enumerate(values):
        if not isinstance(label, (numbers.Integral, np.bool_)):
            raise TypeError(
                f"Labels must be all integers{'' if num_classes is None else f' from 0 to {num_classes - 1}'}; item "
                f"{number}, counted from 0, is {label!r:.80} ({type(label).__name__}). text_dataset also takes names."
            )
    limit = _MOST_IDS if num_classes is None else checks.integer("num_classes", num_classes, 2)
    wrong = next((i for i, label in enumerate(values) if not 0 <= label < limit), None)
    if wrong is not None:
        raise ValueError(
            f"Labels must be from 0 to {limit - 1}; item {wrong}, counted from 0, is {values[wrong]!s:.80}."
        )
    return np.array(values, np.int32)


def weights_of(weights: Iterable[float], num_texts: int) -> np.ndarray:
    """Return how much each text counts in the loss, float32 (texts,).

    Raises:
        ValueError: Another number of weights, or one that is not a finite number of at least 0.
    """
    for number, weight in enumerate(values := _one_per_text("sample_weight", weights, num_texts)):
        checks.positive(f"sample_weight, item {number}, counted from 0,", weight, zero=True)
    return np.array(values, np.float32)


def _one_per_text(name: str, values: object, num_texts: int) -> list[Any]:
    shape = getattr(values, "shape", None)
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list with one item per text; received {values!r:.80}.")
    if shape is not None and len(shape) != 1:
        advice = ""
        if name == "labels":
            advice = " Turn one-hot rows into integers: argmax(axis=1). Of several labels, give a list for each text."
        raise ValueError(f"{name} must be one per text: ({num_texts},); received shape {tuple(shape)}.{advice}")
    items = list(np.asarray(values)) if shape is not None else list(values)
    if len(items) != num_texts:
        raise ValueError(f"{name} must be one per text; received {len(items)} for {num_texts} texts.")
    return items
