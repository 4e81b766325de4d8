"""Figures for a classifier: its errors, and what influenced a prediction."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.classification.analysis import confusion_cells
from dense_lstm_zoo.display.plots import first_tokens, picture, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dense_lstm_zoo.classification.explain import Explanation

_MOST_LABELS = 30  # more would make a confusion matrix unreadable


def evaluation(evaluation: dict[str, Any], path: Path, title: str) -> None:
    """Draw the confusion matrix and the reliability diagram of an evaluation.

    With more than 30 labels, the matrix shows the 30 that are confused most. Where texts may have several labels, the
    F1 of the 30 most frequent labels takes its place.

    Args:
        evaluation: What ``classification.analysis.analyse`` returns.
        path: The file to write. Its suffix sets the format.
        title: The picture's title.

    Raises:
        ImportError: matplotlib is not installed.
    """
    import numpy as np

    if evaluation.get("several"):
        _evaluation_of_several(evaluation, path, title)
        return
    cells, names = confusion_cells(evaluation), evaluation["labels"]
    shown_labels = _most_confused(cells, len(names))
    place = {label: i for i, label in enumerate(shown_labels)}
    counts = np.zeros((len(shown_labels), len(shown_labels)), int)
    for i, j, count in cells:
        if i in place and j in place:
            counts[place[i], place[j]] = count
    totals = np.array([evaluation["classes"][label]["texts"] for label in shown_labels])
    share = counts / np.maximum(totals, 1)[:, None]
    labels = [short(names[label], 30) for label in shown_labels]
    size = max(4.5, 0.28 * len(labels) + 0.08 * max(map(len, labels)))
    with picture(path, title, 2 * size, size) as figure:
        left, right = figure.subplots(1, 2)
        left.imshow(share, cmap="Blues", vmin=0, vmax=1)
        note = "" if len(shown_labels) == len(names) else f", the {len(shown_labels)} of {len(names):,} confused most"
        left.set(xlabel="predicted", ylabel="right", title=f"share of each right label{note}")
        left.set_xticks(range(len(labels)), labels, rotation=90 if len(labels) > 2 else 0)
        left.set_yticks(range(len(labels)), labels)
        if len(labels) <= 12:
            for (i, j), count in np.ndenumerate(counts):
                left.text(j, i, f"{count:,}", ha="center", va="center", color="white" if share[i, j] > 0.5 else "black")
        _reliability(right, evaluation, "probability of the predicted label", "accuracy")


def _reliability(axes: Axes, evaluation: dict[str, Any], xlabel: str, ylabel: str) -> None:
    bins = evaluation["calibration"]
    axes.plot([0, 1], [0, 1], color="gray", linestyle=":", label="calibrated")
    axes.bar([row["from"] + 0.05 for row in bins], [row["accuracy"] for row in bins], width=0.09, label=ylabel)
    axes.plot([row["mean"] for row in bins], [row["accuracy"] for row in bins], marker=".", color="black")
    axes.set(xlabel=xlabel, ylabel=ylabel, xlim=(0, 1), ylim=(0, 1))
    axes.set_title(f"expected calibration error {100 * evaluation['calibration_error']:.1f} %")
    axes.legend()


def _evaluation_of_several(evaluation: dict[str, Any], path: Path, title: str) -> None:
    rows = sorted(evaluation["classes"], key=lambda row: -row["texts"])[:_MOST_LABELS]
    names = [short(row["label"], 30) for row in rows]
    size = max(4.5, 0.28 * len(rows) + 0.08 * max(map(len, names)))
    with picture(path, title, 2 * size, size) as figure:
        left, right = figure.subplots(1, 2)
        places = range(len(rows))
        left.barh(places, [row["f1"] or 0.0 for row in rows])
        left.set_yticks(places, [f"{name} ({row['texts']:,})" for name, row in zip(names, rows, strict=True)])
        left.invert_yaxis()
        left.set(xlabel="F1", xlim=(0, 1), title="F1 by label (texts)")
        _reliability(right, evaluation, "probability of a label", "share of texts with it")


def _most_confused(cells: Sequence[tuple[int, int, int]], size: int) -> list[int]:
    """Return the labels with the most errors, as right or predicted label, in label order."""
    errors = [0] * size
    for i, j, count in cells:
        if i != j:
            errors[i] += count
            errors[j] += count
    return sorted(sorted(range(size), key=lambda label: -errors[label])[:_MOST_LABELS])


def explanation(explanation: Explanation, path: str | os.PathLike[str], title: str) -> None:
    """Draw one row per word of a text: its saliency and, to the right, its share in each layer (Figs 6 and 7).

    Args:
        explanation: The result of ``ClassificationBundle.explain``.
        path: The file to write. Its suffix sets the format.
        title: The picture's title.

    Raises:
        ImportError: matplotlib is not installed.
    """
    wide, tokens = bool(explanation.layers), first_tokens(explanation.tokens)
    height = 1.5 + 0.25 * len(tokens)
    with picture(path, title, 4 + (1.5 + 0.35 * len(explanation.layers)) * wide, height) as figure:
        panels = figure.subplots(1, 1 + wide, sharey=True, squeeze=False)[0]
        places, saliency = range(len(tokens)), explanation.saliency[: len(tokens)]
        panels[0].barh(places, saliency, color=["tab:blue" if x >= 0 else "tab:red" for x in saliency])
        panels[0].set(xlabel=f"gradient x input, for {short(explanation.label)}")
        panels[0].axvline(0, color="gray", linewidth=1)
        panels[0].set_yticks(places, tokens)
        panels[0].invert_yaxis()
        if wide:
            image = panels[1].imshow(explanation.shares[: len(tokens)], cmap="viridis", aspect="auto")
            panels[1].set_xticks(
                range(len(explanation.layers)), [name.rsplit(" ", 1)[1] for name in explanation.layers]
            )
            panels[1].set(xlabel=explanation.layers[0].rsplit(" ", 1)[0])
            figure.colorbar(image, ax=panels[1], label="share of the words")
