"""The CSV files of ``results/``: reading their cells, and putting in rows that replace older ones."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pandas as pd

from dense_lstm_zoo.display import escape, fenced
from dense_lstm_zoo.storage import files, lock

ROOT = Path(__file__).parent.parent


def read_rows(path: Path) -> pd.DataFrame:
    """Return a CSV file's cells as they are written."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def merge(path: Path, rows: list[dict[str, Any]], key: list[str]) -> None:
    """Put ``rows`` into the CSV file ``path``. They replace all that are there with the same ``key``.

    Commands that do so at once take turns.
    """
    new = pd.DataFrame(rows).astype(str)
    path.parent.mkdir(exist_ok=True)
    with lock.turn(path):
        if path.is_file():
            old, keys = read_rows(path), set(new[key].itertuples(index=False, name=None))
            old_keys = old.reindex(columns=key, fill_value="").itertuples(index=False, name=None)
            is_other = [row not in keys for row in old_keys]
            new = pd.concat([old[is_other], new]).fillna("")
        with files.new_file(path, "w") as file:
            new.to_csv(file, index=False)


def has_row(path: Path, row: Mapping[str, Any], key: list[str]) -> bool:
    """Return whether the CSV file ``path`` has a row with the same ``key``."""
    if not path.is_file():
        return False
    rows = read_rows(path).reindex(columns=key, fill_value="")
    return bool((rows == [str(row[column]) for column in key]).all(axis=1).any())


def folded(commands: str) -> str:
    """Return commands as a block of code that a reader opens with a click."""
    return "\n".join(["<details>", "<summary>Commands</summary>", "", fenced(commands), "", "</details>"])


def versions(rows: pd.DataFrame) -> str:
    """Return the versions that rows were made with, as Markdown: of each package all of them.

    Example:
        >>> versions(pd.DataFrame({"versions": ["zoo=0.1.0 keras=3.15.1", "zoo=0.2.0 keras=3.15.1"]}))
        'Versions: keras=3.15.1 zoo=0.1.0 zoo=0.2.0.'
    """
    return (
        f"Versions: {escape(' '.join(sorted({version for words in rows['versions'] for version in words.split()})))}."
    )


def machines(rows: pd.DataFrame) -> str:
    """Return the machines that rows were timed on, and their versions, as Markdown.

    Example:
        >>> machines(pd.DataFrame({"processor": ["A", "B"], "cores": ["2", "4"], "versions": ["zoo=0.1.0"] * 2}))
        'A, 2 cores; B, 4 cores. Versions: zoo=0.1.0.'
    """
    names = dict.fromkeys(f"{row.processor}, {row.cores} cores" for row in rows.itertuples())
    return f"{escape('; '.join(names))}. {versions(rows)}"


def sources(rows: pd.DataFrame, *, timed: bool = False) -> str:
    """Return what stands below a table: the commands that made its rows, folded, and their versions.

    Args:
        rows: Rows of a CSV file.
        timed: Whether the rows are times, so that the machines are named too.
    """
    commands = folded("\n".join(dict.fromkeys(rows["command"])))
    return "\n".join([commands, "", machines(rows) if timed else versions(rows)])


def rounded(value: Any, to: str) -> Decimal:
    """Return a number to as many decimals as ``to`` has, as people round.

    Example:
        >>> print(rounded("1804.5", "1"), rounded("0.665", "0.01"))
        1805 0.67
    """
    return Decimal(str(value)).quantize(Decimal(to), ROUND_HALF_UP)
