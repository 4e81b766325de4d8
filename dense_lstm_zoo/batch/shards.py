"""Workers read parts of the input and write shards under temporary names. Records name what they finished."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator
from typing import Any, BinaryIO

import apache_beam as beam
from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems
from apache_beam.metrics import Metrics
from apache_beam.transforms.window import GlobalWindows

from dense_lstm_zoo.batch import sinks
from dense_lstm_zoo.batch.layout import Layout, Part
from dense_lstm_zoo.batch.row_reader import read_rows
from dense_lstm_zoo.batch.splitting import split
from dense_lstm_zoo.data.cells import escape_json

NAMESPACE = "dense_lstm_zoo"


class Split(beam.DoFn):
    """The place of a file in the layout becomes its parts, and a record of their number under the tag ``records``."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def process(self, number: int) -> Iterator[Any]:
        """Yield the parts of a file."""
        count = 0
        for part in split(number, self._layout):
            count += 1
            yield part
        yield beam.pvalue.TaggedOutput("records", {"kind": "split", "parts": count})


class Read(beam.DoFn):
    """A part becomes its rows, bad rows under the tag ``bad``, and a record of their number under ``records``."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._rows = Metrics.counter(NAMESPACE, "rows_read")
        self._bad_rows = Metrics.counter(NAMESPACE, "rows_bad")

    def process(self, part: Part) -> Iterator[Any]:
        """Yield the rows of a part."""
        count = 0
        for row in read_rows(part, self._layout):
            count += 1
            self._rows.inc()
            if "reason" in row:
                self._bad_rows.inc()
                yield beam.pvalue.TaggedOutput("bad", row)
            else:
                yield row
        yield beam.pvalue.TaggedOutput("records", {"kind": "read", "rows": count})


class BadSink:
    """Writes bad rows as JSON lines: file, line or row, reason, and the beginning of the row."""

    def __init__(self, stream: _Summed, layout: Layout) -> None:
        self._stream, self._layout = stream, layout

    def write(self, row: dict[str, Any]) -> None:
        """Write a bad row."""
        unit = "row" if self._layout.form == "parquet" else "line"
        fields = {"file": self._layout.files[row["file"]], unit: row["number"], "reason": row["reason"]}
        fields |= {key: row[key] for key in ("lines", "content") if key in row}
        line = escape_json(json.dumps(fields, ensure_ascii=False))
        self._stream.write(line.encode("utf-8", "backslashreplace") + b"\n")

    def close(self) -> None:
        """Write what is left."""


class Write(beam.DoFn):
    """Turns rows into shards in a folder, and yields a record of each shard that is complete.

    A worker may die, and a runner may do a bundle twice. Each attempt writes files of its own, and only those whose
    records arrive are published.

    Args:
        folder: Where the shards are written.
        kind: ``"part"``, or ``"bad"`` for bad rows.
        plan: How they are written: a ``sinks.Plan``, or the ``Layout`` for bad rows.
        most_rows: Rows of a shard.
    """

    def __init__(self, folder: str, kind: str, plan: sinks.Plan | Layout, most_rows: int) -> None:
        self._folder, self._kind, self._plan, self._most_rows = folder, kind, plan, most_rows
        self._shard: _Shard | None = None
        self._rows_written = Metrics.counter(NAMESPACE, f"rows_written_{kind}")

    def start_bundle(self) -> None:
        """Forget a shard that a failed bundle left."""
        self._shard = None

    def process(self, row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Write a row."""
        if self._shard is None:
            self._shard = _Shard(self._folder, self._kind, self._plan, [row["file"], row["number"]])
        self._shard.write(row)
        self._rows_written.inc()
        if self._shard.rows == self._most_rows:
            yield self._close_shard()

    def finish_bundle(self) -> Iterator[Any]:
        """Complete the last shard."""
        if self._shard is not None:
            yield GlobalWindows.windowed_value_at_end_of_window(self._close_shard())

    def _close_shard(self) -> dict[str, Any]:
        assert self._shard is not None
        record, self._shard = self._shard.close(), None
        return record


class _Shard:
    """A file that is being written, with its sha256."""

    def __init__(self, folder: str, kind: str, plan: sinks.Plan | Layout, first: list[int]) -> None:
        self._kind, self._first, self.rows = kind, first, 0
        self._name = f"{kind}.{uuid.uuid4().hex}"
        path = FileSystems.join(folder, self._name)
        self._stream = _Summed(FileSystems.create(path, compression_type=CompressionTypes.UNCOMPRESSED))
        if isinstance(plan, Layout):
            self._sink: Any = BadSink(self._stream, plan)
        else:
            self._sink = (sinks.ParquetSink if plan.form == "parquet" else sinks.LineSink)(self._stream, plan)  # type: ignore[arg-type]

    def write(self, row: dict[str, Any]) -> None:
        self._sink.write(row)
        self.rows += 1

    def close(self) -> dict[str, Any]:
        """Complete the file and return its record."""
        self._sink.close()
        self._stream.close()
        record = {"kind": self._kind, "name": self._name, "rows": self.rows, "first": self._first}
        return {**record, "bytes": self._stream.size, "sha256": self._stream.sum.hexdigest()}


class _Summed:
    """A stream to write to that counts and sums its bytes."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self.sum, self.size, self.closed = stream, hashlib.sha256(), 0, False

    def write(self, data: bytes | memoryview) -> int:
        self.sum.update(data)
        self.size += len(memoryview(data))
        self._stream.write(data)
        return len(memoryview(data))

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        self._stream.flush()

    def close(self) -> None:
        self._stream.close()
        self.closed = True
