"""Reports for people: a summary, a model card, learning curves and an error report."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.display import one_line, plots
from dense_lstm_zoo.display.notes import say
from dense_lstm_zoo.reports import cards
from dense_lstm_zoo.storage import files

if TYPE_CHECKING:
    from dense_lstm_zoo.bundles.bundle import Bundle
    from dense_lstm_zoo.tasks import Task

_NOTES = {
    "diverged": "stopped",
    "ended_by": "ended by",
    "changed": "changed",
    "rounded": "weights",
    "chosen": "chosen",
    "tested_on": "tested on",
    "seen_test": "warning",
    "seen_dev": "warning",
    "small_dev": "warning",
    "never_predicted": "warning",
}  # metrics that are text, with their names in a summary


_Writer = Callable[[Path], None]


def write(bundle: Bundle, folder: Path) -> None:
    """Write a bundle's model card, its pictures and the report of its evaluation into its folder.

    Each is written whole or not at all. Failures are reported in one warning and never affect the other files.
    """
    writers: dict[str, _Writer] = {"README.md": lambda path: _write_text(path, cards.model_card(bundle, folder))}
    task, history, curve = bundle.task, bundle.history, bundle.dev_curve
    if has_matplotlib() and len(history) and "changed" not in bundle.metrics:
        writers["learning_curve.png"] = lambda path: plots.learning_curve(
            history,
            path,
            _title(bundle),
            task.measure,
            higher_is_better=task.higher_is_better,
            best_epoch=bundle.metrics.get("best_epoch"),
        )
        if curve is not None:
            panels = {"": {_title(bundle): curve}}
            writers["dev_curve.png"] = lambda path: plots.by_batch(panels, path, "dev accuracy by batch")
    if bundle.evaluation:
        writers |= _evaluation_writers(task, bundle.evaluation, _title(bundle))
    _try(writers, folder)


def write_card(bundle: Bundle, folder: Path, use: str) -> None:
    """Write a bundle's model card into the folder of an export. A failure is only a warning.

    Args:
        bundle: The bundle.
        folder: The folder of the export.
        use: Python code that uses the export.
    """
    write_readme(lambda: cards.model_card(bundle, folder, use), folder)


def write_readme(make: Callable[[], str], folder: Path) -> None:
    """Write a folder's README, which ``make`` returns. A failure is only a warning."""
    _try({"README.md": lambda path: _write_text(path, make())}, folder)


def write_evaluation(task: Task, evaluation: dict[str, Any], folder: Path, title: str) -> None:
    """Write ``report.md``; for a classifier also ``report.png``, if matplotlib is installed.

    If the picture cannot be drawn, a warning says so, and the report is still written.
    """
    writers = _evaluation_writers(task, evaluation, title)
    writers.pop("report.md")(folder / "report.md")
    _try(writers, folder)


def _title(bundle: Bundle) -> str:
    training = bundle.config["training"]
    return f"{bundle.config['model']} on {training['dataset']}, seed {training.get('seed')}"


def _evaluation_writers(task: Task, evaluation: dict[str, Any], title: str) -> dict[str, _Writer]:
    report = task.module("report")
    writers: dict[str, _Writer] = {
        "report.md": lambda path: _write_text(path, report.markdown(evaluation, title)),
    }
    if has_matplotlib() and hasattr(report, "picture"):
        heading = f"{title}: {evaluation['split']}"
        writers["report.png"] = lambda path: report.picture(evaluation, path, heading)
    return writers


def _try(writers: Mapping[str, _Writer], folder: Path) -> None:
    failures = []
    for name, write in writers.items():
        try:
            write(folder / name)
        except Exception as error:  # no error here may cost the model
            failures.append(f"{name} ({type(error).__name__}: {one_line(error, 200)})")
    if failures:
        message = f"{folder} lacks {', '.join(failures)}; everything else is written."
        try:
            warnings.warn(message, stacklevel=4)
        except Warning:  # where warnings are errors, this one must not cost the model
            say(message)


def _write_text(path: Path, text: str) -> None:
    with files.new_file(path, "w") as file:
        file.write(text)


def has_matplotlib() -> bool:
    """Return whether pictures can be drawn."""
    return importlib.util.find_spec("matplotlib") is not None


def summary(bundle: Bundle) -> str:
    """Return a run's result in a few lines: scores, parameters, seconds."""
    metrics, measure, score_line = bundle.metrics, bundle.task.measure, bundle.task.module("report").score_line
    lines = []
    if "best_epoch" in metrics:
        lines.append(f"{'best epoch':<17} {metrics['best_epoch']} of {metrics['epochs']}")
    for split in ("dev", "test"):
        if f"{split}_{measure}" in metrics:
            lines.append(f"{f'{split} {measure}':<17} {score_line(of_split(metrics, split))}")
    if "parameters" in metrics:
        count, encoder = metrics["parameters"], metrics["encoder_parameters"]
        lines.append(f"parameters        {count:,} in all, {encoder:,} in the encoder")
    if "seconds" in metrics:
        lines.append(f"training seconds  {metrics['seconds']:.1f}")
    lines += [f"{label:<17} {metrics[name]}" for name, label in _NOTES.items() if name in metrics]
    return "\n".join(lines)


def of_split(metrics: Mapping[str, Any], split: str) -> dict[str, Any]:
    """Return a split's scores by their names."""
    return {name.removeprefix(f"{split}_"): value for name, value in metrics.items() if name.startswith(f"{split}_")}
