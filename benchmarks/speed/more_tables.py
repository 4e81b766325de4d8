"""The tables of long texts, a file of texts, a step's profile, kept memory and raw texts, from their CSV files."""

from __future__ import annotations

from typing import Any

from dense_lstm_zoo import display
from tuning.result_files import ROOT, read_rows, sources

NETWORKS = {"dc_bilstm": "W", "bilstm": "BiLSTM, 300 units", "classifier": "W", "language_model": "language model"}
STEPS = {"train": "training", "predict": "prediction"}


def long_texts() -> str:
    """Return the table of tokens a second and peak memory by the length of a text."""
    rows = read_rows(ROOT / "results" / "long_texts.csv")
    header = ["network", "words", "batch", "step", "measure", "ours", "stock Keras", "PyTorch"]
    cells = []
    for key, group in rows.groupby(["network", "time", "batch", "step", "measure"], sort=False):
        by_side = {row.side: row for row in group.itertuples()}
        name, time, batch, step, measure = map(str, key)
        values = [_value(by_side.get(side)) for side in ("ours", "keras", "torch")]
        cells.append((NETWORKS[name], time, batch, STEPS[step], measure, *values))
    cells.sort(key=lambda row: (row[0] != "W", row[4], row[3], int(row[1])))
    return "\n".join([display.table(header, cells), "", sources(rows, timed=True)])


def _value(row: Any) -> str:
    if row is None:
        return "-"
    value = f"{int(float(row.value)):,}"
    if not row.ratio:
        return value
    quartiles = f" ({row.ratio_low}-{row.ratio_high})" if row.ratio_low else ""
    return f"{value}: {row.ratio}x{quartiles}"


def file_of_texts() -> str:
    """Return the table of the command ``train`` on a file, beside stock Keras."""
    rows = read_rows(ROOT / "results" / "file_of_texts.csv")
    header = ["texts", "batch", "epochs", "ours", "stock Keras", "ratio", "our epoch", "words/s", "share of the peak"]
    cells = [
        (
            *(f"{int(row.texts):,} of {row.corpus}", row.batch, row.epochs, f"{row.ours_s} s", f"{row.keras_s} s"),
            *(f"{row.ratio}x", f"{row.epoch_s} s", f"{int(row.words_per_s):,}", f"{float(row.gflops_share):.0%}"),
        )
        for row in rows.itertuples()
    ]
    return "\n".join([display.table(header, cells), "", sources(rows, timed=True)])


def profile() -> str:
    """Return the table of where a training step's time goes, by network and batch size."""
    rows = read_rows(ROOT / "results" / "profile.csv")
    columns = list(dict.fromkeys(zip(rows["network"], rows["batch"], strict=True)))
    cells = []
    for work in dict.fromkeys(rows["work"]):
        cell = {(row.network, row.batch): _time(row) for row in rows[rows["work"] == work].itertuples()}
        cells.append((work, *(cell.get(column, "-") for column in columns)))
    header = ["work", *(f"{NETWORKS[network]}, batch {batch}" for network, batch in columns)]
    return "\n".join([display.table(header, cells), "", sources(rows, timed=True)])


def kept_memory() -> str:
    """Return the table of an epoch's time and memory with large blocks of memory kept, and without."""
    rows = read_rows(ROOT / "results" / "kept_memory.csv")
    header = ["model", "corpus", "texts", "kept", "returned", "returned to kept", "page faults, millions", "peak MB"]
    cells = [
        (
            *(row.model, row.dataset, row.texts),
            *(f"{seconds} s ({quartiles})" for seconds, quartiles in _sides(row, "s", "spread_s")),
            f"{row.ratio}x ({row.ratio_low}-{row.ratio_high})",
            f"{row.kept_million_faults} and {row.returned_million_faults}",
            f"{row.kept_peak_mb} and {row.returned_peak_mb}",
        )
        for row in rows.itertuples()
    ]
    return "\n".join([display.table(header, cells), "", sources(rows, timed=True)])


def raw_texts() -> str:
    """Return the table of presets' times from raw texts to answers."""
    rows = read_rows(ROOT / "results" / "raw_texts.csv")
    header = [
        "preset",
        "texts of",
        "texts",
        "bundle, ms",
        "batches of 256, ms",
        "batches of 256 / bundle",
        "runtime, ms",
        "runtime / bundle",
    ]
    cells = [
        (
            *(row.preset, row.dataset, row.texts, f"{row.bundle_ms} ({row.bundle_spread_ms})"),
            *(f"{row.large_ms} ({row.large_spread_ms})", f"{row.large_ratio}x"),
            *(f"{row.runtime_ms} ({row.runtime_spread_ms})", f"{row.runtime_ratio}x"),
        )
        for row in rows.itertuples()
    ]
    return "\n".join([display.table(header, cells), "", sources(rows, timed=True)])


def _sides(row: Any, *measures: str) -> list[list[str]]:
    return [[getattr(row, f"{side}_{measure}") for measure in measures] for side in ("kept", "returned")]


def _time(row: Any) -> str:
    time = f"{float(row.ms):,.3g} ms" if float(row.ms) < 1000 else f"{float(row.ms) / 1000:.1f} s"
    if row.share_of_threads:
        return f"{time} ({float(row.share_of_threads):.0%})"
    return f"{time} ({float(row.share_of_peak):.0%} of the peak)" if row.share_of_peak else time
