"""The records of all workers, added up: nothing is published unless every file, part and row is accounted for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Accounts:
    """Rows read, predicted and bad, and the records of the shards, by kind and then by their first row."""

    rows: int
    predicted: int
    bad: int
    shards: list[dict[str, Any]]


def add_up(records: Sequence[dict[str, Any]], num_files: int) -> Accounts:
    """Add up the records of all workers.

    Args:
        records: Of kind ``split``, one per file, with its parts. ``read``, one per part, with its rows. ``part`` and
            ``bad``, one per shard, with its rows.
        num_files: The files of the input.

    Raises:
        RuntimeError: Files that were not split, parts that were not read, or rows that were not written.
    """
    by_kind = {
        kind: [record for record in records if record["kind"] == kind] for kind in ("split", "read", "part", "bad")
    }
    rows = {kind: sum(record["rows"] for record in by_kind[kind]) for kind in ("read", "part", "bad")}
    parts, parts_read = sum(record["parts"] for record in by_kind["split"]), len(by_kind["read"])
    lost = ""
    if len(by_kind["split"]) != num_files:
        lost = f"{len(by_kind['split']):,} of {num_files:,} files were split"
    elif parts != parts_read:
        lost = f"{parts_read:,} of {parts:,} parts were read"
    elif rows["read"] != rows["part"] + rows["bad"]:
        lost = f"{rows['read']:,} rows were read, but {rows['part']:,} predicted and {rows['bad']:,} found bad"
    if lost:
        raise RuntimeError(f"{lost}: the runner lost work. Nothing is published; run again.")
    shards = [
        record for kind in ("part", "bad") for record in sorted(by_kind[kind], key=lambda record: list(record["first"]))
    ]
    return Accounts(rows["read"], rows["part"], rows["bad"], shards)
