"""The CSV files of ``results/``: reading their cells, and putting in rows that replace older ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from dense_lstm_zoo import files
from dense_lstm_zoo.display import fenced

ROOT = Path(__file__).parent.parent


def read(path: Path) -> pd.DataFrame:
    """Return a CSV file's cells as they are written."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def merge(path: Path, rows: list[dict[str, Any]], key: list[str]) -> None:
    """Put ``rows`` into the CSV file ``path``; a row replaces the one with the same ``key``."""
    new = pd.DataFrame(rows).astype(str)
    if path.is_file():
        new = pd.concat([read(path), new]).drop_duplicates(key, keep="last").fillna("")
    path.parent.mkdir(exist_ok=True)
    with files.new_file(path, "w") as file:
        new.to_csv(file, index=False)


def folded(commands: str) -> str:
    """Return commands as a block of code that a reader opens with a click."""
    return "\n".join(["<details>", "<summary>Commands</summary>", "", fenced(commands), "", "</details>"])
