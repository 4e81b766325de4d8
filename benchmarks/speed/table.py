"""The tables of speed and memory, as Markdown, from the CSV file that the comparisons write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.speed.workloads import SHARE_AIM, SHARE_FLOOR
from dense_lstm_zoo import display
from dense_lstm_zoo.display import Markdown, code, escape
from tuning.result_files import ROOT, folded, machines, read_rows, rounded

RESULTS = ROOT / "results" / "speed_cpu.csv"
TITLES = {
    "train": "W, training step",
    "train_bfloat16": "W in `mixed_bfloat16`, training step",
    "predict": "W, prediction",
    "language_model": "language model, training step",
    "language_model_bfloat16": "language model in `mixed_bfloat16`, training step",
    "language_model_30000_words": "language model 400 x 2 over 30,000 words, training step on 2,048 (peer: on all)",
    "language_model_30000_words_bfloat16": "the same in `mixed_bfloat16`, training step",
    "tagger_512": "tagger 7 x 512, training step (peer: its cell in `keras.layers.RNN`)",
    "tagger_128": "tagger 7 x 128, training step (peer: its cell in `keras.layers.RNN`)",
    "pooling": "dynamic interaction, training step (peer: a loop over the layers)",
    "first_step": "W, first training step, fresh process",
    "first_epoch": "first epoch, from raw text",
    "second_epoch": "second epoch",
    "predict_texts": "raw texts to labels",
    "training_batches": "an epoch of batches, no model",
    "text_to_ids": "texts to ids",
}
PEERS = {"keras": "stock Keras", "torch": "PyTorch", "float32": "ours in float32", "": "-"}


def table(path: Path = RESULTS) -> str:
    """Return the README's tables of speed and memory, as Markdown, from the CSV file ``path``."""
    everything = read_rows(path)
    rows = everything[everything["kernel"] == ""]
    header = ["what", "batch", "peer", "ours", "peer's", "ratio (quartiles)", "floor, aim", "repeats"]
    cells = [_cells(row, title) for name, title in TITLES.items() for row in rows[rows["name"] == name].itertuples()]
    exported = everything[(everything["kernel"] == "native") & (everything["name"] == "predict")]
    cells += [_cells(row, "W, prediction with the kernel of exported graphs") for row in exported.itertuples()]
    lines: list[str] = [display.table(header, cells)]
    memory = sorted(rows[rows["name"].str.startswith("memory_")].itertuples(), key=_depth)
    if memory:
        peaks = [(_depth(row), f"{float(row.ours_mb):,.0f}", f"{float(row.peer_mb):,.0f}") for row in memory]
        header = ["layers", Markdown("peak MB of a training step, `remat=True`"), code("remat=False")]
        lines += ["", display.table(header, peaks)]
    shares = rows[(rows["name"] == "train") & (rows["batch"] == "200")]
    if len(shares):
        share, peak = (float(shares[column].iloc[-1]) for column in ("gflops_share", "peak_gflops"))
        lines += [
            "",
            f"Training at batch 200 runs at {share:.0%} of the machine's float32 matrix-product peak, {peak:,.0f} "
            f"GFLOP/s (floor {SHARE_FLOOR:.0%}, aim {SHARE_AIM:.0%}).",
        ]
    commands = "\n".join(dict.fromkeys([*rows["command"], *exported["command"]]))
    return "\n".join([*lines, "", folded(commands), "", machines(everything)])


def _cells(row: Any, title: str) -> tuple[str, ...]:
    place = f"{title} ({escape(row.corpus, cell=True)})" if row.corpus else title
    times = [
        f"{_duration(median)} ± {_duration(spread)}" if median else "-"
        for median, spread in ((row.ours_ms, row.ours_spread_ms), (row.peer_ms, row.peer_spread_ms))
    ]
    for side, rate in enumerate((row.ours_rate, row.peer_rate)):
        if rate:
            times[side] += f", {int(float(rate)):,} {row.rate_unit}"
    ratio = "-"
    if row.ratio:
        median, low, high = (rounded(x, "0.01") for x in (row.ratio, row.ratio_low, row.ratio_high))
        ratio = f"{median}x ({low}-{high})"
    goals = ", ".join(f"{float(goal):g}x" if goal else "-" for goal in (row.floor, row.aim))
    goals = goals if row.floor or row.aim else "-"
    # Titles are ours, with code in them.
    return (Markdown(place), row.batch or "-", PEERS[row.peer], *times, ratio, goals, row.repeats)


def _duration(milliseconds: str) -> str:
    value = float(milliseconds)
    return f"{value / 1000:.3g} s" if value >= 1000 else f"{value:.3g} ms"


def _depth(row: Any) -> int:
    return int(row.name.split("_")[1])
