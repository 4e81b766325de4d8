"""The picture of the frontier: accuracy against milliseconds and megabytes, a row for each corpus."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from dense_lstm_zoo import plots

COSTS = {"p50_ms_1": "milliseconds for one text", "disk_mb": "megabytes on disk"}


def front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points (cost, score) that no other beats in both, by cost.

    Example:
        >>> front([(2, 80), (1, 70), (3, 75), (1, 60)])
        [(1, 70), (2, 80)]
    """
    found: list[tuple[float, float]] = []
    for cost, score in sorted(points, key=lambda point: (point[0], -point[1])):
        if not found or score > found[-1][1]:
            found.append((cost, score))
    return found


def draw(path: Path) -> None:
    """Draw the rows of a CSV file into the picture beside it."""
    rows = pd.read_csv(path, keep_default_na=False)
    datasets = list(dict.fromkeys(rows["dataset"]))
    with plots.picture(path.with_suffix(".png"), "Test accuracy against cost", 11, 3.6 * len(datasets)) as figure:
        grid = figure.subplots(len(datasets), len(COSTS), squeeze=False, sharey="row")
        for line, dataset in zip(grid, datasets, strict=True):
            for axes, (cost, label) in zip(line, COSTS.items(), strict=True):
                _panel(axes, rows[rows["dataset"] == dataset], cost, label)
            line[0].set_ylabel(f"{dataset}, %")


def _panel(axes: Any, rows: pd.DataFrame, cost: str, label: str) -> None:
    points = [(float(row[cost]), float(row["test_accuracy"])) for _, row in rows.iterrows()]
    best = front(points)
    axes.step(*zip(*best, strict=True), where="post", color="gray", linewidth=1, linestyle="--")
    for (x, y), (_, row) in zip(points, rows.iterrows(), strict=True):
        ours = bool(row["kind"])
        axes.scatter([x], [y], color="tab:blue" if ours else "tab:orange", zorder=3)
        name = plots.short(f"{row['model']} {row['kind']}".strip())
        axes.annotate(name, (x, y), xytext=(4, 4), textcoords="offset points", fontsize=7)
    axes.set(xscale="log", xlabel=label)
    axes.margins(x=0.25, y=0.15)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.grid(alpha=0.3, which="both")
