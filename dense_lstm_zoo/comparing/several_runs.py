"""Two models trained over the same seeds or folds, compared by the scores that their runs have recorded."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

from dense_lstm_zoo import tasks
from dense_lstm_zoo.comparing.comparison import Comparison, Row
from dense_lstm_zoo.comparing.differences import paired_t
from dense_lstm_zoo.comparing.sides import Side
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.training import protocol
from dense_lstm_zoo_runtime.paths import user_path

_Run = tuple[int | None, int]  # its fold and its seed


def is_folder_of_runs(source: object) -> bool:
    """Return whether a source is the folder of several runs, which ``run_protocol`` or ``train --folds`` wrote."""
    if not isinstance(source, str | Path):
        return False
    path = user_path(source)
    return (path / protocol.SETTINGS).is_file() and not (path / "manifest.json").exists()


def first_run(folder: str | Path) -> str:
    """Return the name of a run in a folder of several, for an example."""
    return min((str(row["run"]) for row in protocol.finished_runs(user_path(folder))), default="seed1")


def compare_runs(first: str | Path, second: str | Path, split: str) -> Comparison:
    """Compare the runs of two folders, each with that of the same seed on the same fold.

    Args:
        first: A folder of several runs.
        second: Another one.
        split: The texts whose scores are compared. Runs without scores of ``"test"`` are compared by those of dev.

    Raises:
        ValueError: Other data, folds or tasks, fewer than two runs in common, language models of other words, or a
            split whose scores runs do not record.
    """
    if split == "train":
        raise ValueError("Runs record no scores of their training texts: compare several by split='test' or 'dev'.")
    folders = [user_path(folder) for folder in (first, second)]
    if folders[0].resolve() == folders[1].resolve():
        raise ValueError(f"{first} and {second} are the same folder.")
    settings = [protocol.read_settings(folder / protocol.SETTINGS) for folder in folders]
    task = tasks.find(registry.entry(settings[0]["model"]).task)
    if tasks.find(registry.entry(settings[1]["model"]).task) is not task:
        raise ValueError(f"{first} and {second} hold models of two tasks: only models of one can be compared.")
    for name, meaning in {"dataset": "corpus", "folds": "folds", "data_sha256": "content of the corpus"}.items():
        own = [str(values.get(name)) for values in settings]
        if own[0] != own[1]:
            raise ValueError(
                f"The runs of {first} and {second} differ in their {meaning} ({own[0]:.80} and {own[1]:.80}), so that "
                "their scores cannot be compared."
            )
    runs: list[dict[_Run, dict[str, Any]]] = [
        {(row["fold"], row["seed"]): row for row in protocol.finished_runs(folder)} for folder in folders
    ]
    common = sorted(runs[0].keys() & runs[1].keys(), key=str)
    if len(common) < 2:
        names = [", ".join(sorted(row["run"] for row in rows.values())) or "none" for rows in runs]
        raise ValueError(
            f"A comparison needs two runs with the same seeds and folds in both folders; {first} has {names[0]:.200}, "
            f"{second} {names[1]:.200}."
        )
    comparison = task.module("comparison")
    sides = [Side.open(folder / rows[common[0]]["run"]) for folder, rows in zip(folders, runs, strict=True)]
    comparison.check(*sides)
    if not all(f"test_{task.measure}" in rows[run] for rows in runs for run in common):
        split = "dev"
    folds = settings[0].get("folds")
    rows = []
    for score in comparison.SCORES:
        name = f"{split}_{score}"
        if all(name in row[run] for row in runs for run in common):
            ours, theirs = (_by_fold({run: _score(row[run][name]) for run in common}) for row in runs)
            rows.append(Row(score, statistics.fmean(ours), statistics.fmean(theirs), paired_t(ours, theirs, folds)))
    left_out = sorted(row["run"] for rows in runs for run, row in rows.items() if run not in common)
    notes = [f"Runs without a partner are left out: {', '.join(left_out):.200}."] if left_out else []
    if folds:
        notes.append("The intervals allow for the training texts that folds share (Nadeau and Bengio 2003).")
    return Comparison(
        names=(str(first), str(second)),
        models=(settings[0]["model"], settings[1]["model"]),
        task=task,
        dataset=settings[0]["dataset"],
        split=split,
        count=len(common),
        unit="runs",
        scores=rows,
        notes=notes,
    )


def _score(value: float | None) -> float:
    """Return a recorded score. One that was not finite is recorded as None."""
    return math.nan if value is None else float(value)


def _by_fold(scores: dict[_Run, float]) -> list[float]:
    """Return one score per fold, the mean of its seeds, or without folds one per seed."""
    of_fold: dict[int, list[float]] = defaultdict(list)
    for (fold, seed), score in scores.items():
        of_fold[seed if fold is None else fold].append(score)
    return [statistics.fmean(values) for values in of_fold.values()]
