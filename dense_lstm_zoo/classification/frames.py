"""Labelled texts in tables: read as a corpus, and returned with predictions beside them."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsFloat, TypeGuard

import numpy as np

from dense_lstm_zoo.classification import soft_rows
from dense_lstm_zoo.data import labels as written
from dense_lstm_zoo.data import soft_labels
from dense_lstm_zoo.data.delimited import name_lines
from dense_lstm_zoo.data.frames import check_frame, column
from dense_lstm_zoo.data.label_columns import (
    Label,
    LabelColumns,
    check_one_kind,
    check_separated,
    common_kind,
    indices_of,
    is_several,
    kind_of,
    names_of,
    too_few_labels,
    unified,
)
from dense_lstm_zoo.data.soft_labels import SoftRows
from dense_lstm_zoo.display.notes import say

if TYPE_CHECKING:
    import pandas as pd

    from dense_lstm_zoo_runtime.answers import Prediction

PREFIX = "predicted_"  # of new columns, where the frame has columns with their names already
_MOST_EXACT = 1 << 53  # above it, floating-point numbers skip integers


@dataclass(frozen=True)
class Rows:
    """The content of frames.

    Args:
        label_names: The labels of the training frame, sorted.
        parts: For each part with a frame, its texts and the indices of their labels: one each, or a tuple.
        shares: For each part without one, the share of the training rows to hold out.
        columns: The names of the columns, if they are strings.
        soft: The soft labels of the training frame, as ``Split`` takes them. Empty without any.
    """

    label_names: tuple[str, ...]
    parts: dict[str, tuple[list[str], list[Any]]]
    shares: dict[str, float]
    columns: dict[str, Any]
    soft: dict[str, Any]


def read_frame(
    frame: pd.DataFrame,
    *,
    text: Hashable,
    labels: LabelColumns,
    dev: pd.DataFrame | float | None,
    test: pd.DataFrame | float | None,
    skip_empty: bool,
) -> Rows:
    """Read and check frames. See ``Corpus.from_frame``."""
    shares = {part: _share(part, value) for part, value in (("dev", dev), ("test", test)) if _is_number(value)}
    if sum(shares.values()) >= 1:
        raise ValueError(f"dev={dev!r} and test={test!r} leave nothing to train on; together they must be below 1.")
    frames = {"train": frame, "dev": dev, "test": test}
    parts = {
        part: _columns(part, part_frame, text, labels, skip_empty)
        for part, part_frame in frames.items()
        if part == "train" or (part_frame is not None and part not in shares)
    }
    if labels.column is None and not labels.indicators:  # there are soft labels alone
        labels = LabelColumns(soft_labels.LABEL, labels.separator)
    train = parts["train"][1]
    soft = _soft_rows(frame, (text, *labels.names), parts["train"][2])
    are_several = common_kind({_owner(part): kind_of(own, labels) for part, (_, own, _) in parts.items()})
    if soft is None:
        check_separated(train, labels.separator, "the training frame")
        names = unified(labels, train, "the training frame")
    else:
        names = soft_rows.unified(soft, labels, train, "the training frame")
    label_names = labels.label_names or written.sorted_labels(names.values())
    if len(label_names) < 2:
        if are_several:
            raise too_few_labels("The training frame", label_names)
        raise ValueError(f"Every row has the label {label_names[0]!r}; training needs at least two labels.")
    for part, (_, own, rows) in ((part, each) for part, each in parts.items() if part != "train"):
        strange = {name for label in own for name in names_of(label)}
        strange = {name for name in strange if written.name_of(name, names) not in label_names}
        if places := [i for i, label in enumerate(own) if not strange.isdisjoint(names_of(label))]:
            first = next(name for name in names_of(own[places[0]]) if name in strange)
            raise ValueError(
                f"{part}: {_rows(rows[places])} with a label that does not occur in the training frame; the first is "
                f"{first!r}.{written.hint(first, label_names)} Labels there: {', '.join(label_names)}."
            )
    coded = {part: (texts, _indices(own, names, label_names)) for part, (texts, own, _) in parts.items()}
    has_names = all(isinstance(name, str) for name in (text, *labels.names))
    columns = {"text_column": text, **labels.options} if has_names else {}
    soft_options = {}
    if soft is not None:
        rows = parts["train"][2]
        matrix = soft_rows.with_labels(soft_rows.in_order(soft, label_names), coded["train"][1])
        matrix = soft_labels.checked(
            matrix, lambda i: f"the training frame, row {rows[i]}, counted from 0", is_several=are_several
        )
        soft_options = {"probabilities": matrix, "teachers": soft.teachers, "several": are_several}
    return Rows(label_names, coded, shares, columns, soft_options)


def _soft_rows(table: object, others: Sequence[Any], rows: np.ndarray) -> SoftRows | None:
    """Return the soft labels of the training frame, in the rows at these positions, or None without any.

    Args:
        table: The frame.
        others: The columns of texts and labels.
        rows: The positions.
    """
    frame = check_frame("The training frame", table)
    labels = soft_labels.label_columns(frame.columns, others, "the training frame")
    if not labels:
        return None
    soft = SoftRows()
    cells = {name: frame[column].tolist() for column, name in labels.items()}
    teacher = soft_labels.teacher_column(frame.columns, others)
    teachers = [None] * len(frame) if teacher is None else frame[teacher].tolist()
    for row in rows.tolist():
        shares = soft_labels.present({name: values[row] for name, values in cells.items()})
        soft.append(shares, f"the training frame, row {row}, counted from 0", teachers[row])
    return soft if soft.names else None


def _indices(labels: Sequence[Label], names: Mapping[str, str], label_names: Sequence[str]) -> list[Any]:
    """Return the place of each label, or its places, and None for one that is missing, beside a soft one."""
    places = {label: indices_of(label, names, label_names) if label != "" else None for label in set(labels)}
    return [places[label] for label in labels]


def read_labelled(frame: object, columns: Mapping[str, Any]) -> tuple[list[str], list[Any], tuple[str, ...]]:
    """Return the texts of a frame to score a model on, the indices of their labels, and the labels' names.

    Args:
        frame: The frame.
        columns: ``text_column``, and what says where the labels are, where they are not "text" and "label".
    """
    of_labels = (columns.get(name) for name in ("label_column", "label_separator", "label_columns"))
    label_columns = LabelColumns.of_options(*of_labels)
    if label_columns.column is None:
        label_columns = LabelColumns(separator=label_columns.separator)
    texts, labels, _ = _columns("test", frame, columns.get("text_column", "text"), label_columns, skip_empty=False)
    names = unified(label_columns, labels, "the test frame")
    label_names = label_columns.label_names or written.sorted_labels(names.values())
    return texts, _indices(labels, names, label_names), label_names


def _is_number(value: object) -> TypeGuard[SupportsFloat]:
    return isinstance(value, numbers.Real)


def _share(part: str, value: SupportsFloat) -> float:
    if isinstance(value, bool) or not 0 < float(value) < 1:
        raise ValueError(
            f"{part} must be a frame, or the share of the rows to hold out, between 0 and 1; received {value!r}."
        )
    return float(value)


def _owner(part: str) -> str:
    return "the training frame" if part == "train" else f"the {part} frame"


def _columns(
    part: str, table: object, text: Hashable, label_columns: LabelColumns, skip_empty: bool
) -> tuple[list[str], list[Label], np.ndarray]:
    """Return the texts of a table, its labels as strings, and the positions of their rows."""
    owner = _owner(part)
    frame = check_frame(owner[0].upper() + owner[1:], table)
    soft = soft_labels.label_columns(frame.columns, [text, *label_columns.names], owner) if part == "train" else {}
    if soft and soft_labels.may_lack(label_columns) and not any(name in frame.columns for name in label_columns.names):
        if not label_columns.indicators:
            label_columns = LabelColumns(soft_labels.LABEL, label_columns.separator)
        frame = frame.assign(**dict.fromkeys(label_columns.names))
    if label_columns.names == (None,):
        raise ValueError("Name the column of the labels with label=, or those that are labels with label_columns=.")
    texts, columns = column(owner, frame, text), [column(owner, frame, name) for name in label_columns.names]
    if text in label_columns.names:
        raise ValueError(f"text and label must be two columns; both are {text!r}.")
    if not len(frame):
        raise ValueError(f"{owner[0].upper()}{owner[1:]} has no rows.")
    rows = np.arange(len(frame))
    is_empty = {
        name: _is_empty(cells) for name, cells in zip((text, *label_columns.names), (texts, *columns), strict=True)
    }
    if soft:
        has_no_share = np.logical_and.reduce([_is_empty(frame[name]) for name in soft])
        is_empty |= {name: is_empty[name] & has_no_share for name in label_columns.names}
    if skip_empty:
        is_whole = ~np.logical_or.reduce([*is_empty.values()])
        texts, columns, rows = texts[is_whole], [cells[is_whole] for cells in columns], rows[is_whole]
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
    cells = zip(rows.tolist(), *map(_cells, columns), strict=True)
    labels = [label_columns.label(row_cells, f"{owner}, row {row}, counted from 0") for row, *row_cells in cells]
    check_one_kind(set(labels), owner, lambda label: f"row {rows[labels.index(label)]}, counted from 0")
    if places := [i for i, label in enumerate(labels) if is_several(label) and "" in label]:
        raise ValueError(f"{owner}: {_rows(rows[places])} with an empty label among others.")
    return texts.tolist(), labels, rows


def _cells(labels: pd.Series) -> list[Any]:
    """Return the cells of a column of labels, None for missing ones."""
    cells = zip(_whole(labels).tolist(), labels.isna().tolist(), strict=True)
    return [None if is_missing else cell for cell, is_missing in cells]


def _is_empty(series: pd.Series) -> np.ndarray:
    """Return for each cell of a column whether it is missing, or a string of nothing but white space.

    An empty list is neither: it says that a text has none of the labels.
    """
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


def columns_of(labels: Sequence[str], *, is_several: bool) -> list[str]:
    """Return the names of the new columns of ``ClassificationBundle.predict_frame``."""
    return [*(["labels"] if is_several else []), "label", "probability", *(f"probability_{name}" for name in labels)]


def with_predictions(
    frame: pd.DataFrame, predictions: Sequence[Prediction], names: Sequence[str], prefix: str | None
) -> pd.DataFrame:
    """Return a copy of a frame with predictions under these names. See ``ClassificationBundle.predict_frame``."""
    import pandas as pd

    new: list[Any] = [] if names[0] != "labels" else [pd.Series([x.labels for x in predictions], dtype=object)]
    new += [
        np.array([x.label for x in predictions], dtype=object),
        np.array([x.probability for x in predictions], np.float32),
    ]
    shares = np.array([[*x.probabilities.values()] for x in predictions], np.float32)
    new += [*shares.reshape(len(predictions), len(names) - len(new)).T]
    columns = pd.DataFrame(
        {name: np.asarray(cells) for name, cells in zip(new_columns(frame, names, prefix), new, strict=True)},
        index=frame.index,
    )
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
