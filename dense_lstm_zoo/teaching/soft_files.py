"""Files of soft labels, as ``train`` reads them: csv, JSON lines or Parquet, by their names."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.corpora.own_files import format_of
from dense_lstm_zoo.data.cells import csv_row, escape_json
from dense_lstm_zoo.data.label_columns import SEPARATOR, Label
from dense_lstm_zoo.data.soft_labels import PREFIX, TEACHER
from dense_lstm_zoo.storage import json_files
from dense_lstm_zoo.storage.packed_files import new_output
from dense_lstm_zoo.storage.snapshots import Target
from dense_lstm_zoo_runtime import install

if TYPE_CHECKING:
    import numpy as np

FORMATS = ("csv", "jsonl", "parquet")
_AT_ONCE = 10_000  # rows of Parquet


def check_format(output: Target) -> str:
    """Return the format of an output, by its name.

    Raises:
        ValueError: Another format, or Parquet without the library that writes it.
    """
    form = format_of(output.path, FORMATS, None)
    if form == "parquet" and importlib.util.find_spec("pyarrow") is None:
        raise ValueError(f"{output.path} is written with pyarrow, which is not installed: {install.extra('parquet')}.")
    return form


def check_label_sets(output: Target, own_labels: Sequence[Label | None]) -> None:
    """Raise ``ValueError`` for labels of texts that may have several, or none, which csv would not give back."""
    if check_format(output) != "csv":
        return
    for label in own_labels:
        if isinstance(label, tuple) and (not label or any(SEPARATOR in name for name in label)):
            wrong = (
                f"a label has a {SEPARATOR!r} in its name: {label!r:.60}" if label else "a text has none of the labels"
            )
            raise ValueError(
                f"{output.path} joins the labels of a text by {SEPARATOR!r}, and {wrong}. Write jsonl or parquet."
            )


def write(
    output: Target,
    texts: Sequence[str],
    own_labels: Sequence[Label | None],
    labels: Sequence[str],
    rows: np.ndarray,
    teacher: str,
) -> None:
    """Write texts with their soft labels, whole or not at all. The same content gives the same bytes.

    Args:
        output: The file.
        texts: The texts.
        own_labels: The label of each text that has one. The column is left out if none has. Several labels of a text
            are a list, and in csv joined by vertical bars.
        labels: The labels of the columns.
        rows: The probabilities (texts, labels).
        teacher: Who gave them.
    """
    columns: dict[str, Any] = {"text": texts}
    if any(label is not None for label in own_labels):
        columns["label"] = own_labels
    names = [*columns, *(f"{PREFIX}{label}" for label in labels), TEACHER]
    if check_format(output) == "parquet":
        _write_parquet(output, columns, names, rows, teacher)
        return
    is_csv = check_format(output) == "csv"
    with new_output(output) as file:
        file.write(csv_row(names) if is_csv else "")
        for *cells, shares in zip(*columns.values(), rows.tolist(), strict=True):
            values = [*cells, *(float(f"{share:.7g}") for share in shares), teacher]  # as exact as they are
            if is_csv:
                file.write(csv_row(map(_csv_cell, values)))
            else:
                file.write(escape_json(json_files.to_line(dict(zip(names, values, strict=True)))) + "\n")


def _write_parquet(output: Target, columns: dict[str, Any], names: list[str], rows: np.ndarray, teacher: str) -> None:
    import pyarrow
    from pyarrow import parquet

    is_several = any(isinstance(label, tuple) for label in columns.get("label", ()))

    def kind(name: str) -> pyarrow.DataType:
        if name == "label" and is_several:
            return pyarrow.list_(pyarrow.string())
        return pyarrow.float32() if name.startswith(PREFIX) else pyarrow.string()

    schema = pyarrow.schema([(name, kind(name)) for name in names])
    with new_output(output, "wb") as file, parquet.ParquetWriter(file, schema) as writer:
        for first in range(0, len(rows), _AT_ONCE):
            part = rows[first : first + _AT_ONCE]
            cells = [values[first : first + _AT_ONCE] for values in columns.values()]
            arrays = [*cells, *part.T, [teacher] * len(part)]
            writer.write_table(
                pyarrow.table(
                    [pyarrow.array(_plain(values), kind(name)) for name, values in zip(names, arrays, strict=True)],
                    schema=schema,
                )
            )


def _plain(values: object) -> object:
    """Return texts with what cannot be written replaced. Numbers stay as they are."""
    if not isinstance(values, list | tuple):
        return values
    return [value.encode("utf-8", "replace").decode() if isinstance(value, str) else value for value in values]


def _csv_cell(value: object) -> object:
    return "" if value is None else SEPARATOR.join(value) if isinstance(value, tuple) else value
