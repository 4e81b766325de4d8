"""Classifiers that read raw text first: from scratch, with a text encoder's context, and fine-tuned.

The text encoder is the preset ``dense_lm_reviews``. docs/pretraining.md has the commands that make it.
"""

from __future__ import annotations

from typing import Any

from tuning import protocols
from tuning.columns import Outcome
from tuning.command import main
from tuning.table import Row, Table

ENCODER = "dense_lm_reviews"
KEY = ("dataset", "start", "model", "settings", "vectors", "protocol")


def columns(outcome: Outcome) -> dict[str, Any]:
    """Return a row of results/pretraining.csv."""
    encoder = outcome.config["training"].get("context") or outcome.config["training"].get("init_from") or {}
    return {
        "dataset": outcome.dataset,
        "start": outcome.row.labels["start"],
        "model": outcome.row.model,
        "recipe": outcome.row.recipe,
        "settings": outcome.settings,
        "vectors": outcome.vectors or outcome.config["training"].get("vectors") or "",
        "encoder_sha256": encoder.get("sha256", ""),
        "protocol": outcome.protocol,
        "accuracy_mean": outcome.mean("test_accuracy"),
        "accuracy_std": outcome.std("test_accuracy"),
        "accuracies": " ".join(f"{100 * score:.2f}" for score in outcome.result.runs["test_accuracy"]),
        "dev_accuracy_mean": outcome.mean("dev_accuracy"),
        "dev_accuracy_std": outcome.std("dev_accuracy"),
        "best_epochs": outcome.joined("best_epoch"),
        **outcome.run_columns,
    }


def _rows() -> dict[str, Row]:
    rows = {}
    for model in ("bilstm", "dc_bilstm"):
        own = {"vectors": "zoo_600d"}
        rows[f"{model}_scratch"] = Row(model, "fixed_vectors", own, labels={"start": "scratch"})
        context = {**own, "context": ENCODER}
        rows[f"{model}_context"] = Row(model, "fixed_vectors", context, labels={"start": "context"})
    tuned = Row("lm_classifier", "fine_tuning", {"init_from": ENCODER}, labels={"start": "fine-tuned"})
    return {**rows, "lm_classifier_fine_tuned": tuned}


TABLE = Table(
    name="pretraining",
    title="What does reading raw text first give classifiers?",
    dataset="trec",
    minutes=5,
    texts=5452,
    rows=_rows(),
    seeds=3,
    columns=columns,
    key=KEY,
)


if __name__ == "__main__":
    with protocols.plain_errors():
        main(TABLE)
