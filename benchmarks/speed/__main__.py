"""Measure speed and memory and write results/speed_cpu.csv and, with matplotlib, results/speed_cpu.png.

Every comparison runs both sides in turn (A B A B ...), each in a process of its own and only one computing at a time,
with the same weights, after checking that the outputs agree and warming up. Ratios are peer / ours: above 1 is faster
than the peer. Rows give medians, interquartile ranges and the quartiles of the ratio over paired repeats.

groups:
  train          a training step of W = DC-Bi-LSTM 15 x 13 + 100 over 30 words of 300 features; stock Keras, PyTorch
  predict        a prediction of W; stock Keras, PyTorch
  bfloat16       a training step of W in mixed_bfloat16; stock Keras in mixed_bfloat16, ours in float32
  language_model a training step of a dense LSTM language model, 200 x 2 over 10,000 words; stock Keras, PyTorch
  sampled_softmax  a training step of a dense LSTM language model, 400 x 2 over 30,000 words, of which ours samples
                 2,048; stock Keras with all words
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

from benchmarks.speed.bench import bench, line
from benchmarks.speed.figure import draw
from benchmarks.speed.table import RESULTS
from tuning import result_files

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
        "--repeats", type=int, metavar="N", help="turns a comparison (default: 3; at most 5 of long ones)"
    )
    parser.add_argument(
        "--device", default="cpu", help="cpu (default), or gpu: without PyTorch, to results/speed_gpu.csv"
    )
    parser.add_argument("--corpora", nargs="+", metavar="NAME", help="corpora of the epochs (default: trec)")
    parser.add_argument("--kernel", help="the layers' kernel argument (default: the layers' own default)")
    parser.add_argument("--skip-torch", action="store_true", help="leave PyTorch out")
    options = parser.parse_args(argv)
    settings: dict[str, Any] = {"torch": not options.skip_torch, "command": _command(options)}
    settings |= {name: getattr(options, name) for name in ("repeats", "kernel") if getattr(options, name) is not None}
    if options.corpora:
        settings["corpora"] = tuple(options.corpora)
    results = None if options.quick else RESULTS.with_name(f"speed_{options.device}.csv")
    started = time.perf_counter()
    try:
        bench(options.device, options.only, options.quick, report=lambda row: _report(row, results), **settings)
    except ValueError as error:
        parser.error(str(error))
    print(f"{time.perf_counter() - started:.0f} s")
    if results is not None:
        draw(results, results.with_suffix(".png"))


def _command(options: argparse.Namespace) -> str:
    """Return the command that makes the rows again."""
    parts = ["python -m benchmarks.speed"]
    parts += [f"--only {' '.join(options.only)}"] if options.only else []
    parts += [f"--corpora {' '.join(options.corpora)}"] if options.corpora else []
    parts += [f"--{name} {value}" for name in ("repeats", "kernel") if (value := getattr(options, name)) is not None]
    parts += [f"--device {options.device}"] if options.device != "cpu" else []
    parts += ["--quick"] if options.quick else []
    return " ".join(parts + (["--skip-torch"] if options.skip_torch else []))


def _report(row: dict[str, Any], results: Path | None) -> None:
    """Print a row and, at once, so that an interrupted run keeps what it has, write it."""
    print(line(row), flush=True)
    if results is not None:
        result_files.merge(results, [row], KEY)


if __name__ == "__main__":
    main()
