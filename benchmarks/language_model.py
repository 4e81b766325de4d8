"""Language models by recipes that a laptop can train, with their learning curves.

``python -m benchmarks.language_model --so-far`` trains nothing: it adds the epochs that unfinished runs have ended.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import dense_lstm_zoo as zoo
from benchmarks import tables
from dense_lstm_zoo.display import plots
from dense_lstm_zoo.search import trial
from tuning import protocols
from tuning.columns import Outcome
from tuning.command import main, parse_request
from tuning.table import Row, Table

KEY = ("dataset", "recipe", "settings", "protocol")
CURVES = tables.ROOT / "results" / "language_model_curves.csv"
PICTURE = tables.ROOT / "results" / "language_model.png"


def columns(outcome: Outcome) -> dict[str, Any]:
    """Return a row of results/language_model.csv."""
    return {
        **_key(outcome),
        "model": outcome.row.model,
        "test_perplexity_mean": outcome.mean("test_perplexity", 1),
        "test_perplexity_std": outcome.std("test_perplexity", 1),
        "dev_perplexity_mean": outcome.mean("dev_perplexity", 1),
        "paper": zoo.get_recipe(str(outcome.row.recipe)).expected.get(outcome.dataset, ""),
        "parameters": outcome.result.runs["parameters"][0],
        "best_epochs": outcome.joined("best_epoch"),
        **outcome.run_columns,
    }


def _key(outcome: Outcome) -> dict[str, Any]:
    values = (outcome.dataset, outcome.row.recipe, outcome.all_settings, outcome.protocol)
    return dict(zip(KEY, values, strict=True))


def add_curves(outcome: Outcome) -> None:
    """Add the dev perplexity of each epoch of a row's runs to ``CURVES``, and draw all of them."""
    _add(_key(outcome), outcome.result.run_dir, list(outcome.result.runs["run"]))


def _add(key: dict[str, Any], folder: Path, runs: Sequence[str]) -> None:
    curves = [
        {**key, "run": run, "epoch": epoch, "dev_perplexity": perplexity}
        for run in runs
        for epoch, perplexity in enumerate(_dev_perplexities(folder, run), start=1)
    ]
    if not curves:
        raise ValueError(f"{folder} holds no run that has ended an epoch.")
    tables.merge(CURVES, curves, [*KEY, "run"])
    draw()


def _dev_perplexities(folder: Path, run: str) -> list[float]:
    """Return those of a run's epochs, whether it has ended or not."""
    ended, unfinished = folder / run / "history.csv", folder / f"{run}.unfinished" / "state.json"
    if ended.is_file():
        return list(pd.read_csv(ended)["val_perplexity"])
    if unfinished.is_file():
        return [epoch["val_perplexity"] for epoch in json.loads(unfinished.read_text(encoding="utf-8"))["history"]]
    return []


@protocols.plain_errors()
def add_so_far(words: Sequence[str]) -> None:
    """Add the learning curves of the runs that the words ask for, as far as they are, and train nothing."""
    request = parse_request(TABLE, words)
    folders = {request.table.name_of(trial.read_spec(path)["values"]): path for path in request.folder.glob("trials/*")}
    for name in request.rows:
        if name in folders:
            values = (request.dataset, TABLE.points[name].recipe, request.setting_words, request.protocol)
            runs = [f"seed{seed}" for seed in range(1, request.seeds + 1)]
            _add(dict(zip(KEY, values, strict=True)), folders[name] / "runs", runs)
    if not folders.keys() & set(request.rows):
        raise ValueError(f"{request.folder} holds no run of {', '.join(request.rows)}.")
    tables.update_pages()


def draw() -> None:
    """Draw the dev perplexity by epoch of every run in ``CURVES``."""
    curves = pd.read_csv(CURVES, keep_default_na=False)
    names = ["dataset", "recipe", "settings", "run"]
    curves["series"] = [" ".join(filter(None, row)) for row in curves[names].itertuples(index=False)]
    curves = curves.rename(columns={"dev_perplexity": "dev perplexity"})
    plots.by_epoch(curves, PICTURE, "perplexity of the dev text", "dev perplexity")


TABLE = Table(
    name="language_model",
    title="How good are the language models after hours instead of days?",
    dataset="ptb",
    minutes={
        "godin2017_stacked_200x2_30_epochs": 141,
        "godin2017_dense_200x2_30_epochs": 312,
        "regularised_dense_400x3": 90,
        "godin2017_stacked_200x2": 470,
        "godin2017_dense_200x2": 1040,
    },
    texts=42_068,
    rows={
        "godin2017_stacked_200x2_30_epochs": Row("stacked_lstm_lm", "godin2017_stacked_200x2_30_epochs"),
        "godin2017_dense_200x2_30_epochs": Row("dense_lstm_lm", "godin2017_dense_200x2_30_epochs"),
        "regularised_dense_400x3": Row("dense_lstm_lm", "regularised_dense_400x3"),
        "godin2017_stacked_200x2": Row("stacked_lstm_lm", "godin2017_stacked_200x2"),
        "godin2017_dense_200x2": Row("dense_lstm_lm", "godin2017_dense_200x2"),
    },
    seeds=1,
    columns=columns,
    key=KEY,
    choices={"recipes": "recipe"},
    after=add_curves,
)

if __name__ == "__main__":
    if "--so-far" in sys.argv:
        add_so_far([word for word in sys.argv[1:] if word != "--so-far"])
    else:
        main(TABLE)
