"""What is written to a shard: rows with their answers, in each format."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from dense_lstm_zoo.batch import answers
from dense_lstm_zoo.data.cells import csv_line, escape_controls, escape_json, mark_formula
from dense_lstm_zoo.storage import json_files

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
    """How predictions are written.

    Attributes:
        form: The format, one of ``SUFFIXES``.
        task: The model's task.
        labels: A classifier's labels, which are columns of a table.
        names: The columns of the input, if it is a table.
        prefix: What the names of new columns or keys begin with.
        raw: Whether to leave formulas in csv and control characters in text unescaped.
        schema: The Arrow schema of the input, serialised, if it is Parquet.
    """

    form: str
    task: str
    labels: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    prefix: str = ""
    raw: bool = False
    schema: bytes = b""

    @property
    def new_names(self) -> list[str]:
        """The names of the columns or keys that a row gains."""
        is_table = self.form in ("csv", "parquet")
        new = answers.columns(self.task, self.labels) if is_table else answers.KEYS[self.task]
        return [f"{self.prefix}{name}" for name in new]


class LineSink:
    """Writes rows as lines of text, csv or JSON."""

    def __init__(self, stream: BinaryIO, plan: Plan) -> None:
        self._stream, self._plan = stream, plan
        if plan.form == "csv":
            self._cells([*plan.names, *plan.new_names])

    def write(self, row: dict[str, Any]) -> None:
        """Write a row: its cells in ``row``, and the answer under its keys."""
        plan, given = self._plan, row["row"] or {"text": row["text"]}
        if plan.form == "csv":
            new = answers.values(row, plan.task, plan.labels)
            self._cells([*(given[name] for name in plan.names), *map(_cell, new)])
        elif plan.form == "jsonl":
            found = {f"{plan.prefix}{key}": row[key] for key in answers.KEYS[plan.task]}
            # A Parquet file may hold dates and the like.
            self._line(escape_json(json_files.to_line({**given, **found}, default=str)))
        else:
            cells = answers.line(row, plan.task, row["text"])
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
        texts, numbers = pyarrow.string(), pyarrow.float64()
        kinds = {
            "label": texts,
            "tags": pyarrow.list_(texts),
            "unknown_words": pyarrow.int64(),
            "tokens": pyarrow.int64() if plan.task == "language_model" else pyarrow.list_(texts),
            "probabilities": pyarrow.list_(numbers),
        }
        for name, new in zip(answers.columns(plan.task, plan.labels), plan.new_names, strict=True):
            schema = schema.append(pyarrow.field(new, kinds.get(name, numbers)))
        self._table, self._schema = pyarrow.Table, schema
        self._writer = parquet.ParquetWriter(stream, schema)

    def write(self, row: dict[str, Any]) -> None:
        """Write a row: its cells in ``row``, and the answer under its keys."""
        values = answers.values(row, self._plan.task, self._plan.labels)
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


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.6f}" if isinstance(value, float) else json.dumps(value, ensure_ascii=False)
