"""The pictures of the frontier: accuracy against cost for each corpus, and names at their points for one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from dense_lstm_zoo.display import plots

OVERVIEW = "sst2"  # the corpus of the picture on the first pages
_INK = "#808080"  # of words and lines, readable on white and on black
_OURS = "#2f81f7"
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


def draw_overview(path: Path) -> None:
    """Draw accuracy against time on one corpus from the rows of a CSV file, into an SVG file beside it.

    Peers are named at their points, without their logistic regressions. Of ours, the exports for the light runtime are
    shown.
    """
    rows = pd.read_csv(path, keep_default_na=False)
    rows = rows[(rows["dataset"] == OVERVIEW) & (rows["kind"] != "SavedModel")]
    picture = path.with_name(f"{path.stem}_{OVERVIEW}.svg")
    settings = {"svg.fonttype": "none", "svg.hashsalt": OVERVIEW}  # words stay words, and equal rows give equal files
    with plots.own_settings(), matplotlib.rc_context(settings):
        figure = Figure(figsize=(7.5, 3.6), layout="constrained")
        axes = figure.subplots()
        for _, row in rows.iterrows():
            is_ours = row["kind"] != ""
            x, y = float(row["p50_ms_1"]), float(row["test_accuracy"])
            axes.plot([x], [y], marker="o", markersize=9 if is_ours else 6, color=_OURS if is_ours else _INK)
            name = f"{row['model']}\n{y:.1f} % in {x:.1f} ms" if is_ours else row["model"]
            axes.annotate(
                name.removesuffix(" + logistic regression"),
                (x, y),
                xytext=(0, 9 if is_ours else -9),
                textcoords="offset points",
                ha="center",
                va="bottom" if is_ours else "top",
                color=_OURS if is_ours else _INK,
                fontweight="bold" if is_ours else "normal",
                fontsize="small",
            )
        axes.set(xscale="log", xlabel="milliseconds for one sentence, on two cores (fast on the left)")
        axes.set_ylabel("right answers on SST-2, %")
        axes.margins(x=0.12, y=0.25)
        axes.xaxis.set_major_formatter("{x:g}")
        for axis in (axes.xaxis, axes.yaxis):
            axis.label.set_color(_INK)
        axes.tick_params(colors=_INK, which="both")
        for side, spine in axes.spines.items():
            spine.set_color(_INK)
            spine.set_visible(side in ("left", "bottom"))
        figure.savefig(picture, transparent=True, metadata={"Date": None})


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
