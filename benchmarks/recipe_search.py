"""The settings that were compared on dev, of DC-Bi-LSTM to find ``fixed_vectors``, then of each classifier with it.

No test text is looked at.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from dense_lstm_zoo import checks
from tuning import protocols
from tuning.columns import Outcome
from tuning.command import main
from tuning.table import Row, Table

KEY = ("dataset", "model", "recipe", "settings", "vectors")


def columns(outcome: Outcome) -> dict[str, Any]:
    """Return a row of results/recipe_search.csv."""
    ran = outcome.run_columns
    return {
        "dataset": outcome.dataset,
        "model": outcome.row.model,
        "recipe": outcome.row.recipe,
        "settings": outcome.all_settings,
        "vectors": outcome.vectors,
        "seeds": len(outcome.result.runs),
        "dev_accuracy_mean": outcome.mean("dev_accuracy"),
        "dev_accuracy_std": outcome.std("dev_accuracy"),
        "best_epochs": outcome.joined("best_epoch"),
        **{name: ran[name] for name in ("epochs", "seconds_median", "versions", "command")},
    }


TRIED = {
    "as_published": "",
    "slower": "learning_rate=0.002",
    "slowest": "learning_rate=0.001",
    "slower_vectors": "learning_rate=0.002 embedding_learning_rate=0.0005",
    "slowest_vectors": "learning_rate=0.002 embedding_learning_rate=0.00005",
    "slower_fixed": "learning_rate=0.002 trainable_embeddings=false",
    "slower_decay": "learning_rate=0.002 learning_rate_decay=0.8",
    "slower_batches_of_50": "learning_rate=0.002 batch_size=50",
    "slowest_fixed": "trainable_embeddings=false learning_rate=0.001",
    "fixed": "trainable_embeddings=false learning_rate=0.005",
}
# The two of the learning rates above that were best with frozen vectors, for every model of that recipe.
_BASED = ("lstm", "bilstm", "stacked_bilstm", "residual_bilstm", "dc_bilstm")
FIXED = {
    f"{model}_fixed{name}": Row(model, "fixed_vectors", {"learning_rate": rate})
    for model in _BASED
    for name, rate in {"": 0.005, "_slower": 0.002}.items()
}
# Other papers' models, with word vectors that are trained, and frozen.
OTHERS = {
    f"{model}_{name}": Row(model, recipe, settings)
    for model, recipe in {"cnn_mc": "kim2014", "di_bilstm": "xie2019"}.items()
    for name, settings in {"as_published": {}, "fixed": {"trainable_embeddings": False}}.items()
}

TABLE = Table(
    name="recipe_search",
    title="Which settings of the classifiers are best on dev?",
    dataset="sst2",
    minutes=3,
    texts=6920,
    rows={
        **{
            name: Row("dc_bilstm", "ding2018", protocols.parse_settings(setting_words.split()))
            for name, setting_words in TRIED.items()
        },
        **FIXED,
        **OTHERS,
    },
    seeds=1,
    test="none",
    columns=columns,
    key=KEY,
    choices={"model": "model", "recipe": "recipe"},
)


def with_rows(words: Sequence[str]) -> list[str]:
    """Return a command's words with the settings of each ``--try``, as they were given once, replaced by their row.

    Example:
        >>> with_rows(["--dataset", "sst2", "--try", "learning_rate=0.002", "batch_size=50", "--seeds", "1"])
        ['--dataset', 'sst2', '--seeds', '1', '--rows', 'slower_batches_of_50']
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--try", dest="tries", nargs="*", action="append", default=[])
    options, other_words = parser.parse_known_args(words)
    rows = {settings: name for name, settings in TRIED.items()}
    rows_to_try = [rows[checks.one_of("--try", " ".join(settings), rows)] for settings in options.tries]
    return [*other_words, *(["--rows", *rows_to_try] if rows_to_try else [])]


if __name__ == "__main__":
    with protocols.plain_errors():
        main(TABLE, with_rows(sys.argv[1:]))
