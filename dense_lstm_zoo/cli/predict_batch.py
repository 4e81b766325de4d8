"""The command that predicts files of any size with Apache Beam: predict-batch."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dense_lstm_zoo.batch import check_beam
from dense_lstm_zoo.cli.arguments import DELIMITER, PREFIX, RAW
from dense_lstm_zoo.cli.command import argument, command
from dense_lstm_zoo.data.cells import escape_controls
from dense_lstm_zoo.display import notes

# Of ``batch.layout``, ``batch.sinks`` and ``batch.job``, which take seconds to import.
READABLE = ("text", "csv", "tsv", "jsonl", "parquet")
DIRECT = "DirectRunner"
WRITABLE = ("text", "csv", "jsonl", "parquet")
DEBUG = "DENSE_LSTM_ZOO_DEBUG"


_ARGUMENTS = (
    argument(
        "--input",
        required=True,
        nargs="+",
        action="extend",
        metavar="PATTERN",
        help="files, or patterns such as 'data/*.jsonl'",
    ),
    argument("--output", required=True, metavar="FOLDER", help="the folder to write the shards to"),
    argument(
        "--model", required=True, help="a preset's name, or the folder of an export or of a run with an export in onnx/"
    ),
    argument("--runner", default=DIRECT, help="Beam's runner (default: DirectRunner, this machine)"),
    argument(
        "--input-format",
        dest="input_form",
        choices=READABLE,
        help="format of the input (default: by the files' names, else text: one text per line)",
    ),
    argument("--text-column", help="csv, tsv, jsonl, parquet: the texts' column (default: text)"),
    argument("--encoding", help="encoding of text, csv, tsv and jsonl (default: utf-8)"),
    DELIMITER,
    argument("--format", dest="form", choices=WRITABLE, help="output format (default: like the input; tsv: csv)"),
    argument("--prefix", help=PREFIX),
    RAW,
    argument("--max-chars", type=int, default=100_000, metavar="N", help="longer texts are bad (default: 100000)"),
    argument(
        "--max-bad", type=int, metavar="N", help="publish nothing if more than N rows are bad (default: any number)"
    ),
    argument(
        "--shard-rows", type=int, default=100_000, metavar="N", help="most rows of an output file (default: 100000)"
    ),
    argument("--overwrite", action="store_true", help="replace the output of an earlier predict-batch"),
)


@command(
    "predict-batch",
    "Predict files of any size with Apache Beam, on this machine or many.",
    *_ARGUMENTS,
    example="predict-batch --input 'data/*.jsonl' --output out/labelled --model dc_bilstm_sst2",
    description="Predict files of any size with Apache Beam, on this machine or many. Bad rows go to files of their "
    "own; the output folder appears when everything is done. Options that are not listed here are passed to Beam, such "
    "as --direct_num_workers 2 --direct_running_mode multi_processing.",
    passed_on="beam_arguments",
)
def predict_batch(beam_arguments: list[str], **options: Any) -> None:
    """Run a batch job and print a summary."""
    try:
        check_beam()
    except ImportError as error:
        raise ValueError(str(error)) from None
    # A cluster's runner tells where its job can be watched; the direct one and its workers have nothing to tell.
    with _silence() if options["runner"] == DIRECT and not os.environ.get(DEBUG) else contextlib.nullcontext():
        from dense_lstm_zoo.batch import job

        report = job.run(
            job.Job(**options), beam_arguments, ["--help", *(argument.names[0] for argument in _ARGUMENTS)]
        )
    count = len(report.shards)
    files = f"{count} file{'s' * (count != 1)}"
    summary = f"{report.predicted:,} of {report.rows:,} rows predicted in {options['output']}, {files}"
    notes.show(escape_controls(summary) + (f"; {report.bad:,} bad, listed in _bad-*.jsonl" if report.bad else ""))


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Leave out what Beam and its worker processes write to standard error, but not our notes. Errors are raised."""
    sys.stderr.flush()
    stderr = os.dup(2)
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    level = logging.getLogger().level
    logging.getLogger().setLevel(logging.CRITICAL)
    try:
        with os.fdopen(stderr, "w", encoding="utf-8", errors="replace", closefd=False) as stream, notes.on(stream):
            yield
    finally:
        logging.getLogger().setLevel(level)
        os.dup2(stderr, 2)
        os.close(stderr)
