"""The table of the frontier, as Markdown, from its CSV file."""

from __future__ import annotations

from typing import Any

from benchmarks.frontier.figure import COSTS, front
from dense_lstm_zoo.display import Markdown, code, table
from tuning.result_files import ROOT, read_rows, sources

COLUMNS = (
    *("corpus", "model", "test accuracy", "dev", "1 text, ms (p99)", "32 texts, ms", "start, s", "memory, MB"),
    *("disk, MB", "training, s", "on the front by"),
)


def frontier() -> str:
    """Return the table of our presets and their peers, the best of each corpus first."""
    rows = read_rows(ROOT / "results" / "frontier.csv")
    cells = []
    for _, group in rows.groupby("dataset", sort=False):
        fronts = {
            cost: front([(float(row[cost]), float(row["test_accuracy"])) for _, row in group.iterrows()])
            for cost in COSTS
        }
        best_first = group.sort_values("test_accuracy", key=lambda scores: -scores.astype(float), kind="stable")
        cells += [_cells(row, fronts) for _, row in best_first.iterrows()]
    return "\n".join([table(COLUMNS, cells), "", sources(rows, timed=True)])


def _cells(row: Any, fronts: dict[str, Any]) -> tuple[Any, ...]:
    ours = f"{code(row['model'])}, {row['kind']}" if row["kind"] else row["model"]
    score = float(row["test_accuracy"])
    costs = {"p50_ms_1": "time", "disk_mb": "size"}
    leads = [costs[cost] for cost, points in fronts.items() if (float(row[cost]), score) in points]
    return (
        *(row["dataset"], Markdown(ours) if row["kind"] else ours, row["test_accuracy"], row["dev_accuracy"]),
        f"{float(row['p50_ms_1']):.2f} ({float(row['p99_ms_1']):.2f})",
        *(f"{float(row['p50_ms_32']):.1f}", f"{float(row['start_s']):.1f}", f"{float(row['peak_mb']):,.0f}"),
        *(f"{float(row['disk_mb']):,.1f}", row["train_s"] or "-", " and ".join(leads) or "-"),
    )
