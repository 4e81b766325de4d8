"""Rows of ``results/``: what came of a trial, and the columns that tables have in common."""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dense_lstm_zoo as zoo
from dense_lstm_zoo import tasks
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.search import published, trial
from dense_lstm_zoo.search.budget import DEPTHS, width_argument
from dense_lstm_zoo.search.table_plan import Row
from tuning import protocols

PAPER_KEY = ("dataset", "recipe", "settings", "vectors", "protocol")


@dataclass(frozen=True, eq=False)
class Outcome:
    """The outcome of a row.

    Args:
        table: The ``Table`` that the row belongs to.
        name: The row's name.
        row: Its model, recipe and arguments.
        dataset: The corpus's name in tables.
        settings: What was set for all rows, as words. They include the vectors where the table has no column for these.
        vectors: The file of word vectors, without its folder.
        protocol: Its seeds and folds, as words.
        command: What made it.
        result: Its runs.
        config: The config of its first run's bundle.
    """

    table: Any  # a Table, which takes its columns from here
    name: str
    row: Row
    dataset: str
    settings: str
    vectors: str
    protocol: str
    command: str
    result: zoo.ProtocolResult
    config: dict[str, Any]

    @property
    def all_settings(self) -> str:
        """The differences from the recipe, as words: the row's own settings and those for all rows."""
        return " ".join(filter(None, [protocols.as_words(self.row.arguments), self.settings]))

    def joined(self, column: str) -> str:
        """Return a column of the runs' metrics as words."""
        return " ".join(map(str, self.result.runs[column]))

    def mean(self, column: str, scale: float = 100) -> float:
        """Return the mean of a measure over the runs, in percent, to two decimals."""
        return round(scale * float(self.result.runs[column].mean()), 2)

    def std(self, column: str, scale: float = 100) -> float | str:
        """Return its standard deviation, empty for a single run."""
        runs = self.result.runs
        return round(scale * float(runs[column].std()), 2) if len(runs) > 1 else ""

    @property
    def score(self) -> str:
        """The score, for the person who watches."""
        measure = self.result.measure
        return f"{measure.replace('_', ' ')} {self.mean(measure, 100 if self.result.task.percent else 1)}"

    @property
    def run_columns(self) -> dict[str, Any]:
        """The last columns of every table."""
        return {
            "epochs": self.joined("epochs"),
            "patience": self.config["training"]["patience"],
            "seconds_median": round(self.result.runs["seconds"].median(), 1),
            "versions": protocols.read_versions(self.config),
            "processor": platform.processor() or platform.machine(),
            "command": self.command,
        }


def read_result(folder: Path) -> zoo.ProtocolResult | None:
    """Return the runs of a trial's folder, or None where it has not ended, or failed."""
    import pandas as pd

    if not (folder / trial.RESULT).is_file():
        return None
    task = tasks.find(registry.entry(trial.read_spec(folder)["model"]).task)
    result = trial.read_result(folder, f"dev_{task.measure}")
    if "reason" in result:
        return None
    rows = [{"run": name, **trial.read_metrics(folder / "runs" / name)} for name in result["runs"]]
    return zoo.ProtocolResult(pd.DataFrame(rows), folder / "runs", task)


def read_config(result: zoo.ProtocolResult) -> dict[str, Any]:
    """Return the config of the first run's bundle."""
    path = result.run_dir / result.runs["run"][0] / "config.json"
    config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return config


def paper(outcome: Outcome) -> dict[str, Any]:
    """Return a row of a paper's table."""
    result, model = outcome.result, outcome.row.model
    scale = 100 if result.task.percent else 1
    arguments = outcome.config["arguments"]
    accepted = {name: value for name, value in arguments.items() if name in registry.entry(model).arguments}
    return {
        "dataset": outcome.dataset,
        "recipe": outcome.name,
        "settings": outcome.settings,
        "vectors": outcome.vectors,
        "protocol": outcome.protocol,
        "model": model,
        "depth": next((accepted[name] for name in DEPTHS if name in accepted), ""),
        "width": accepted.get(width_argument(model, accepted), ""),
        "encoder_parameters": zoo.count_encoder_parameters(model, biases=False, **accepted),
        "measure": result.measure,
        "score_mean": outcome.mean(result.measure, scale),
        "score_std": outcome.std(result.measure, scale),
        "scores": " ".join(f"{scale * score:.2f}" for score in result.runs[result.measure]),
        "dev_mean": outcome.mean(result.measure.replace("test", "dev"), scale),
        "paper": published.figure(outcome.table.figures(outcome.name), outcome.dataset),
        "best_epochs": outcome.joined("best_epoch"),
        **outcome.run_columns,
    }
