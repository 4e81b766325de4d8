"""The tables and figures of results/README.md, results/SPEED.md and other pages, made from results/*.csv.

``python -m benchmarks.tables`` fills them in, and ``--check`` only compares them with their rows. A table stands
between ``<!-- table: NAME -->`` and ``<!-- end -->``, a figure in front of a comment (``benchmarks/figures.py``).
"""

from __future__ import annotations

import argparse
import functools
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import (
    batch,
    cpu_seconds,
    few_labels,
    figures,
    first_hour,
    paper_claims,
    self_training,
    server_tables,
    teaching,
)
from benchmarks.claims import claims_table
from benchmarks.classification_tables import classification, classification_fixed, dynamic_interaction, heat_maps
from benchmarks.frontier.table import frontier
from benchmarks.pretraining_tables import pretraining, review_models, transfer
from benchmarks.speed.more_tables import file_of_texts, kept_memory, long_texts, profile, raw_texts
from benchmarks.speed.table import table as speed_table
from dense_lstm_zoo.display import code, plots
from dense_lstm_zoo.storage import files
from tuning.result_files import ROOT, read_rows
from tuning.result_files import merge as merge  # what scripts call
from tuning.table_cells import compared, name_cell, paper, rows_table, with_spread

README = ROOT / "results" / "README.md"
PAGES = [ROOT / name for name in figures.PAGES]
LANGUAGE_MODEL = ROOT / "results" / "language_model.csv"
TAGGING = ROOT / "results" / "tagging.csv"
_SERVED = {"bundle": "bundle", "export": "SavedModel", "onnx": "ONNX"}


def language_model() -> str:
    """Return the table of perplexities."""
    columns = ("corpus", "model", "recipe", "parameters", "test perplexity", "dev perplexity", "protocol", "best epoch")
    return rows_table(
        read_rows(LANGUAGE_MODEL),
        ["dataset", "recipe", "settings"],
        (*columns, "paper"),
        lambda row: (
            *(row.dataset, code(row.model), name_cell(row.recipe, row.settings), f"{int(row.parameters):,}"),
            with_spread(row.test_perplexity_mean, row.test_perplexity_std),
            *(row.dev_perplexity_mean, row.protocol),
            *(f"{row.best_epochs} of {row.epochs} (patience {row.patience})", paper(row)),
        ),
    )


def tagging() -> str:
    """Return the table of taggers' scores, each beside plain Bi-LSTMs of as many layers and of one, seed by seed."""
    rows = read_rows(TAGGING)
    alike = ["dataset", "recipe", "vectors", "protocol"]
    scores = {(*row[alike], row.model, row.settings): row.scores for _, row in rows.iterrows()}

    def beside(row: Any, **changed: str) -> str:
        settings = dict(setting.split("=", 1) for setting in row.settings.split())
        ours = {name: value for name, value in settings.items() if name not in ("skip", "depth")}
        plain = [("bilstm_tagger", {**ours, **changed}), (row.model, {**settings, "skip": "none", **changed})]
        peers = [(model, " ".join(map("=".join, words.items()))) for model, words in plain]
        candidates = [scores.get((*(getattr(row, name) for name in alike), *other)) for other in peers]
        theirs = next(filter(None, candidates), None)
        return (
            "" if theirs is None or (row.model, row.settings) in peers else compared(row.scores, theirs, row.protocol)
        )

    columns = ("corpus", "model", "settings", "encoder parameters", "test accuracy", "span F1", "dev", "protocol")
    return rows_table(
        rows,
        ["dataset", "model", "recipe"],
        (*columns, "best epoch", "minus no skips", "minus one layer"),
        lambda row: (
            *(row.dataset, code(row.model), f"{row.recipe} {row.settings}", f"{int(row.encoder_parameters):,}"),
            *(with_spread(row.accuracy_mean, row.accuracy_std), with_spread(row.f1_mean, row.f1_std)),
            *(row.dev_accuracy_mean, row.protocol),
            f"{row.best_epochs} of {row.epochs} (patience {row.patience})",
            *(beside(row), beside(row, num_layers="1")),
        ),
    )


def word_vectors() -> str:
    """Return the table of word vectors, with their dev accuracies."""
    return rows_table(
        read_rows(ROOT / "results" / "word_vectors.csv"),
        ["dataset"],
        ("corpus", "model", "recipe", "vectors", "dev accuracy", "protocol", "best epoch"),
        lambda row: (
            *(row.dataset, code(row.model), code(row.recipe), row.settings.removeprefix("vectors=")),
            *(with_spread(row.dev_accuracy_mean, row.dev_accuracy_std), row.protocol),
            f"{row.best_epochs} of {row.epochs}",
        ),
    )


def rounded_vectors() -> str:
    """Return the table of what rounding the word vectors costs."""
    return rows_table(
        read_rows(ROOT / "results" / "rounded_vectors.csv"),
        ["dataset"],
        ("corpus", "model", "dev texts", "rounded", "unrounded", "labels that differ", "largest difference"),
        lambda row: (
            *(row.dataset, code(row.model), row.dev_texts, row.rounded, row.unrounded),
            *(row.labels_that_differ, row.largest_difference),
        ),
    )


def onnx_export() -> str:
    """Return the table of bundles, SavedModels and ONNX exports: accuracy, time, memory, disk."""
    columns = ("model", "served as", "weights", "dev accuracy", "answers that differ", "largest difference")
    return rows_table(
        read_rows(ROOT / "results" / "onnx_export.csv"),
        ["model"],
        (*columns, "start, s", "1 text, ms (p99)", "32 texts, ms", "texts/s", "memory, MB", "disk, MB"),
        lambda row: (
            *(code(row.model), _SERVED[row.kind], row.weights, row.accuracy or "-"),
            f"{float(row.answers_that_differ):.0f}" if row.answers_that_differ else "-",
            *(row.largest_difference or "-", row.start_s),
            *(f"{float(row.p50_ms_1):.2f} ({float(row.p99_ms_1):.2f})", f"{float(row.p50_ms_32):.1f}"),
            *(f"{float(row.texts_per_s):,.0f}", f"{float(row.peak_mb):,.0f}", f"{float(row.disk_mb):,.1f}"),
        ),
        timed=True,
    )


def export_weights() -> str:
    """Return the table of exports with weights in each precision, in turns."""
    columns = ("model", "weights", "answers that differ", "largest difference", "disk, MB")
    return rows_table(
        read_rows(ROOT / "results" / "export_weights.csv"),
        ["model"],
        (
            *columns,
            *(f"{texts}, {what}" for texts in ("1 text", "200") for what in ("CPU ms", "speed-up")),
            "load",
        ),
        lambda row: (
            *(code(row.model), row.weights, f"{row.answers_that_differ} of {int(row.answers):,}"),
            *(row.largest_difference, f"{float(row.disk_mb):.1f}"),
            *(f"{float(row.cpu_ms_1):.2f}", f"{row.ratio_1}x ({row.ratio_low_1}-{row.ratio_high_1})"),
            *(f"{float(row.cpu_ms_200):.0f}", f"{row.ratio_200}x ({row.ratio_low_200}-{row.ratio_high_200})"),
            row.load_average,
        ),
        timed=True,
    )


def paper_table(path: Path) -> str:
    """Return a paper's table with ours beside: one of ``results/`` that a job of ``tuning/`` wrote.

    Each row is also set beside the first one, seed by seed.
    """
    rows = read_rows(path)
    first = rows.groupby(_ALIKE).first()["scores"]
    measure = rows["measure"].iloc[-1].replace("_", " ")

    def beside_first(row: Any) -> str:
        ours, theirs = row.scores, first[tuple(row[_ALIKE])]
        return "" if ours == theirs else compared(ours, theirs, row.protocol)

    rows["beside_first"] = rows.apply(beside_first, axis=1)
    columns = ("corpus", "row", "depth", "width", "vectors", "encoder weights", measure, "minus the first row", "dev")
    return rows_table(
        rows,
        ["dataset"],
        (*columns, "protocol", "best epoch", "paper"),
        lambda row: (
            *(row.dataset, name_cell(row.recipe, row.settings), row.depth, row.width, row.vectors),
            f"{int(row.encoder_parameters):,}",
            *(with_spread(row.score_mean, row.score_std), row.beside_first, row.dev_mean, row.protocol),
            *(f"{row.best_epochs} of {row.epochs} (patience {row.patience})", paper(row)),
        ),
    )


_ALIKE = ["dataset", "settings", "vectors", "protocol"]
_NUMBERS = ("depth", "score_mean", "score_std", "paper")


def _series(row: Any) -> str:
    frozen = ", frozen" if "trainable_embeddings=false" in row.settings.split() else ""
    return f"ours, {row.vectors.partition('.txt')[0] or 'no vectors'}{frozen}"


def draw_by_depth(path: Path, picture: Path) -> None:
    """Draw the scores of a paper's table against depth, ours and the paper's. Rows of one depth are not drawn."""
    rows = pd.read_csv(path, keep_default_na=False, na_values=dict.fromkeys(_NUMBERS, ""))
    several = len(rows[_ALIKE].drop_duplicates()) > 1
    series = [_series(row) if several else "ours" for row in rows.itertuples()]
    shared = {"panel": rows["dataset"], "depth": rows["depth"]}
    ours = pd.DataFrame({**shared, "series": series, "mean": rows["score_mean"], "std": rows["score_std"]})
    paper = pd.DataFrame({**shared, "series": "paper", "mean": rows["paper"], "std": float("nan")}).drop_duplicates()
    scores = pd.concat([ours, paper]).dropna(subset=["depth", "mean"])
    if scores["depth"].nunique() > 1:
        measure = rows["measure"].iloc[-1].replace("_", " ")
        plots.by_depth(scores, picture, _heading(path.stem), measure)


def _heading(name: str) -> str:
    """Return the name of a paper's table as people write it.

    Example:
        >>> _heading("ding2018_table3")
        'Ding et al. 2018, Table 3'
    """
    return re.sub(r"([a-z]+)(\d{4})_table(\d)", lambda m: f"{m[1].title()} et al. {m[2]}, Table {m[3]}", name)


TABLES = {
    "batch": lambda: batch.table(read_rows(batch.RESULTS).to_dict("records")),
    "claims_ding2018": lambda: claims_table(paper_claims.DING2018),
    "claims_godin2017": lambda: claims_table(paper_claims.GODIN2017),
    "claims_wu2016": lambda: claims_table(paper_claims.WU2016),
    "claims_xie2019": lambda: claims_table(paper_claims.XIE2019),
    "classification": classification,
    "classification_fixed": classification_fixed,
    "cpu_seconds": cpu_seconds.table,
    "dynamic_interaction": dynamic_interaction,
    "export_weights": export_weights,
    "few_labels": few_labels.table,
    "file_of_texts": file_of_texts,
    "teaching": teaching.table,
    "self_training": self_training.table,  # empty until there are rows
    "first_hour": first_hour.table,
    "frontier": frontier,
    "heat_maps": heat_maps,
    "kept_memory": kept_memory,
    "language_model": language_model,
    "long_texts": long_texts,
    "onnx_export": onnx_export,
    "pretraining": pretraining,
    "pretraining_curves": functools.partial(transfer, "pretraining_curves"),
    "profile": profile,
    "raw_texts": raw_texts,
    "review_models": review_models,
    "rounded_vectors": rounded_vectors,
    "runtime_server": server_tables.served,
    "runtime_server_settings": server_tables.settings,
    "tagging": tagging,
    "transfer": transfer,
    "word_vectors": word_vectors,
    "speed": speed_table,
}


def render(text: str) -> str:
    """Return a page's text with every table made anew."""

    def table_of(match: re.Match[str]) -> str:
        path = ROOT / "results" / f"{match[1]}.csv"
        rows = TABLES[match[1]]() if match[1] in TABLES else paper_table(path)
        return f"<!-- table: {match[1]} -->\n{rows}\n<!-- end -->"

    return _TABLE.sub(table_of, text)


_TABLE = re.compile(r"<!-- table: (\w+) -->\n.*?<!-- end -->", flags=re.DOTALL)


def update_pages() -> None:
    """Rewrite the tables and figures of all pages."""
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        if (filled := figures.fill(render(text))) != text:
            with files.new_file(path, "w") as file:
                file.write(filled)


def problems(text: str) -> list[str]:
    """Return what is wrong with a page, one line for each."""
    older = [] if render(text) == text else ["its tables are older than their rows: make tables"]
    return [*older, *figures.problems(text)]


def main(argv: Sequence[str] | None = None) -> None:
    """Rewrite tables and figures, or with ``--check`` end with a message where a page is not what the rows say."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; say where a page is not what the rows say")
    if not parser.parse_args(argv).check:
        return update_pages()
    pages = {path: path.read_text(encoding="utf-8") for path in PAGES}
    sys.exit("\n".join(f"{path}: {problem}" for path, text in pages.items() for problem in problems(text)) or 0)


if __name__ == "__main__":
    main()
