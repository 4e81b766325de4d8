"""Pictures of runs; matplotlib is an extra (``pip install dense-lstm-zoo[plots]``)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

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
