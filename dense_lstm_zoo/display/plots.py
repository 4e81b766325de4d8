"""Figures of runs. Matplotlib is the extra ``plots``."""

from __future__ import annotations

import contextlib
import os
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.display import one_line
from dense_lstm_zoo.storage import files

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_MOST_TOKENS = 100
_LETTERS_PER_INCH = 10  # of a title
_SETTINGS: dict[Any, Any] = {
    "text.usetex": False,
    "text.parse_math": False,  # a $ in a label is literal
    "axes.formatter.use_mathtext": False,
}


def learning_curve(
    history: pd.DataFrame,
    path: Path,
    title: str,
    measure: str = "accuracy",
    *,
    higher_is_better: bool = True,
    best_epoch: int | None = None,
) -> None:
    """Plot the loss and the score on train and dev by epoch, with the best dev epoch marked.

    Args:
        history: A bundle's history: ``epoch``, ``loss``, ``val_loss``, the measure and ``val_`` + the measure.
        path: The file to write. Its suffix sets the format.
        title: The picture's title.
        measure: The name of the score.
        higher_is_better: Whether a higher score is better. Otherwise the scale is logarithmic.
        best_epoch: The epoch that was saved. The default is the one with the best score.

    Raises:
        ImportError: matplotlib is not installed.
    """
    with picture(path, title, 9, 3.5) as figure:
        for axes, name in zip(figure.subplots(1, 2), ("loss", measure), strict=True):
            axes.plot(history["epoch"], history[name], label="training", marker=".")
            axes.plot(history["epoch"], history[f"val_{name}"], label="dev", marker=".")
            axes.set(xlabel="epoch", ylabel=name)
            axes.xaxis.get_major_locator().set_params(integer=True)
            axes.grid(alpha=0.3)
        scores = history[f"val_{measure}"]
        if not higher_is_better:
            _logarithmic(axes)  # else the first epochs would hide the others
        if scores.isna().all():
            axes.legend()
            return
        best = history.loc[scores.idxmax() if higher_is_better else scores.idxmin()]
        if best_epoch in history["epoch"].to_numpy():
            best = history.loc[history["epoch"] == best_epoch].iloc[0]
        axes.axvline(best["epoch"], color="gray", linestyle=":", label=f"best dev: {best[f'val_{measure}']:.4g}")
        axes.legend()


def by_depth(scores: pd.DataFrame, path: Path, title: str, measure: str = "accuracy") -> None:
    """Plot a score against depth, one line per series, with standard deviations.

    Args:
        scores: ``series``, ``depth``, ``mean`` and ``std`` (NaN for a single run). With a column ``panel``, such as of
            corpora, each has a panel and a scale of its own, and a series has one colour in all.
        path: The file to write. Its suffix sets the format.
        title: The picture's title.
        measure: The name of the score.

    Raises:
        ImportError: matplotlib is not installed.
    """
    panels = {"": scores} if "panel" not in scores else dict(iter(scores.groupby("panel", sort=False)))
    colors = {name: f"C{i}" for i, name in enumerate(scores["series"].unique())}
    lines: dict[str, Any] = {}
    with picture(path, title, max(7, 4 * len(panels)), 4.5) as figure:
        for axes, (panel, own) in zip(figure.subplots(1, len(panels), squeeze=False).flat, panels.items(), strict=True):
            for name, rows in own.sort_values("depth").groupby("series", sort=False):
                settings: dict[str, Any] = {"color": colors[name], "marker": "o", "capsize": 3}
                lines[short(name)] = axes.errorbar(rows["depth"], rows["mean"], rows["std"].fillna(0), **settings)
            axes.set(xlabel="layers", ylabel=measure, title=short(panel))
            axes.set_xticks(sorted(set(scores["depth"])))
            axes.grid(alpha=0.3)
        figure.legend(lines.values(), lines, loc="outside lower center", ncols=2, fontsize="small")  # it hides no point


def by_epoch(scores: pd.DataFrame, path: Path, title: str, measure: str) -> None:
    """Plot a score of several runs against the epoch, on a logarithmic scale.

    Args:
        scores: ``series``, ``epoch`` and the measure.
        path: The file to write. Its suffix sets the format.
        title: The picture's title.
        measure: The score's column and name.

    Raises:
        ImportError: matplotlib is not installed.
    """
    with picture(path, title, 7, 4.5) as figure:
        axes = figure.subplots()
        for name, rows in scores.groupby("series", sort=False):
            axes.plot(rows["epoch"], rows[measure], marker=".", label=short(name, 80))
        axes.set(xlabel="epoch", ylabel=measure)
        _logarithmic(axes)
        axes.grid(alpha=0.3, which="both")
        figure.legend(loc="outside lower center", fontsize="small")


def by_batch(panels: Mapping[str, Mapping[str, pd.DataFrame]], path: str | os.PathLike[str], title: str) -> None:
    """Plot the dev accuracy of runs against the training batches (Xie et al. 2019, Figs 4 and 5).

    Args:
        panels: Each bundle's ``dev_curve``, by panel title and run name.
        path: The file to write. Its suffix sets the format.
        title: The picture's title.

    Raises:
        ImportError: matplotlib is not installed.
    """
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    with picture(path, title, 6 * columns, 4 * rows) as figure:
        all_axes = figure.subplots(rows, columns, squeeze=False).flat
        for axes, (name, curves) in zip(all_axes, panels.items(), strict=False):
            lines = [axes.plot(x["batch"], x["dev_accuracy"], linewidth=1)[0] for x in curves.values()]
            axes.set(xlabel="training batches", ylabel="dev accuracy", title=short(name))
            axes.grid(alpha=0.3)
            # Explicit, as names that begin with "_" would otherwise have no entry.
            axes.legend(lines, [short(run, 80) for run in curves], fontsize="small")


def short(name: object, limit: int = 40) -> str:
    """Return a name from others in a form that a picture can show."""
    return one_line(name, limit)


def first_tokens(tokens: Sequence[str]) -> list[str]:
    """Return the tokens that fit in a picture."""
    labels = [short(token) for token in tokens[:_MOST_TOKENS]]
    if len(tokens) > len(labels):
        labels[-1] += f" (and {len(tokens) - len(labels):,} more)"
    return labels


def _logarithmic(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")  # 100, not a power of ten
    axes.yaxis.set_minor_formatter("{x:g}")


@contextlib.contextmanager
def own_settings() -> Iterator[None]:
    """Use settings that can draw any text inside the block, and restore the user's afterwards.

    A letter that the font lacks is drawn as a box, without a warning.
    """
    import matplotlib

    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def picture(path: str | os.PathLike[str], title: str, width: float, height: float) -> Iterator[Figure]:
    """Yield an empty figure, sized in inches, without a display. Write it if the block succeeds."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with own_settings():
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        figure.suptitle(textwrap.fill(short(title, 120), max(20, int(_LETTERS_PER_INCH * width))))
        yield figure
        with files.new_file(path) as file:
            figure.savefig(file, format=Path(path).suffix.removeprefix("."), dpi=120)
