"""Which word vectors are best on dev: none, either half of the zoo's, or both; no test text is looked at.

``python -m presets.vectors candidates WORK`` makes the tables; DENSE_LSTM_ZOO_PRESETS=WORK/candidates names them.
"""

from __future__ import annotations

from typing import Any

from tuning import protocols
from tuning.columns import Found
from tuning.command import main
from tuning.table import Row, Table

KEY = ("dataset", "model", "settings", "vectors", "protocol")
VECTORS = ("none", "reviews_300d", "distilled_300d", "regression_600d", "zeros_600d", "unrounded_600d")


def columns(found: Found) -> dict[str, Any]:
    """Return a row of results/word_vectors.csv."""
    ran = found.how_it_ran
    return {
        "dataset": found.dataset,
        "model": found.row.model,
        "recipe": found.row.recipe,
        "settings": found.all_settings,
        "vectors": found.vectors,
        "protocol": found.protocol,
        "dev_accuracy_mean": found.mean("dev_accuracy"),
        "dev_accuracy_std": found.std("dev_accuracy"),
        "best_epochs": found.joined("best_epoch"),
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
