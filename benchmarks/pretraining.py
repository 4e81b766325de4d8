"""What reading raw text first gives classifiers: from scratch, with a text encoder's context, and fine-tuned.

The text encoder is the preset ``dense_lm_reviews``; docs/pretraining.md has the commands that make it.
"""

from __future__ import annotations

from typing import Any

from tuning import protocols
from tuning.columns import Found
from tuning.command import main
from tuning.table import Row, Table

ENCODER = "dense_lm_reviews"
KEY = ("dataset", "start", "model", "settings", "vectors", "protocol")


def columns(found: Found) -> dict[str, Any]:
    """Return a row of results/pretraining.csv."""
    read = found.config["training"].get("context") or found.config["training"].get("init_from") or {}
    return {
        "dataset": found.dataset,
        "start": found.row.labels["start"],
        "model": found.row.model,
        "recipe": found.row.recipe,
        "settings": found.settings,
        "vectors": found.vectors or found.config["training"].get("vectors") or "",
        "encoder_sha256": read.get("sha256", ""),
        "protocol": found.protocol,
        "accuracy_mean": found.mean("test_accuracy"),
        "accuracy_std": found.std("test_accuracy"),
        "accuracies": " ".join(f"{100 * score:.2f}" for score in found.result.runs["test_accuracy"]),
        "dev_accuracy_mean": found.mean("dev_accuracy"),
        "dev_accuracy_std": found.std("dev_accuracy"),
        "best_epochs": found.joined("best_epoch"),
        **found.how_it_ran,
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
