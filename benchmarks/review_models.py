"""Does density help a language model of raw reviews? Two models of equal weights after one epoch, on dev.

``dense`` is a direction of the text encoder ``dense_lm_reviews`` as it is after its first epoch: 2 x 320 units. Without
the words' bias it has 2,281,360 trained weights. ``stacked``, with 2 x 378 units, has 2,284,632. An epoch takes some 25
minutes on a core of its own.
"""

from __future__ import annotations

from typing import Any

from tuning import protocols
from tuning.columns import Outcome
from tuning.command import main
from tuning.table import Row, Table

KEY = ("dataset", "model", "recipe", "settings", "protocol")
_SHARED = {"epochs": 1, "dtype": "mixed_bfloat16", "vectors": "zoo_300d"}


def columns(outcome: Outcome) -> dict[str, Any]:
    """Return a row of results/review_models.csv."""
    return {
        "dataset": outcome.dataset,
        "model": outcome.row.model,
        "recipe": outcome.row.recipe,
        "settings": outcome.all_settings,
        "protocol": outcome.protocol,
        "parameters": outcome.result.runs["parameters"][0],
        "dev_perplexity_mean": outcome.mean("dev_perplexity", 1),
        "dev_perplexity_std": outcome.std("dev_perplexity", 1),
        **outcome.run_columns,
    }


TABLE = Table(
    name="review_models",
    title="Does density help a language model of raw reviews, at equal weights?",
    dataset="imdb_raw",
    minutes=25,
    texts=98_247,
    rows={
        "dense": Row("dense_lstm_lm", "reviews_lm", _SHARED),
        "stacked": Row("stacked_lstm_lm", "reviews_lm", {**_SHARED, "units": 378}),
    },
    seeds=1,
    test="none",
    columns=columns,
    key=KEY,
)


if __name__ == "__main__":
    with protocols.plain_errors():
        main(TABLE)
