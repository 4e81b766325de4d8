"""Pictures of runs; matplotlib is an extra (``pip install dense-lstm-zoo[plots]``)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def learning_curve(history: pd.DataFrame, path: Path, title: str) -> None:
    """Draw loss and accuracy of training and dev set by epoch, the best dev epoch marked.

    Args:
        history: A bundle's history: ``epoch``, ``loss``, ``accuracy``, ``val_loss``, ``val_accuracy``.
        path: The picture to write; its ending is the format.
        title: The picture's title.

    Raises:
        ImportError: matplotlib is not installed.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.5), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, measure in zip(figure.subplots(1, 2), ("loss", "accuracy"), strict=True):
        axes.plot(history["epoch"], history[measure], label="training", marker=".")
        axes.plot(history["epoch"], history[f"val_{measure}"], label="dev", marker=".")
        axes.set(xlabel="epoch", ylabel=measure)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(alpha=0.3)
    best = history.loc[history["val_accuracy"].idxmax()]
    axes.axvline(best["epoch"], color="gray", linestyle=":", label=f"best dev: {best['val_accuracy']:.3f}")
    axes.legend()
    figure.suptitle(title)
    figure.savefig(path, dpi=120)


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
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    labels, counts = evaluation["labels"], np.array(evaluation["confusion"])
    size = max(4.5, 0.28 * len(labels))
    figure = Figure(figsize=(2 * size, size), layout="constrained")
    FigureCanvasAgg(figure)
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
    figure.suptitle(title)
    figure.savefig(path, dpi=120)
