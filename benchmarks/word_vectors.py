"""Word vectors compared on dev: none, either half of the zoo's, and both. No test text is looked at.

``python -m presets.vectors candidates WORK`` makes the tables. DENSE_LSTM_ZOO_PRESETS=WORK/candidates names them.
"""

from __future__ import annotations

from typing import Any

from tuning import protocols
from tuning.columns import Outcome
from tuning.command import main
from tuning.table import Row, Table

KEY = ("dataset", "model", "settings", "vectors", "protocol")
VECTORS = ("none", "reviews_300d", "distilled_300d", "regression_600d", "zeros_600d", "unrounded_600d")


def columns(outcome: Outcome) -> dict[str, Any]:
    """Return a row of results/word_vectors.csv."""
    ran = outcome.run_columns
    return {
        "dataset": outcome.dataset,
        "model": outcome.row.model,
        "recipe": outcome.row.recipe,
        "settings": outcome.all_settings,
        "vectors": outcome.vectors,
        "protocol": outcome.protocol,
        "dev_accuracy_mean": outcome.mean("dev_accuracy"),
        "dev_accuracy_std": outcome.std("dev_accuracy"),
        "best_epochs": outcome.joined("best_epoch"),
        **{name: ran[name] for name in ("epochs", "seconds_median", "versions", "command")},
    }


TABLE = Table(
    name="word_vectors",
    title="Which word vectors are best on dev?",
    dataset="trec",
    minutes=3,
    texts=5452,
    rows={
        name: Row("dc_bilstm", "ding2018" if name == "none" else "fixed_vectors", {"vectors": name}) for name in VECTORS
    },
    seeds=3,
    test="none",
    columns=columns,
    key=KEY,
)


if __name__ == "__main__":
    with protocols.plain_errors():
        main(TABLE)
