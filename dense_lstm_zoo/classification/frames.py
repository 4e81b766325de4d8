"""Labelled texts in tables: read as a corpus, and returned with predictions beside them."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dense_lstm_zoo.classification import soft_rows
from dense_lstm_zoo.data import labels as written
from dense_lstm_zoo.data import soft_labels
from dense_lstm_zoo.data.delimited import name_lines
from dense_lstm_zoo.data.frames import check_frame, column
from dense_lstm_zoo.data.soft_labels import SoftRows
from dense_lstm_zoo.display.notes import say

if TYPE_CHECKING:
    import pandas as pd

PREFIX = "predicted_"  # of new columns, where the frame has columns with their names already
_MOST_EXACT = 1 << 53  # above it, floating-point numbers skip integers


@dataclass(frozen=True)
class Rows:
    """The content of frames.

    Args:
        label_names: The labels of the training frame, sorted.
        parts: For each part with a frame, its texts and the indices of their labels.
        shares: For each part without one, the share of the training rows to hold out.
        columns: The names of the columns, if they are strings.
        soft: The soft labels of the training frame, as ``Split`` takes them. Empty without any.
    """

    label_names: tuple[str, ...]
    parts: dict[str, tuple[list[str], list[Any]]]
    shares: dict[str, float]
    columns: dict[str, str]
    soft: dict[str, Any]


def read_frame(
    frame: pd.DataFrame,
    *,
    text: Any,
    label: Any,
    dev: pd.DataFrame | float | None = None,
    test: pd.DataFrame | float | None = None,
    skip_empty: bool = False,
) -> Rows:
    """Read and check frames. See ``Corpus.from_frame``."""
    shares = {part: _share(part, value) for part, value in (("dev", dev), ("test", test)) if _is_number(value)}
    if sum(shares.values()) >= 1:
        raise ValueError(f"dev={dev!r} and test={test!r} leave nothing to train on; together they must be below 1.")
    frames = {"train": frame, "dev": dev, "test": test}
    parts = {
        part: _columns(part, part_frame, text, label, skip_empty)
        for part, part_frame in frames.items()
        if part == "train" or (part_frame is not None and part not in shares)
    }
    soft = _soft_rows(frame, text, label, parts["train"][2])
    if soft is None:
        names = written.unify(parts["train"][1], "the training frame")
    else:
        names = soft_rows.unified(soft, parts["train"][1], "the training frame")
    label_names = written.sorted_labels(names.values())
    if len(label_names) < 2:
        raise ValueError(f"Every row has the label {label_names[0]!r}; training needs at least two labels.")
    for part, (_, labels, rows) in ((part, each) for part, each in parts.items() if part != "train"):
        if strange := [i for i, name in enumerate(labels) if written.key(name) not in names]:
            first = labels[strange[0]]
            raise ValueError(
                f"{part}: {_rows(rows[strange])} with a label that does not occur in the training frame; the first is "
                f"{first!r}.{written.hint(first, label_names)} Labels there: {', '.join(label_names)}."
            )
    index = {name: i for i, name in enumerate(label_names)}
    coded = {
        part: (texts, [index[written.name_of(cell, names)] if cell else None for cell in labels])
        for part, (texts, labels, _) in parts.items()
    }
    label = soft_labels.LABEL if label is None else label
    has_names = isinstance(text, str) and isinstance(label, str)
    columns = {"text_column": text, "label_column": label} if has_names else {}
    soft_options = {}
    if soft is not None:
        rows = parts["train"][2]
        matrix = soft_rows.with_labels(soft_rows.in_order(soft, names, label_names), coded["train"][1])
        matrix = soft_labels.checked(matrix, lambda i: f"the training frame, row {rows[i]}, counted from 0")
        soft_options = {"probabilities": matrix, "teachers": soft.teachers}
    return Rows(label_names, coded, shares, columns, soft_options)


def _soft_rows(table: Any, text: Any, label: Any, rows: np.ndarray) -> SoftRows | None:
    """Return the soft labels of the training frame, in the rows at these positions, or None without any."""
    frame = check_frame("The training frame", table)
    labels = soft_labels.label_columns(frame.columns, [text, label], "the training frame")
    if not labels:
        return None
    soft = SoftRows()
    cells = {name: frame[column].tolist() for column, name in labels.items()}
    has_teacher = soft_labels.TEACHER in frame.columns and soft_labels.TEACHER not in (text, label)
    teachers = frame[soft_labels.TEACHER].tolist() if has_teacher else [None] * len(frame)
    for row in rows.tolist():
        shares = soft_labels.present({name: values[row] for name, values in cells.items()})
        soft.append(shares, f"the training frame, row {row}, counted from 0", teachers[row])
    return soft if soft.names else None


def read_labelled(frame: Any, columns: Mapping[str, Any]) -> tuple[list[str], list[int], tuple[str, ...]]:
    """Return the texts of a frame to score a model on, the indices of their labels, and the labels' names.

    Args:
        frame: The frame.
        columns: ``text_column`` and ``label_column``, where they are not "text" and "label".
    """
    text, label = columns.get("text_column", "text"), columns.get("label_column", "label")
    texts, labels, _ = _columns("test", frame, text, label, skip_empty=False)
    names = written.unify(labels, "the test frame")
    label_names = written.sorted_labels(names.values())
    return texts, [label_names.index(written.name_of(cell, names)) for cell in labels], label_names


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real)


def _share(part: str, value: Any) -> float:
    if isinstance(value, bool) or not 0 < float(value) < 1:
        raise ValueError(
            f"{part} must be a frame, or the share of the rows to hold out, between 0 and 1; received {value!r}."
        )
    return float(value)


def _columns(part: str, table: Any, text: Any, label: Any, skip_empty: bool) -> tuple[list[str], list[str], np.ndarray]:
    """Return the texts of a table, its labels as strings, and the positions of their rows."""
    owner = "the training frame" if part == "train" else f"the {part} frame"
    frame = check_frame(owner[0].upper() + owner[1:], table)
    soft = soft_labels.label_columns(frame.columns, [text, label], owner) if part == "train" else {}
    if soft and (label is None or label == soft_labels.LABEL) and label not in frame.columns:
        label = soft_labels.LABEL
        frame = frame.assign(**{label: None})
    texts, labels = column(owner, frame, text), column(owner, frame, label)
    if text == label:
        raise ValueError(f"text and label must be two columns; both are {text!r}.")
    if not len(frame):
        raise ValueError(f"{owner[0].upper()}{owner[1:]} has no rows.")
    rows = np.arange(len(frame))
    is_empty = {name: _is_empty(series) for name, series in ((text, texts), (label, labels))}
    if soft:
        is_empty[label] &= np.logical_and.reduce([_is_empty(frame[name]) for name in soft])
    if skip_empty:
        is_whole = ~np.logical_or(*is_empty.values())
        texts, labels, rows = texts[is_whole], labels[is_whole], rows[is_whole]
        if not len(rows):
            raise ValueError(f"{owner}: no row has both a text and a label.")
        if not is_whole.all():
            say(f"{owner}: {_rows(np.flatnonzero(~is_whole))} without text or label; left out.")
    else:
        for name, mask in is_empty.items():
            if mask.any():
                raise ValueError(
                    f"{owner}: {_rows(np.flatnonzero(mask))} without a value in {name!r}; fill them in, or leave them "
                    "out with skip_empty=True."
                )
    for row, value in zip(rows.tolist(), texts.tolist(), strict=True):
        if not isinstance(value, str):
            kind = type(value).__name__
            raise ValueError(
                f"{owner}: {text!r} must hold strings; row {row}, counted from 0, is {value!r:.80} ({kind})."
            )
    has_none = labels.isna().tolist() if soft else [False] * len(labels)
    cells = zip(_whole(labels).tolist(), has_none, strict=True)
    return texts.tolist(), ["" if is_none else str(value).strip() for value, is_none in cells], rows


def _is_empty(series: pd.Series) -> np.ndarray:
    """Return for each cell of a column whether it is missing, or a string of nothing but white space."""
    is_blank = [isinstance(cell, str) and not cell.strip() for cell in series.tolist()]
    return series.isna().to_numpy(dtype=bool) | np.array(is_blank, dtype=bool)


def _whole(labels: pd.Series) -> pd.Series:
    """Return whole numbers as integers, which columns with missing values hold as floating-point numbers."""
    values = labels.dropna()
    if labels.dtype.kind != "f" or not ((values % 1 == 0) & (values.abs() < _MOST_EXACT)).all():
        return labels
    return labels.fillna(0).astype("int64")  # a label may only be missing beside soft ones


def _rows(positions: np.ndarray) -> str:
    return f"{name_lines(positions.tolist(), 'row')}, counted from 0,"


def with_predictions(
    frame: pd.DataFrame, probabilities: np.ndarray, best: np.ndarray, labels: Sequence[str], prefix: str | None
) -> pd.DataFrame:
    """Return a copy of a frame with predictions. See ``ClassificationBundle.predict_frame``."""
    import pandas as pd

    new = {"label": np.array(labels, dtype=object)[best], "probability": probabilities[np.arange(len(best)), best]}
    new |= {f"probability_{name}": probabilities[:, i] for i, name in enumerate(labels)}
    names = new_columns(frame, list(new), prefix)
    columns = pd.DataFrame(dict(zip(names, new.values(), strict=True)), index=frame.index)
    both = pd.concat([frame, columns], axis=1)
    both.columns.names = frame.columns.names
    return both


def new_columns(frame: pd.DataFrame, names: Sequence[str], prefix: str | None) -> list[Any]:
    """Return the names of new columns, none of which the frame has. In a frame with levels of columns, as the first.

    Raises:
        ValueError: With the prefix, a name that is taken.
    """
    present = set(frame.columns.get_level_values(0))
    if prefix is None:
        prefix = PREFIX if present.intersection(names) else ""
    new_names = [f"{prefix}{name}" for name in names]
    if both := sorted(present.intersection(new_names)):
        raise ValueError(f"The frame already has a column {both[0]!r}; choose another prefix=, such as prefix='new_'.")
    lower = [""] * (frame.columns.nlevels - 1)
    return [(name, *lower) for name in new_names] if lower else new_names
