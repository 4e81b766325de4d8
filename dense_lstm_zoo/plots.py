"""Pictures of runs; matplotlib is an extra (``pip install dense-lstm-zoo[plots]``)."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import files
from dense_lstm_zoo.display import one_line

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from dense_lstm_zoo.classification.explain import Explanation
    from dense_lstm_zoo.tagging.bundle import GateActivations


_MOST_LABELS = 30  # of a confusion matrix that can be read
_MOST_TOKENS = 100
_SETTINGS: dict[Any, Any] = {
    "text.usetex": False,
    "text.parse_math": False,  # a $ in a label is a $
    "axes.formatter.use_mathtext": False,
}


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
    with _picture(path, title, 9, 3.5) as figure:
        for axes, name in zip(figure.subplots(1, 2), ("loss", measure), strict=True):
            axes.plot(history["epoch"], history[name], label="training", marker=".")
            axes.plot(history["epoch"], history[f"val_{name}"], label="dev", marker=".")
            axes.set(xlabel="epoch", ylabel=name)
            axes.xaxis.get_major_locator().set_params(integer=True)
            axes.grid(alpha=0.3)
        scores = history[f"val_{measure}"]
        if measure == "perplexity":
            _logarithmic(axes)  # the first epochs' would hide all that follows
        best = history.loc[scores.idxmin() if measure == "perplexity" else scores.idxmax()]
        axes.axvline(best["epoch"], color="gray", linestyle=":", label=f"best dev: {best[f'val_{measure}']:.4g}")
        axes.legend()


def evaluation(evaluation: dict[str, Any], path: Path, title: str) -> None:
    """Draw the confusion matrix and the reliability diagram of an evaluation.

    Of more than 30 labels, the matrix holds the 30 that are confused most.

    Args:
        evaluation: What ``training.analysis.analyse`` returns.
        path: The picture to write; its ending is the format.
        title: The picture's title.

    Raises:
        ImportError: matplotlib is not installed.
    """
    import numpy as np

    from dense_lstm_zoo.classification.analysis import confusion_cells

    cells, names = confusion_cells(evaluation), evaluation["labels"]
    chosen = _most_confused(cells, len(names))
    place = {label: i for i, label in enumerate(chosen)}
    counts = np.zeros((len(chosen), len(chosen)), int)
    for i, j, count in cells:
        if i in place and j in place:
            counts[place[i], place[j]] = count
    totals = np.array([evaluation["classes"][label]["texts"] for label in chosen])
    share = counts / np.maximum(totals, 1)[:, None]
    labels = [_short(names[label], 30) for label in chosen]
    size = max(4.5, 0.28 * len(labels) + 0.08 * max(map(len, labels)))
    with _picture(path, title, 2 * size, size) as figure:
        left, right = figure.subplots(1, 2)
        left.imshow(share, cmap="Blues", vmin=0, vmax=1)
        which = "" if len(chosen) == len(names) else f", the {len(chosen)} of {len(names):,} confused most"
        left.set(xlabel="predicted", ylabel="right", title=f"share of each right label{which}")
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


def _most_confused(cells: Sequence[tuple[int, int, int]], size: int) -> list[int]:
    """Return the labels with most errors, as the right label or as the predicted one, in their order."""
    errors = [0] * size
    for i, j, count in cells:
        if i != j:
            errors[i] += count
            errors[j] += count
    return sorted(sorted(range(size), key=lambda label: -errors[label])[:_MOST_LABELS])


def gates(found: GateActivations, path: Path, title: str) -> None:
    """Draw how far the skips' gates are open, a panel a direction: words downwards, layers to the right.

    Args:
        found: What ``TaggingBundle.gates`` returns.
        path: The picture to write; its ending is the format.
        title: The picture's title.

    Raises:
        ImportError: matplotlib is not installed.
    """
    tokens = _first_tokens(found.tokens)
    with _picture(path, title, 3.5 + 0.8 * len(found.layers), 1.5 + 0.25 * len(tokens)) as figure:
        panels = figure.subplots(1, 2, sharey=True)
        for d, (axes, direction) in enumerate(zip(panels, ("forward", "backward"), strict=True)):
            image = axes.imshow(found.values[:, d, : len(tokens)].T, cmap="viridis", aspect="auto")
            axes.set(xlabel="layer", title=direction)
            axes.set_xticks(range(len(found.layers)), found.layers)
            axes.set_yticks(range(len(tokens)), tokens)
            figure.colorbar(image, ax=axes, label="mean gate" if d else None)


def explanation(found: Explanation, path: Path, title: str) -> None:
    """Draw a text's words downwards: their saliency and, to the right, the shares of each layer (Figs 6 and 7).

    Args:
        found: What ``ClassificationBundle.explain`` returns.
        path: The picture to write; its ending is the format.
        title: The picture's title.

    Raises:
        ImportError: matplotlib is not installed.
    """
    wide, tokens = bool(found.layers), _first_tokens(found.tokens)
    height = 1.5 + 0.25 * len(tokens)
    with _picture(path, title, 4 + (1.5 + 0.35 * len(found.layers)) * wide, height) as figure:
        panels = figure.subplots(1, 1 + wide, sharey=True, squeeze=False)[0]
        places, saliency = range(len(tokens)), found.saliency[: len(tokens)]
        panels[0].barh(places, saliency, color=["tab:blue" if x >= 0 else "tab:red" for x in saliency])
        panels[0].set(xlabel=f"gradient x input, for {_short(found.label)}")
        panels[0].axvline(0, color="gray", linewidth=1)
        panels[0].set_yticks(places, tokens)
        panels[0].invert_yaxis()
        if wide:
            image = panels[1].imshow(found.shares[: len(tokens)], cmap="viridis", aspect="auto")
            panels[1].set_xticks(range(len(found.layers)), [name.rsplit(" ", 1)[1] for name in found.layers])
            panels[1].set(xlabel=found.layers[0].rsplit(" ", 1)[0])
            figure.colorbar(image, ax=panels[1], label="share of the words")


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
    with _picture(path, title, 7, 4.5) as figure:
        axes = figure.subplots()
        for name, rows in scores.sort_values("depth").groupby("series", sort=False):
            spread = rows["std"].fillna(0)
            axes.errorbar(rows["depth"], rows["mean"], spread, label=_short(name), marker="o", capsize=3)
        axes.set(xlabel="layers", ylabel=measure)
        axes.set_xticks(sorted(set(scores["depth"])))
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")


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
    with _picture(path, title, 7, 4.5) as figure:
        axes = figure.subplots()
        for name, rows in scores.groupby("series", sort=False):
            axes.plot(rows["epoch"], rows[measure], marker=".", label=_short(name))
        axes.set(xlabel="epoch", ylabel=measure)
        _logarithmic(axes)
        axes.grid(alpha=0.3, which="both")
        axes.legend(fontsize="small")


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
    with _picture(path, title, 6 * columns, 4 * rows) as figure:
        all_axes = figure.subplots(rows, columns, squeeze=False).flat
        for axes, (name, curves) in zip(all_axes, panels.items(), strict=False):
            lines = [axes.plot(x["batch"], x["dev_accuracy"], linewidth=1)[0] for x in curves.values()]
            axes.set(xlabel="training batches", ylabel="dev accuracy", title=_short(name))
            axes.grid(alpha=0.3)
            # By hand: a name that begins with "_" would have no entry.
            axes.legend(lines, [_short(run, 80) for run in curves], fontsize="small")


def _short(name: Any, limit: int = 40) -> str:
    """Return a name that others gave as it can stand in a picture."""
    return one_line(name, limit)


def _first_tokens(tokens: Sequence[str]) -> list[str]:
    """Return the tokens that a picture has room for."""
    shown = [_short(token) for token in tokens[:_MOST_TOKENS]]
    if len(tokens) > len(shown):
        shown[-1] += f" (and {len(tokens) - len(shown):,} more)"
    return shown


def _logarithmic(axes: Any) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")  # 100, not a power of ten
    axes.yaxis.set_minor_formatter("{x:g}")


@contextlib.contextmanager
def own_settings() -> Iterator[None]:
    """Draw in the block with settings under which any text can be drawn; the user's are as they were afterwards.

    A letter that the font lacks is drawn as a box, without a warning.
    """
    import matplotlib

    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _picture(path: Path, title: str, width: float, height: float) -> Iterator[Figure]:
    """Give an empty figure, in inches, that needs no screen; write it when the block ends well."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with own_settings():
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure
        figure.suptitle(_short(title, 120))
        with files.new_file(path) as file:
            figure.savefig(file, format=path.suffix.removeprefix("."), dpi=120)
