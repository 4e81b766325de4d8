"""Taggers by our own recipes. ``tagging_depth`` varies depth and skips."""

from __future__ import annotations

from typing import Any

import pandas as pd

import dense_lstm_zoo as zoo
from benchmarks import tables
from dense_lstm_zoo.display import plots
from tuning import protocols
from tuning.columns import Outcome
from tuning.command import main
from tuning.table import Row, Table

KEY = ("dataset", "model", "recipe", "settings", "vectors", "protocol")
PICTURE = tables.ROOT / "results" / "tagging_depth.png"


def columns(outcome: Outcome) -> dict[str, Any]:
    """Return a row of results/tagging.csv."""
    runs = outcome.result.runs
    scores: dict[str, Any] = {}
    for measure in ("accuracy", "f1"):
        scored = f"test_{measure}" in runs
        scores[f"{measure}_mean"] = outcome.mean(f"test_{measure}") if scored else ""
        scores[f"{measure}_std"] = outcome.std(f"test_{measure}") if scored else ""
    return {
        "dataset": outcome.dataset,
        "model": outcome.row.model,
        "recipe": outcome.row.recipe,
        "settings": outcome.all_settings,
        "vectors": outcome.vectors,
        "protocol": outcome.protocol,
        **scores,
        "scores": " ".join(f"{100 * score:.2f}" for score in runs["test_f1" if "test_f1" in runs else "test_accuracy"]),
        "dev_accuracy_mean": outcome.mean("dev_accuracy"),
        "encoder_parameters": runs["encoder_parameters"][0],
        "best_epochs": outcome.joined("best_epoch"),
        **outcome.run_columns,
    }


def draw(_: Outcome | None = None) -> None:
    """Draw the accuracy against depth, of three rows or more that differ in nothing else."""
    points = []
    for row in pd.read_csv(tables.TAGGING, keep_default_na=False).itertuples():
        settings = {**zoo.describe(row.model).arguments, **protocols.parse_settings(row.settings.split())}
        words = [setting for setting in row.settings.split() if not setting.startswith("num_layers=")]
        depth, spread = settings.get("num_layers"), float(row.accuracy_std or "nan")
        plain = depth == 1 and row.model == "bilstm_tagger"  # one layer has no skips: both curves begin there
        for model in (row.model, "gated_skip_tagger") if plain else (row.model,):
            series = " ".join(filter(None, [row.dataset, model, row.recipe, *words]))
            points.append({"series": series, "depth": depth, "mean": row.accuracy_mean, "std": spread})
    scores = pd.DataFrame(points).dropna(subset="depth")
    scores = scores.groupby("series").filter(lambda rows: rows["depth"].nunique() > 2)
    if len(scores):
        plots.by_depth(scores, PICTURE, "test accuracy by depth", "accuracy, %")


TABLE = Table(
    name="tagging",
    title="How good are the taggers?",
    dataset="ewt_upos",
    minutes=30,
    texts=12_544,
    rows={
        f"{model}_{recipe}": Row(model, recipe)
        for recipe in ("batched", "batched_fixed_vectors")
        for model in ("bilstm_tagger", "gated_skip_tagger", "highway_tagger", "rhn_tagger")
    },
    seeds=1,
    columns=columns,
    key=KEY,
    choices={"models": "model", "recipe": "recipe"},
    after=draw,
)

if __name__ == "__main__":
    main(TABLE)
