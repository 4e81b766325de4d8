"""Pictures of runs; matplotlib is an extra (``pip install dense-lstm-zoo[plots]``)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

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
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.5), layout="constrained")
    FigureCanvasAgg(figure)
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


def gates(found: GateActivations, path: Path, title: str) -> None:
    """Draw how far the skips' gates are open, a panel a direction: words downwards, layers to the right.

    Args:
        found: What ``TaggingBundle.gates`` returns.
        path: The picture to write; its ending is the format.
        title: The picture's title.

    Raises:
        ImportError: matplotlib is not installed.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size = 1.5 + 0.25 * len(found.tokens), 3.5 + 0.8 * len(found.layers)
    figure = Figure(figsize=(size[1], size[0]), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 2, sharey=True)
    for d, (axes, direction) in enumerate(zip(panels, ("forward", "backward"), strict=True)):
        image = axes.imshow(found.values[:, d].T, cmap="viridis", aspect="auto")
        axes.set(xlabel="layer", title=direction)
        axes.set_xticks(range(len(found.layers)), found.layers)
        axes.set_yticks(range(len(found.tokens)), found.tokens)
        figure.colorbar(image, ax=axes, label="mean gate" if d else None)
    figure.suptitle(title)
    figure.savefig(path, dpi=120)
