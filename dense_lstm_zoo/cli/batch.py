"""The command that predicts files of any size with Apache Beam: predict-batch."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dense_lstm_zoo.batch import check_beam
from dense_lstm_zoo.data.cells import escape_controls
from dense_lstm_zoo.display import notes

# Of ``batch.layout``, ``batch.sinks`` and ``batch.job``, which take seconds to import.
READABLE = ("text", "csv", "tsv", "jsonl", "parquet")
DIRECT = "DirectRunner"
DEBUG = "DENSE_LSTM_ZOO_DEBUG"
WRITABLE = ("text", "csv", "jsonl", "parquet")
DESCRIPTION = (
    "Predict files of any size with Apache Beam, on this machine or many. Bad rows go to files of their own; the "
    "output folder appears when everything is done. Options that are not listed here are passed to Beam, such as "
    "--direct_num_workers 2 --direct_running_mode multi_processing."
)


def predict_batch(beam_arguments: list[str], **asked: Any) -> None:
    """Run a batch job and print what it did."""
    try:
        check_beam()
    except ImportError as error:
        raise ValueError(str(error)) from None
    made = argparse.ArgumentParser()
    add_options(made)
    # A cluster's runner tells where its job can be watched; the direct one and its workers have nothing to tell.
    with _silence() if asked["runner"] == DIRECT and not os.environ.get(DEBUG) else contextlib.nullcontext():
        from dense_lstm_zoo.batch import job

        done = job.run(job.Job(**asked), beam_arguments, list(made._option_string_actions))
    count = len(done.shards)
    told = f"{done.predicted:,} of {done.rows:,} rows predicted in {asked['output']}, {count} file{'s' * (count != 1)}"
    notes.show(escape_controls(told) + (f"; {done.bad:,} bad, listed in _bad-*.jsonl" if done.bad else ""))


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Leave out what Beam and its worker processes write to standard error; errors are raised."""
    sys.stderr.flush()
    stderr = os.dup(2)
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    level = logging.getLogger().level
    logging.getLogger().setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logging.getLogger().setLevel(level)
        os.dup2(stderr, 2)
        os.close(stderr)


def add_options(sub: argparse.ArgumentParser) -> None:
    """Add the options of ``predict-batch``."""
    sub.add_argument(
        "--input", required=True, nargs="+", metavar="PATTERN", help="files, or patterns such as 'data/*.jsonl'"
    )
    sub.add_argument("--output", required=True, metavar="FOLDER", help="the folder to write the shards to")
    sub.add_argument(
        "--model", required=True, help="a preset's name, or the folder of an export or of a run with an export in onnx/"
    )
    sub.add_argument("--runner", default=DIRECT, help="Beam's runner (default: DirectRunner, this machine)")
    sub.add_argument(
        "--input-format",
        dest="input_form",
        choices=READABLE,
        help="format of the input (default: by the files' names, else text: one text per line)",
    )
    sub.add_argument("--text-column", help="csv, tsv, jsonl, parquet: the texts' column (default: text)")
    sub.add_argument("--encoding", help="encoding of text, csv, tsv and jsonl (default: utf-8)")
    sub.add_argument(
        "--format", dest="form", choices=WRITABLE, help="output format (default: like the input; tsv: csv)"
    )
    sub.add_argument(
        "--prefix", help="prefix of new columns' names (default: predicted_ if the input has such columns already)"
    )
    sub.add_argument(
        "--raw",
        action="store_true",
        help="csv: do not put an apostrophe before formulas; text: do not escape control characters",
    )
    sub.add_argument(
        "--max-chars", type=int, default=100_000, metavar="N", help="longer texts are bad (default: 100000)"
    )
    sub.add_argument(
        "--max-bad", type=int, metavar="N", help="publish nothing if more than N rows are bad (default: any number)"
    )
    sub.add_argument(
        "--shard-rows", type=int, default=100_000, metavar="N", help="most rows of an output file (default: 100000)"
    )
    sub.add_argument("--overwrite", action="store_true", help="replace the output of an earlier predict-batch")
