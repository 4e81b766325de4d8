"""Ding et al. 2018, Table 1, with frozen word vectors: each classifier with the recipe that was best for it on dev.

The word vectors are the installed ``zoo_300d``. Rows with ``zoo_600d`` are in results/pretraining.csv. The recipes were
compared on the dev texts of SST-2 and TREC alone (``python -m tuning recipe_search``), and serve all corpora.
"""

from __future__ import annotations

from typing import Any

from benchmarks import classification
from tuning import protocols
from tuning.columns import Outcome
from tuning.command import main
from tuning.table import Row, Table

VECTORS = "zoo_300d"


def columns(outcome: Outcome) -> dict[str, Any]:
    """Return a row of results/classification_fixed.csv."""
    own = dict(outcome.row.arguments)
    vectors = outcome.vectors or own["vectors"]
    del own["vectors"]
    return {
        **classification.columns(outcome),
        "vectors": vectors,
        "settings": " ".join(filter(None, [protocols.as_words(own), outcome.settings])),
        "accuracies": " ".join(f"{100 * score:.2f}" for score in outcome.result.runs["test_accuracy"]),
        "best_epochs": outcome.joined("best_epoch"),
    }


def _row(model: str, recipe: str = "fixed_vectors", **settings: Any) -> Row:
    return Row(model, recipe, {"vectors": VECTORS, **settings})


# Each row with the estimated minutes of a run.
ROWS = {
    "lstm": (_row("lstm"), 1.0),
    "bilstm": (_row("bilstm"), 2.0),
    "stacked_bilstm": (_row("stacked_bilstm"), 5.0),
    "residual_bilstm": (_row("residual_bilstm"), 5.0),
    "dc_bilstm": (_row("dc_bilstm"), 4.0),
    "cnn_mc": (_row("cnn_mc", "kim2014_fixed_vectors"), 3.0),
    "blstm_2dcnn": (_row("blstm_2dcnn", "zhou2016", trainable_embeddings=False), 15.0),
}

TABLE = Table(
    name="classification_fixed",
    title="How good are the classifiers with frozen word vectors?",
    dataset="trec",
    minutes={name: minutes for name, (_, minutes) in ROWS.items()},
    texts=5452,
    rows={name: row for name, (row, _) in ROWS.items()},
    seeds=3,
    columns=columns,
    key=classification.KEY,
    choices={"models": "model"},
)

if __name__ == "__main__":
    with protocols.plain_errors():
        main(TABLE)
