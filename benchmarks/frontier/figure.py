"""The pictures of the frontier: accuracy against cost, for each corpus and for the one of the first pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from dense_lstm_zoo.display import plots
from tuning.result_files import rounded

OVERVIEW = "sst2"  # the corpus of the picture on the first pages
_INK = "#808080"  # of words and lines, readable on white and on black
_OURS = "#2f81f7"
COSTS = {"p50_ms_1": "milliseconds for one text (fast on the left)", "disk_mb": "megabytes on disk (small on the left)"}
CORPORA = {
    "sst2": "Film reviews, positive or negative (SST-2)",
    "trec": "Questions, by the kind of answer (TREC)",
    "cr": "Product reviews, positive or negative (CR)",
    "ewt_upos": "Parts of speech (UD English EWT)",
}
# Where a name may stand, from its point: offsets in points, and how the text is aligned there.
_PLACES = (
    ((0, -7), "center", "top"),
    ((0, 7), "center", "bottom"),
    ((8, 0), "left", "center"),
    ((-8, 0), "right", "center"),
    ((6, -9), "left", "top"),
    ((-6, -9), "right", "top"),
    ((6, 9), "left", "bottom"),
    ((-6, 9), "right", "bottom"),
    ((0, 19), "center", "bottom"),
    ((0, -19), "center", "top"),
)


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
    """Draw the rows of a CSV file into the picture beside it: a line of panels for each corpus, one for each cost."""
    rows = pd.read_csv(path, keep_default_na=False)
    datasets = list(dict.fromkeys(rows["dataset"]))
    title = "Right answers against cost: the zoo in blue (full: ONNX, hollow: SavedModel), other libraries in grey"
    with plots.picture(path.with_suffix(".png"), title, 11, 3.2 * len(datasets)) as figure:
        grid = figure.subplots(len(datasets), len(COSTS), squeeze=False, sharey="row")
        for line, dataset in zip(grid, datasets, strict=True):
            for axes, (cost, label) in zip(line, COSTS.items(), strict=True):
                _panel(axes, rows[rows["dataset"] == dataset], cost)
                axes.set_xlabel(label)
            line[0].set_ylabel("right answers, %")
            line[0].set_title(CORPORA.get(dataset, dataset), loc="left", fontsize="medium", fontweight="bold")
        figure.draw_without_rendering()  # names are placed by their sizes,
        figure.set_layout_engine("none")  # in panels that stay as they are
        for line, dataset in zip(grid, datasets, strict=True):
            for axes, cost in zip(line, COSTS, strict=True):
                _name_points(axes, rows[rows["dataset"] == dataset], cost)


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
            figures = f"{rounded(row['test_accuracy'], '0.1')} % in {rounded(row['p50_ms_1'], '0.1')} ms"
            name = f"{row['model']}\n{figures}" if is_ours else row["model"]
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


def _panel(axes: Any, rows: pd.DataFrame, cost: str) -> None:
    points = [(float(row[cost]), float(row["test_accuracy"])) for _, row in rows.iterrows()]
    axes.step(*zip(*front(points), strict=True), where="post", color="gray", linewidth=1, linestyle="--")
    for (x, y), kind in zip(points, rows["kind"], strict=True):
        style = {"color": _OURS, "markersize": 9} if kind else {"color": _INK, "markersize": 6}
        axes.plot([x], [y], marker="o", fillstyle="none" if kind == "SavedModel" else "full", **style)
    axes.set(xscale="log")
    axes.margins(x=0.2, y=0.3)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("")
    axes.grid(alpha=0.3)


def _name_points(axes: Any, rows: pd.DataFrame, cost: str) -> None:
    """Write each model's name at its point, where it covers no other point or name. The zoo's stand above if they can.

    A SavedModel has the name of its ONNX export, beside it.
    """
    points = [axes.transData.transform((float(row[cost]), float(row["test_accuracy"]))) for _, row in rows.iterrows()]
    boxes = [Bbox.from_bounds(x - 6, y - 6, 12, 12) for x, y in points]
    ours_first = rows[rows["kind"] != "SavedModel"].sort_values("kind", key=lambda kinds: kinds == "", kind="stable")
    for _, row in ours_first.iterrows():
        is_ours = row["kind"] != ""
        name = axes.annotate(
            row["model"].removesuffix(" + logistic regression"),
            (float(row[cost]), float(row["test_accuracy"])),
            textcoords="offset points",
            color=_OURS if is_ours else "black",
            fontweight="bold" if is_ours else "normal",
            fontsize="small",
        )
        for offset, name_ha, name_va in sorted(_PLACES, key=lambda place: is_ours and place[2] != "bottom"):
            name.set(position=offset, ha=name_ha, va=name_va)
            box = name.get_window_extent().padded(1)
            inside = axes.bbox.x0 < box.x0 and box.x1 < axes.bbox.x1
            if inside and not any(box.overlaps(other) for other in boxes):
                break
        boxes.append(name.get_window_extent())
