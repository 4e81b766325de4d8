"""Does routing help? Poolings over the same encoder, seed by seed.

Encoders: ``stack``, Bi-LSTMs of 4 x 100, and ``dense``, DC-Bi-LSTM of 14 x 13 and 100. Poolings: ``mean`` (the papers'
baseline), ``constant`` (the projections of dynamic interaction, all words weighed alike), ``position`` and ``vector``
(routed), ``dsa`` (dynamic self-attention).
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from benchmarks import tables
from dense_lstm_zoo.display import plots
from tuning.columns import Outcome
from tuning.command import main
from tuning.table import Row, Table

KEY = ("dataset", "encoder", "pooling", "vectors", "protocol", "settings")
CURVES = tables.ROOT / "results" / "dynamic_interaction_curves.csv"
PICTURE = tables.ROOT / "results" / "dynamic_interaction.png"
# The poolings of the picture; only for it is dev scored every five batches, which takes time and changes no result.
DRAWN = ("mean", "position")


def columns(outcome: Outcome) -> dict[str, Any]:
    """Return a row of results/dynamic_interaction.csv."""
    return {
        **_key(outcome),
        "model": outcome.row.model,
        "accuracy_mean": outcome.mean("test_accuracy"),
        "accuracy_std": outcome.std("test_accuracy"),
        "accuracies": " ".join(f"{100 * accuracy:.2f}" for accuracy in outcome.result.runs["test_accuracy"]),
        "dev_accuracy_mean": outcome.mean("dev_accuracy"),
        "encoder_parameters": outcome.result.runs["encoder_parameters"][0],
        "best_epochs": outcome.joined("best_epoch"),
        **outcome.run_columns,
    }


def _key(outcome: Outcome) -> dict[str, Any]:
    values = (outcome.dataset, *outcome.row.labels.values(), outcome.vectors, outcome.protocol, outcome.settings)
    return dict(zip(KEY, values, strict=True))


def add_curve(outcome: Outcome) -> None:
    """Add the first seed's dev accuracy by batch to ``CURVES``, and draw all of them."""
    if outcome.row.labels["pooling"] not in DRAWN:
        return
    curve = pd.read_csv(outcome.result.run_dir / outcome.result.runs["run"][0] / "dev_curve.csv")
    points = [{"batch": p.batch, "dev_accuracy": round(p.dev_accuracy, 4)} for p in curve.itertuples()]
    tables.merge(CURVES, [{**_key(outcome), **point} for point in points], list(KEY))
    draw()


def draw() -> None:
    """Draw dev accuracy by batch, mean pooling beside dynamic interaction, a panel a corpus and encoder."""
    curves = pd.read_csv(CURVES, keep_default_na=False)
    curves = curves[curves["pooling"].isin(DRAWN) & (curves["settings"] == "")]
    panels = {
        f"{dataset}, {encoder}": {str(pooling): rows for pooling, rows in rows_of_panel.groupby("pooling")}
        for (dataset, encoder), rows_of_panel in curves.groupby(["dataset", "encoder"])
    }
    if panels:
        plots.by_batch(panels, PICTURE, "dev accuracy by batch, first seed")


def _row(encoder: str, pooling: str, model: str, **arguments: Any) -> Row:
    curve = {"dev_every": 5} if pooling in DRAWN else {}
    return Row(model, "xie2019", {**curve, **arguments}, {"encoder": encoder, "pooling": pooling})


ROWS = [
    row
    for encoder, plain, routed, attended in (
        ("stack", "stacked_bilstm", "stacked_di_bilstm", "dsa_bilstm"),
        ("dense", "dc_bilstm", "di_bilstm", "dsa_dc_bilstm"),
    )
    for row in (
        _row(encoder, "mean", plain),
        _row(encoder, "constant", routed, weights="constant"),
        _row(encoder, "position", routed),
        _row(encoder, "vector", routed, mode="vector"),
        _row(encoder, "dsa", attended),
    )
]

TABLE = Table(
    name="dynamic_interaction",
    title="Does routing help, beside the projections that come with it?",
    dataset="sst2",
    minutes=5,
    texts=6920,
    rows={"_".join(row.labels.values()): row for row in ROWS},
    seeds=4,
    columns=columns,
    key=KEY,
    choices={"encoders": "encoder", "poolings": "pooling"},
    after=add_curve,
)

if __name__ == "__main__":
    main(TABLE)
