"""Pictures of runs; matplotlib is an extra (``pip install dense-lstm-zoo[plots]``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import files

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from dense_lstm_zoo.explaining import Explanation
    from dense_lstm_zoo.tagging import GateActivations


def learning_curve(history: pd.DataFrame, path: Path, title: str, measure: str = "accuracy") -> None:
    """Draw loss and score of training and dev set by epoch, the best dev epoch marked.

    Args:
        history: A bundle's history: ``epoch``, ``loss``, ``val_loss``, the measure and ``val_`` with it.
        path: The picture to write; its ending is the format.
        title: The picture's title.
        measure: ``"accuracy"``, or ``"perplexity"``, which is better where it is lower.

    Raises:
        ImportError: matplotlib is not installed.
    """
    figure = _new(9, 3.5)
    for axes, name in zip(figure.subplots(1, 2), ("loss", measure), strict=True):
        axes.plot(history["epoch"], history[name], label="training", marker=".")
        axes.plot(history["epoch"], history[f"val_{name}"], label="dev", marker=".")
        axes.set(xlabel="epoch", ylabel=name)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(alpha=0.3)
    scores = history[f"val_{measure}"]
    if measure == "perplexity":
        axes.set_yscale("log")  # the first epochs' would hide all that follows
    best = history.loc[scores.idxmin() if measure == "perplexity" else scores.idxmax()]
    axes.axvline(best["epoch"], color="gray", linestyle=":", label=f"best dev: {best[f'val_{measure}']:.4g}")
    axes.legend()
    _save(figure, path, title)


def evaluation(evaluation: dict[str, Any], path: Path, title: str) -> None:
    """Draw the confusion matrix and the reliability diagram of an evaluation.

    Args:
        evaluation: What ``training.analysis.analyse`` returns.
        path: The picture to write; its ending is the format.
        title: The picture's title.

    Raises:
        ImportError: matplotlib is not installed.
    """
    import numpy as np

    labels, counts = evaluation["labels"], np.array(evaluation["confusion"])
    size = max(4.5, 0.28 * len(labels))
    figure = _new(2 * size, size)
    left, right = figure.subplots(1, 2)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    left.imshow(share, cmap="Blues", vmin=0, vmax=1)
    left.set(xlabel="predicted", ylabel="right", title="share of each right label")
    left.set_xticks(range(len(labels)), labels, rotation=90 if len(labels) > 2 else 0)
    left.set_yticks(range(len(labels)), labels)
    if len(labels) <= 12:
        for (i, j), count in np.ndenumerate(counts):
            left.text(j, i, f"{count:,}", ha="center", va="center", color="white" if share[i, j] > 0.5 else "black")
    bins = evaluation["calibration"]
    right.plot([0, 1], [0, 1], color="gray", linestyle=":", label="calibrated")
    right.bar([row["from"] + 0.05 for row in bins], [row["accuracy"] for row in bins], width=0.09, label="accuracy")
    right.plot([row["mean"] for row in bins], [row["accuracy"] for row in bins], marker=".", color="black")
    error = evaluation["calibration_error"]
    right.set(xlabel="probability of the predicted label", ylabel="accuracy", xlim=(0, 1), ylim=(0, 1))
    right.set_title(f"expected calibration error {100 * error:.1f} %")
    right.legend()
    _save(figure, path, title)


def gates(found: GateActivations, path: Path, title: str) -> None:
    """Draw how far the skips' gates are open, a panel a direction: words downwards, layers to the right.

    Args:
        found: What ``TaggingBundle.gates`` returns.
        path: The picture to write; its ending is the format.
        title: The picture's title.

    Raises:
        ImportError: matplotlib is not installed.
    """
    figure = _new(3.5 + 0.8 * len(found.layers), 1.5 + 0.25 * len(found.tokens))
    panels = figure.subplots(1, 2, sharey=True)
    for d, (axes, direction) in enumerate(zip(panels, ("forward", "backward"), strict=True)):
        image = axes.imshow(found.values[:, d].T, cmap="viridis", aspect="auto")
        axes.set(xlabel="layer", title=direction)
        axes.set_xticks(range(len(found.layers)), found.layers)
        axes.set_yticks(range(len(found.tokens)), found.tokens)
        figure.colorbar(image, ax=axes, label="mean gate" if d else None)
    _save(figure, path, title)


def explanation(found: Explanation, path: Path, title: str) -> None:
    """Draw a text's words downwards: their saliency and, to the right, the shares of each layer (Figs 6 and 7).

    Args:
        found: What ``ClassificationBundle.explain`` returns.
        path: The picture to write; its ending is the format.
        title: The picture's title.

    Raises:
        ImportError: matplotlib is not installed.
    """
    wide = bool(found.layers)
    figure = _new(4 + (1.5 + 0.35 * len(found.layers)) * wide, 1.5 + 0.25 * len(found.tokens))
    panels = figure.subplots(1, 1 + wide, sharey=True, squeeze=False)[0]
    places = range(len(found.tokens))
    panels[0].barh(places, found.saliency, color=["tab:blue" if x >= 0 else "tab:red" for x in found.saliency])
    panels[0].set(xlabel=f"gradient x input, for {found.label}")
    panels[0].axvline(0, color="gray", linewidth=1)
    panels[0].set_yticks(places, found.tokens)
    panels[0].invert_yaxis()
    if wide:
        image = panels[1].imshow(found.shares, cmap="viridis", aspect="auto")
        panels[1].set_xticks(range(len(found.layers)), [name.rsplit(" ", 1)[1] for name in found.layers])
        panels[1].set(xlabel=found.layers[0].rsplit(" ", 1)[0])
        figure.colorbar(image, ax=panels[1], label="share of the words")
    _save(figure, path, title)


def by_depth(scores: pd.DataFrame, path: Path, title: str, measure: str = "accuracy") -> None:
    """Draw a score against depth, a line a series, with standard deviations.

    Args:
        scores: ``series``, ``depth``, ``mean`` and ``std`` (NaN for a single run).
        path: The picture to write; its ending is the format.
        title: The picture's title.
        measure: What the score is called.

    Raises:
        ImportError: matplotlib is not installed.
    """
    figure = _new(7, 4.5)
    axes = figure.subplots()
    for name, rows in scores.sort_values("depth").groupby("series", sort=False):
        axes.errorbar(rows["depth"], rows["mean"], rows["std"].fillna(0), label=name, marker="o", capsize=3)
    axes.set(xlabel="layers", ylabel=measure)
    axes.set_xticks(sorted(set(scores["depth"])))
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    _save(figure, path, title)


def by_epoch(scores: pd.DataFrame, path: Path, title: str, measure: str) -> None:
    """Draw a score of several runs against the epoch, on a logarithmic scale.

    Args:
        scores: ``series``, ``epoch`` and the measure.
        path: The picture to write; its ending is the format.
        title: The picture's title.
        measure: The score's column, and what it is called.

    Raises:
        ImportError: matplotlib is not installed.
    """
    figure = _new(7, 4.5)
    axes = figure.subplots()
    for name, rows in scores.groupby("series", sort=False):
        axes.plot(rows["epoch"], rows[measure], marker=".", label=name)
    axes.set(xlabel="epoch", ylabel=measure, yscale="log")
    axes.yaxis.set_major_formatter("{x:g}")  # 100, not a power of ten
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize="small")
    _save(figure, path, title)


def by_batch(panels: Mapping[str, Mapping[str, pd.DataFrame]], path: Path, title: str) -> None:
    """Draw the dev accuracy of runs against the training batches (Xie et al. 2019, Figs 4 and 5).

    Args:
        panels: By a panel's title, by a run's name, its bundle's ``dev_curve``.
        path: The picture to write; its ending is the format.
        title: The picture's title.

    Raises:
        ImportError: matplotlib is not installed.
    """
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    figure = _new(6 * columns, 4 * rows)
    for axes, (name, curves) in zip(figure.subplots(rows, columns, squeeze=False).flat, panels.items(), strict=False):
        for run, curve in curves.items():
            axes.plot(curve["batch"], curve["dev_accuracy"], label=run, linewidth=1)
        axes.set(xlabel="training batches", ylabel="dev accuracy", title=name)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    _save(figure, path, title)


def _new(width: float, height: float) -> Figure:
    """Return an empty figure, in inches, that needs no screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _save(figure: Figure, path: Path, title: str) -> None:
    figure.suptitle(title)
    with files.new_file(path) as file:
        figure.savefig(file, format=path.suffix.removeprefix("."), dpi=120)
