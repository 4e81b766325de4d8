"""Writers of shards: rows with their answers, in each format."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from dense_lstm_zoo import tasks
from dense_lstm_zoo.data.cells import csv_line, escape_controls, escape_json, mark_formula
from dense_lstm_zoo.storage import json_files
from dense_lstm_zoo.tasks.answers import AnswerForm, cell

if TYPE_CHECKING:
    import pyarrow

SUFFIXES = {"text": "txt", "csv": "csv", "jsonl": "jsonl", "parquet": "parquet"}
# What a row that was read as the first can be written as.
WRITABLE = {
    "text": ("text", "csv", "jsonl"),
    "csv": ("csv", "jsonl"),
    "tsv": ("csv", "jsonl"),
    "jsonl": ("jsonl",),
    "parquet": ("parquet", "jsonl"),
}
_ROW_GROUP = 5_000


@dataclass(frozen=True)
class Plan:
    """The form of the output.

    Attributes:
        form: The format, one of ``SUFFIXES``.
        task: The model's task.
        labels: A classifier's labels, which are columns of a table.
        names: The columns of the input, if it is a table.
        prefix: The beginning of new columns' or keys' names.
        raw: Whether to leave formulas in csv and control characters in text unescaped.
        schema: The Arrow schema of the input, serialised, if it is Parquet.
        is_several: Whether texts may have several labels.
    """

    form: str
    task: str
    labels: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    prefix: str = ""
    raw: bool = False
    schema: bytes = b""
    is_several: bool = False

    @property
    def answers(self) -> AnswerForm:
        """The form of the answers."""
        return tasks.find(self.task).answers.of_model(self)

    @property
    def new_names(self) -> list[str]:
        """The names of the columns or keys that a row gains."""
        is_table = self.form in ("csv", "parquet")
        names = self.answers.columns(self.labels) if is_table else self.answers.keys_of(self.labels)
        return [f"{self.prefix}{name}" for name in names]


class LineSink:
    """Writes rows as lines of text, csv or JSON."""

    def __init__(self, stream: BinaryIO, plan: Plan) -> None:
        self._stream, self._plan = stream, plan
        if plan.form == "csv":
            self._cells([*plan.names, *plan.new_names])

    def write(self, row: dict[str, Any]) -> None:
        """Write a row: its cells in ``row``, and the answer under its keys."""
        plan, cells = self._plan, row["row"] or {"text": row["text"]}
        if plan.form == "csv":
            values = plan.answers.values(row, plan.labels)
            self._cells([*(cells[name] for name in plan.names), *map(cell, values)])
        elif plan.form == "jsonl":
            answer = {f"{plan.prefix}{key}": row[key] for key in plan.answers.keys_of(plan.labels)}
            # A Parquet file may hold dates and the like.
            self._line(escape_json(json_files.to_line({**cells, **answer}, default=str)))
        else:
            cells = plan.answers.line(row, row["text"])
            self._line("\t".join(cells if plan.raw else map(escape_controls, cells)))

    def close(self) -> None:
        """Write what is left."""

    def _cells(self, cells: Sequence[str]) -> None:
        self._line(csv_line(cells if self._plan.raw else map(mark_formula, cells)).removesuffix("\n"))

    def _line(self, line: str) -> None:
        self._stream.write(line.encode("utf-8", "backslashreplace") + b"\n")


class ParquetSink:
    """Writes rows as a Parquet file with the columns of the input and those of the answers."""

    def __init__(self, stream: BinaryIO, plan: Plan) -> None:
        import pyarrow
        from pyarrow import ipc, parquet

        self._plan, self._rows = plan, list[dict[str, Any]]()
        schema = ipc.read_schema(pyarrow.py_buffer(plan.schema))
        keys = plan.answers.keys_of(plan.labels)
        for name, new in zip(plan.answers.columns(plan.labels), plan.new_names, strict=True):
            schema = schema.append(pyarrow.field(new, _arrow_type(keys.get(name, float))))
        self._table, self._schema = pyarrow.Table, schema
        self._writer = parquet.ParquetWriter(stream, schema)

    def write(self, row: dict[str, Any]) -> None:
        """Write a row: its cells in ``row``, and the answer under its keys."""
        values = self._plan.answers.values(row, self._plan.labels)
        self._rows.append({**row["row"], **dict(zip(self._plan.new_names, values, strict=True))})
        if len(self._rows) == _ROW_GROUP:
            self._flush()

    def close(self) -> None:
        """Write what is left."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(self._table.from_pylist(self._rows, schema=self._schema))
        self._rows = []


def _arrow_type(kind: Any) -> pyarrow.DataType:
    """Return the Arrow type of a value: a string, a number, a list, or an object with the fields of a dataclass."""
    import pyarrow

    if typing.get_origin(kind) is list:
        return pyarrow.list_(_arrow_type(*typing.get_args(kind)))
    if dataclasses.is_dataclass(kind):
        return pyarrow.struct([(name, _arrow_type(of)) for name, of in typing.get_type_hints(kind).items()])
    return {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64()}[kind]
