"""The picture of the comparisons: ratios with floors and aims, and what a training step costs by size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.speed.table import PEERS, TITLES
from benchmarks.speed.workloads import SCALING
from dense_lstm_zoo_runtime import install
from tuning.result_files import read_rows


def draw(path: Path, picture: Path) -> None:
    """Draw the ratios and the scaling curves of a CSV file, if the extra matplotlib is installed."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        print(f"No {picture.name}: matplotlib is not installed ({install.extra('plots')}).")
        return
    rows = read_rows(path)
    rows = rows[rows["kernel"] == ""]
    figure = Figure(figsize=(14, 6), layout="constrained")
    FigureCanvasAgg(figure)
    ratios, curves = figure.subfigures(1, 2, width_ratios=(3, 2))  # type: ignore[misc]  # its stub knows one subfigure
    _draw_ratios(ratios.subplots(), rows[rows["name"].isin(TITLES) & (rows["peer"] != "")])
    for axes, (curve, (_, values)) in zip(curves.subplots(2, 2).flat, SCALING.items(), strict=True):
        points = rows[rows["name"].isin([f"scaling_{curve}_{value}" for value in values])]
        x = [int(name.rsplit("_", 1)[1]) for name in points["name"]]
        axes.errorbar(x, points["ours_ms"].astype(float), points["ours_spread_ms"].astype(float) / 2, marker=".")
        axes.set(xlabel=curve, ylabel="ms a training step", xscale="log", yscale="log")
        axes.set_xticks(x, x)
        axes.set_xticks([], minor=True)
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("{x:g}")
        axes.grid(alpha=0.3, which="both")
    figure.savefig(picture, dpi=120)


def _draw_ratios(axes: Any, rows: pd.DataFrame) -> None:
    """Draw one bar per row, with the quartiles of its ratio and ticks at the floor and the aim."""
    colours = {"keras": "tab:blue", "torch": "tab:orange", "float32": "tab:gray"}
    for place, row in enumerate(rows.itertuples()):
        ratio, low, high = (float(value) for value in (row.ratio, row.ratio_low, row.ratio_high))
        axes.barh(place, ratio, color=colours[row.peer], alpha=0.6)
        axes.plot([low, high], [place, place], color="black", linewidth=1)
        for goal, colour in ((row.floor, "tab:red"), (row.aim, "tab:green")):
            if goal:
                axes.plot([float(goal)] * 2, [place - 0.4, place + 0.4], color=colour, linewidth=2)
    labels = [f"{row.name} {row.batch or row.corpus} / {PEERS[row.peer]}" for row in rows.itertuples()]
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.axvline(1, color="gray", linestyle=":")
    axes.set(xlabel="times as fast as the peer (red: floor, green: aim; line: quartiles)")
