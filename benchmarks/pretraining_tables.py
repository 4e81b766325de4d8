"""The tables of what a trained model or a text encoder gives classifiers, as Markdown, from their CSV files."""

from __future__ import annotations

from typing import Any

from dense_lstm_zoo.display import code, escape
from tuning.result_files import ROOT, read_rows
from tuning.table_cells import compared, name_cell, rows_table, with_spread


def transfer(name: str = "transfer") -> str:
    """Return a table of training from scratch and in other ways, by labelled texts, the others beside the first."""
    rows = read_rows(ROOT / "results" / f"{name}.csv")
    scratch = rows[rows["start"] == "from scratch"].set_index(["dataset", "texts"])["accuracies"]

    def beside(row: Any) -> str:
        return "" if row.start == "from scratch" else compared(row.accuracies, scratch[row.dataset, row.texts])

    return rows_table(
        rows,
        ["dataset"],
        ("corpus", "training texts", "start", "settings", "test accuracy", "minus scratch", "dev", "best epoch"),
        lambda row: (
            *(row.dataset, f"{int(row.train_texts):,}", row.start, escape(row.settings, cell=True)),
            *(with_spread(row.accuracy_mean, row.accuracy_std), beside(row), row.dev_accuracy_mean, row.best_epochs),
        ),
    )


def review_models() -> str:
    """Return the table of language models of raw reviews, with their dev perplexities."""
    return rows_table(
        read_rows(ROOT / "results" / "review_models.csv"),
        ["dataset"],
        ("corpus", "model", "settings", "parameters", "dev perplexity", "protocol"),
        lambda row: (
            *(row.dataset, code(row.model), name_cell(row.recipe, row.settings), f"{int(row.parameters):,}"),
            *(with_spread(row.dev_perplexity_mean, row.dev_perplexity_std), row.protocol),
        ),
    )


def pretraining() -> str:
    """Return the table of what a text encoder gives classifiers, each row beside the same model from scratch."""
    rows = read_rows(ROOT / "results" / "pretraining.csv")
    alike = ["dataset", "protocol", "model"]
    scratch = rows[rows["start"] == "scratch"].set_index(alike)["accuracies"]

    def beside(row: Any) -> str:
        model = "dc_bilstm" if row.model == "lm_classifier" else row.model
        theirs = scratch.get((row.dataset, row.protocol, model))
        return "" if row.start == "scratch" or theirs is None else compared(row.accuracies, theirs, row.protocol)

    columns = ("corpus", "start", "model", "recipe", "test accuracy", "minus scratch", "dev", "protocol")
    return rows_table(
        rows,
        ["dataset"],
        (*columns, "best epoch"),
        lambda row: (
            *(row.dataset, row.start, name_cell(row.model, row.settings)),
            *(row.recipe, with_spread(row.accuracy_mean, row.accuracy_std), beside(row)),
            *(with_spread(row.dev_accuracy_mean, row.dev_accuracy_std), row.protocol, row.best_epochs),
        ),
    )
