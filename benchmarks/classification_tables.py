"""The tables of classifiers as Markdown, from their CSV files."""

from __future__ import annotations

from typing import Any

from dense_lstm_zoo.display import code, escape
from tuning.result_files import ROOT, read_rows
from tuning.table_cells import compared, name_cell, paper, rows_table, with_spread

CLASSIFICATION = ROOT / "results" / "classification.csv"
CLASSIFICATION_FIXED = ROOT / "results" / "classification_fixed.csv"
DYNAMIC_INTERACTION = ROOT / "results" / "dynamic_interaction.csv"


def classification() -> str:
    """Return the table of test accuracies."""
    columns = (
        "corpus",
        "model",
        "settings",
        "encoder parameters",
        "test accuracy",
        "dev accuracy",
        "protocol",
        "epochs",
    )
    return rows_table(
        read_rows(CLASSIFICATION),
        ["dataset", "recipe", "settings"],
        (*columns, "paper"),
        lambda row: (
            *(
                row.dataset,
                code(row.model),
                name_cell(row.recipe, row.settings) if row.recipe else row.settings,
                f"{int(row.encoder_parameters):,}",
            ),
            *(with_spread(row.accuracy_mean, row.accuracy_std), row.dev_accuracy_mean, row.protocol),
            *(f"{row.epochs} (patience {row.patience})" if row.epochs else "-", paper(row)),
        ),
    )


def classification_fixed() -> str:
    """Return the table of classifiers with frozen vectors, each beside the Bi-LSTM, seed by seed."""
    rows = read_rows(CLASSIFICATION_FIXED)
    alike = ["dataset", "protocol"]
    plain = rows[rows["model"] == "bilstm"].set_index(alike)["accuracies"]

    def beside(row: Any) -> str:
        theirs = plain.get((row.dataset, row.protocol))
        return "" if theirs is None or row.model == "bilstm" else compared(row.accuracies, theirs, row.protocol)

    columns = ("corpus", "model", "settings", "vectors", "encoder parameters", "test accuracy", "minus bilstm", "dev")
    return rows_table(
        rows,
        ["dataset"],
        (*columns, "protocol", "best epoch", "paper"),
        lambda row: (
            *(row.dataset, code(row.model), name_cell(row.recipe, row.settings), row.vectors),
            *(f"{int(row.encoder_parameters):,}", with_spread(row.accuracy_mean, row.accuracy_std), beside(row)),
            *(row.dev_accuracy_mean, row.protocol, f"{row.best_epochs} of {row.epochs}", paper(row)),
        ),
    )


def dynamic_interaction() -> str:
    """Return the table of poolings, each beside mean pooling and beside weights that are constant, seed by seed."""
    rows = read_rows(DYNAMIC_INTERACTION)
    pairs = ["dataset", "encoder", "vectors", "protocol", "settings", "pooling"]
    accuracies = {tuple(row[:-1]): row[-1] for row in rows[[*pairs, "accuracies"]].values}

    def beside(row: Any, other: str) -> str:
        *run, pooling = (getattr(row, name) for name in pairs)
        if pooling == other or (*run, other) not in accuracies:
            return ""
        return compared(accuracies[*run, pooling], accuracies[*run, other], row.protocol)

    columns = ("corpus", "encoder", "pooling", "encoder parameters", "test accuracy", "dev accuracy", "minus mean")
    return rows_table(
        rows,
        ["dataset", "encoder", "pooling"],
        (*columns, "minus constant", "best epoch"),
        lambda row: (
            *(row.dataset, row.encoder, name_cell(row.pooling, row.settings), f"{int(row.encoder_parameters):,}"),
            *(with_spread(row.accuracy_mean, row.accuracy_std), row.dev_accuracy_mean),
            *(beside(row, "mean"), beside(row, "constant")),
            f"{row.best_epochs} of {row.epochs} (patience {row.patience})",
        ),
    )


def heat_maps() -> str:
    """Return the table of the words of the paper's example sentences: saliency, and shares of the layers."""
    return rows_table(
        read_rows(ROOT / "results" / "heat_maps.csv"),
        ["dataset"],
        ("corpus", "vectors", "predicted", "test accuracy", "word", "saliency", "least share", "greatest share"),
        lambda row: (
            *(row.dataset, row.vectors, f"{escape(row.label, cell=True)} ({row.probability})", row.test_accuracy),
            *(code(row.token), row.saliency, row.share_min, row.share_max),
        ),
    )
