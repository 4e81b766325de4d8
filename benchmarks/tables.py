"""Tables of the README, made from results/*.csv: ``python -m benchmarks.tables`` rewrites them, ``--check`` compares.

A table stands between ``<!-- table: NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from dense_lstm_zoo import files

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
CLASSIFICATION = ROOT / "results" / "classification.csv"


def merge(path: Path, rows: list[dict[str, Any]], key: list[str]) -> None:
    """Put ``rows`` into the CSV file ``path``; a row replaces the one with the same ``key``."""
    new = pd.DataFrame(rows).astype(str)
    if path.is_file():
        old = pd.read_csv(path, dtype=str, keep_default_na=False)
        new = pd.concat([old, new]).drop_duplicates(key, keep="last").fillna("")
    path.parent.mkdir(exist_ok=True)
    with files.new_file(path, "w") as file:
        new.to_csv(file, index=False)


def classification() -> str:
    """Return the table of test accuracies."""
    rows = pd.read_csv(CLASSIFICATION, dtype=str, keep_default_na=False)
    lines = [
        "| corpus | model | settings | encoder parameters | test accuracy | dev accuracy | protocol | epochs | paper |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows.sort_values(["dataset", "recipe", "settings"], kind="stable").itertuples():
        spread = f" ± {row.accuracy_std}" if row.accuracy_std else ""
        lines.append(
            f"| {row.dataset} | `{row.model}` | `{row.recipe}` {row.settings} | {int(row.encoder_parameters):,} "
            f"| {row.accuracy_mean}{spread} | {row.dev_accuracy_mean} | {row.protocol} "
            f"| {row.epochs} (patience {row.patience}) | {row.paper} |"
        )
    commands = "\n".join(dict.fromkeys(row.command for row in rows.itertuples()))
    return "\n".join([*lines, "", f"```\n{commands}\n```", "", f"Versions: {rows['versions'].iloc[-1]}."])


def speed() -> str:
    """Return the tables of speed and memory."""
    from benchmarks.speed import table

    return table()


TABLES = {"classification": classification, "speed": speed}


def render(text: str) -> str:
    """Return the README's text with every table made anew."""

    def table(match: re.Match[str]) -> str:
        return f"<!-- table: {match[1]} -->\n{TABLES[match[1]]()}\n<!-- end -->"

    return re.sub(r"<!-- table: (\w+) -->\n.*?<!-- end -->", table, text, flags=re.DOTALL)


def update_readme() -> None:
    """Rewrite the README's tables."""
    text = README.read_text(encoding="utf-8")
    with files.new_file(README, "w") as file:
        file.write(render(text))


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        current = README.read_text(encoding="utf-8")
        sys.exit(0 if render(current) == current else "README.md is older than results/: python -m benchmarks.tables")
    update_readme()
