"""The picture of the frontier: accuracy against milliseconds and megabytes, a row for each corpus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from dense_lstm_zoo.display import plots

COSTS = {"p50_ms_1": "milliseconds for one text", "disk_mb": "megabytes on disk"}


def front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points (cost, score) that no other beats in both, by cost.

    Example:
        >>> front([(2, 80), (1, 70), (3, 75), (1, 60)])
        [(1, 70), (2, 80)]
    """
    best: list[tuple[float, float]] = []
    for cost, score in sorted(points, key=lambda point: (point[0], -point[1])):
        if not best or score > best[-1][1]:
            best.append((cost, score))
    return best


def draw(path: Path) -> None:
    """Draw the rows of a CSV file into the picture beside it."""
    rows = pd.read_csv(path, keep_default_na=False)
    rows["series"] = rows["model"].where(rows["kind"] == "", "ours, " + rows["kind"])
    styles = dict(zip(sorted(dict.fromkeys(rows["series"]), key=_ours_first), _styles(), strict=False))
    datasets = list(dict.fromkeys(rows["dataset"]))
    with plots.picture(path.with_suffix(".png"), "Test accuracy against cost", 9, 2.6 * len(datasets) + 1) as figure:
        grid = figure.subplots(len(datasets), len(COSTS), squeeze=False, sharey="row")
        for line, dataset in zip(grid, datasets, strict=True):
            for axes, (cost, label) in zip(line, COSTS.items(), strict=True):
                _panel(axes, rows[rows["dataset"] == dataset], cost, styles)
                axes.set_xlabel(label)
            line[0].set_ylabel(f"{dataset}, %")
        marks = [grid[0][0].plot([], [], linestyle="none", **style)[0] for style in styles.values()]
        figure.legend(marks, list(styles), loc="outside lower center", ncols=3, fontsize="small")


def _ours_first(series: str) -> bool:
    return not series.startswith("ours")


def _styles() -> Iterator[dict[str, Any]]:
    """Yield a shape and a colour for each series: ours filled, in one colour."""
    for marker in "*P":
        yield {"marker": marker, "color": "tab:blue", "markersize": 10}
    for number, marker in enumerate("osDv^<>h", start=1):
        yield {"marker": marker, "color": f"C{number}", "markersize": 6, "fillstyle": "none"}


def _panel(axes: Any, rows: pd.DataFrame, cost: str, styles: Mapping[str, Any]) -> None:
    points = [(float(row[cost]), float(row["test_accuracy"])) for _, row in rows.iterrows()]
    axes.step(*zip(*front(points), strict=True), where="post", color="gray", linewidth=1, linestyle="--")
    for (x, y), series in zip(points, rows["series"], strict=True):
        axes.plot([x], [y], linestyle="none", **styles[series])
    axes.set(xscale="log")
    axes.margins(x=0.1, y=0.15)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("")
    axes.grid(alpha=0.3)
