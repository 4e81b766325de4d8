"""Measure speed and memory on a CPU and write results/speed_cpu.csv and, with matplotlib, results/speed_cpu.png.

Every comparison runs both sides in turn (A B A B ...), each in a process of its own and only one computing at a time,
with the same weights, after checking that the outputs agree and warming up. Ratios are peer / ours: above 1 is faster
than the peer. Rows give medians, interquartile ranges and the quartiles of the ratio over paired repeats.

groups:
  train          a training step of W = DC-Bi-LSTM 15 x 13 + 100 over 30 words of 300 features; stock Keras, PyTorch
  predict        a prediction of W; stock Keras, PyTorch
  language_model a training step of a dense LSTM language model, 200 x 2 over 10,000 words; stock Keras, PyTorch
  tagger         a training step of gated-skip Bi-LSTMs, 7 x 512 and 7 x 128; their cell in keras.layers.RNN
  pooling        a training step of dynamic interaction over 15 layers' states; a loop over the layers
  first_step     the first training step in a fresh process, tracing and all; stock Keras
  epochs         first and second epoch on a corpus from raw text; stock Keras over padded_batch
  predict_texts  sentences a second from raw text to labels; stock Keras
  pipeline       tokens a second of the input pipeline alone
  memory         peak memory of a training step by depth, with and without remat
  scaling        a training step against depth, width, batch and length

Before a run, stop everything else on the machine (the load average is in the rows). DENSE_LSTM_ZOO_DATA names the
folder with trec/; without it the built-in corpus stands in. PyTorch is compared where it is installed; to keep it out
of this environment: pip install --target FOLDER torch, and DENSE_LSTM_ZOO_TORCH=FOLDER.

examples:
  python -m benchmarks.speed                                 everything, under 20 minutes on 2 cores
  python -m benchmarks.speed --quick --only train predict    a first look, nothing written
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import tables
from benchmarks.speed import bench, line
from benchmarks.speed.workloads import SCALING, SHARE_AIM, SHARE_FLOOR
from dense_lstm_zoo import display
from dense_lstm_zoo.display import Markdown, code, escape

RESULTS = tables.ROOT / "results" / "speed_cpu.csv"
PICTURE = RESULTS.with_suffix(".png")
KEY = ["name", "batch", "corpus", "peer", "kernel"]


def main(argv: list[str] | None = None) -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="GROUP", help="only these groups (default: all)")
    parser.add_argument(
        "--quick", action="store_true", help="a look of a few minutes: fewer sizes and repeats; prints, writes nothing"
    )
    parser.add_argument(
        "--repeats", type=int, metavar="N", help="turns a comparison (default: 5, quick: 3; at most 5 of long ones)"
    )
    parser.add_argument("--corpora", nargs="+", metavar="NAME", help="corpora of the epochs (default: trec mr)")
    parser.add_argument("--kernel", help="the layers' kernel argument (default: the layers' own default)")
    parser.add_argument("--skip-torch", action="store_true", help="leave PyTorch out")
    options = parser.parse_args(argv)
    settings: dict[str, Any] = {"torch": not options.skip_torch, "command": _command(options)}
    settings |= {name: getattr(options, name) for name in ("repeats", "kernel") if getattr(options, name) is not None}
    if options.corpora:
        settings["corpora"] = tuple(options.corpora)
    started = time.perf_counter()
    try:
        bench("cpu", options.only, options.quick, report=lambda row: _report(row, write=not options.quick), **settings)
    except ValueError as error:
        parser.error(str(error))
    print(f"{time.perf_counter() - started:.0f} s")
    if not options.quick:
        _draw()


def _command(options: argparse.Namespace) -> str:
    """Return the command that makes the rows again."""
    parts = ["python -m benchmarks.speed"]
    parts += [f"--only {' '.join(options.only)}"] if options.only else []
    parts += [f"--corpora {' '.join(options.corpora)}"] if options.corpora else []
    parts += [f"--{name} {value}" for name in ("repeats", "kernel") if (value := getattr(options, name)) is not None]
    parts += ["--quick"] if options.quick else []
    return " ".join(parts + (["--skip-torch"] if options.skip_torch else []))


def _report(row: dict[str, Any], write: bool) -> None:
    """Print a row and, at once, so that an interrupted run keeps what it has, write it."""
    print(line(row), flush=True)
    if write:
        tables.merge(RESULTS, [row], KEY)


TITLES = {
    "train": "W, training step",
    "predict": "W, prediction",
    "language_model": "language model, training step",
    "language_model_bfloat16": "language model in `mixed_bfloat16`, training step",
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
PEERS = {"keras": "stock Keras", "torch": "PyTorch", "": "-"}


def table(path: Path = RESULTS) -> str:
    """Return the tables of speed and memory, as Markdown, from the CSV file ``path``."""
    everything = pd.read_csv(path, dtype=str, keep_default_na=False)
    rows = everything[everything["kernel"] == ""]
    header = ["what", "batch", "peer", "ours", "peer's", "ratio (quartiles)", "floor, aim", "repeats"]
    cells = [_cells(row, title) for name, title in TITLES.items() for row in rows[rows["name"] == name].itertuples()]
    exported = everything[(everything["kernel"] == "native") & (everything["name"] == "predict")]
    cells += [_cells(row, "W, prediction with the kernel of exported graphs") for row in exported.itertuples()]
    lines = [display.table(header, cells)]
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
    machines = "; ".join(dict.fromkeys(f"{row.processor}, {row.cores} cores" for row in everything.itertuples()))
    versions = max(rows["versions"], key=len)
    return "\n".join([*lines, "", tables.folded(commands), "", f"{machines}. Versions: {versions}."])


def _cells(row: Any, title: str) -> tuple[str, ...]:
    where = f"{title} ({escape(row.corpus, cell=True)})" if row.corpus else title
    times = [
        f"{_duration(median)} ± {_duration(spread)}" if median else "-"
        for median, spread in ((row.ours_ms, row.ours_spread_ms), (row.peer_ms, row.peer_spread_ms))
    ]
    if row.ours_rate:
        times[0] += f", {int(row.ours_rate):,} {row.rate_unit}"
    ratio = f"{float(row.ratio):.2f}x ({float(row.ratio_low):.2f}-{float(row.ratio_high):.2f})" if row.ratio else "-"
    goals = ", ".join(f"{float(goal):g}x" if goal else "-" for goal in (row.floor, row.aim))
    goals = goals if row.floor or row.aim else "-"
    # Titles are ours, with code in them.
    return (Markdown(where), row.batch or "-", PEERS[row.peer], *times, ratio, goals, row.repeats)


def _duration(milliseconds: str) -> str:
    value = float(milliseconds)
    return f"{value / 1000:.1f} s" if value >= 2000 else f"{value:.3g} ms"


def _depth(row: Any) -> int:
    return int(row.name.split("_")[1])


def _draw(path: Path = RESULTS, picture: Path = PICTURE) -> None:
    """Draw the ratios and the scaling curves; matplotlib is an extra."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        print(f"No {picture.name}: matplotlib is not installed (pip install dense-lstm-zoo[plots]).")
        return
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    rows = rows[rows["kernel"] == ""]
    figure = Figure(figsize=(14, 6), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subfigures(1, 2, width_ratios=(3, 2))
    _draw_ratios(left.subplots(), rows[rows["name"].isin(TITLES) & (rows["peer"] != "")])
    for axes, (curve, (_, values)) in zip(right.subplots(2, 2).flat, SCALING.items(), strict=True):
        found = rows[rows["name"].isin([f"scaling_{curve}_{value}" for value in values])]
        x = [int(name.rsplit("_", 1)[1]) for name in found["name"]]
        axes.errorbar(x, found["ours_ms"].astype(float), found["ours_spread_ms"].astype(float) / 2, marker=".")
        axes.set(xlabel=curve, ylabel="ms a training step", xscale="log", yscale="log")
        axes.set_xticks(x, x)
        axes.set_xticks([], minor=True)
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("{x:g}")
        axes.grid(alpha=0.3, which="both")
    figure.savefig(picture, dpi=120)


def _draw_ratios(axes: Any, rows: pd.DataFrame) -> None:
    """Draw a bar a row with the quartiles of its ratio, and ticks at the floor and the aim."""
    colours = {"keras": "tab:blue", "torch": "tab:orange"}
    for place, row in enumerate(rows.itertuples()):
        ratio, low, high = (float(value) for value in (row.ratio, row.ratio_low, row.ratio_high))
        axes.barh(place, ratio, color=colours[row.peer], alpha=0.6)
        axes.plot([low, high], [place, place], color="black", linewidth=1)
        for goal, colour in ((row.floor, "tab:red"), (row.aim, "tab:green")):
            if goal:
                axes.plot([float(goal)] * 2, [place - 0.4, place + 0.4], color=colour, linewidth=2)
    labels = [f"{row.name} {row.batch or row.corpus} / {PEERS[row.peer]}" for row in rows.itertuples()]
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.axvline(1, color="gray", linestyle=":")
    axes.set(xlabel="times as fast as the peer (red: floor, green: aim; line: quartiles)")


if __name__ == "__main__":
    main()
