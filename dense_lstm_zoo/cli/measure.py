"""The command measure: what trained models cost on this machine, as lines and a CSV file."""

from __future__ import annotations

import dataclasses
import itertools
import sys
from pathlib import Path
from typing import Any

from dense_lstm_zoo.cli.arguments import output, text_format
from dense_lstm_zoo.cli.command import argument, command
from dense_lstm_zoo.corpora.own_files import input_format
from dense_lstm_zoo.data import records
from dense_lstm_zoo.data.cells import escape_controls, mark_formula
from dense_lstm_zoo.data.delimited import check_delimiter
from dense_lstm_zoo.measuring import rows
from dense_lstm_zoo.measuring.measure import MAX_TEXTS, REPEATS, TIMEOUT, prepare
from dense_lstm_zoo.storage import files, pipes
from dense_lstm_zoo.storage.outputs import check_not_read, check_output
from dense_lstm_zoo.storage.packed_files import new_output
from dense_lstm_zoo_runtime.streams import unread_output


@command(
    "measure",
    "Measure what trained models cost here: time, memory, disk.",
    argument("runs", nargs="+", metavar="run", help="folders that train or export wrote, for any task, or presets"),
    argument(
        "--texts",
        metavar="FILE",
        help="texts like those you will serve, as their length decides the cost of a call: one per line, or a table, "
        "depending on the file's name; the first 2,000 are used (default: sentences of the demo corpus)",
    ),
    *text_format("--texts"),
    argument(
        "--repeats",
        type=int,
        default=REPEATS,
        metavar="N",
        help=f"timed calls at each size, for at most a minute (default: {REPEATS})",
    ),
    argument(
        "--timeout", type=float, default=TIMEOUT, metavar="S", help=f"stop a run after S seconds (default: {TIMEOUT:g})"
    ),
    *output("also write the rows to this CSV file, with the date, the versions and the processor"),
    example="measure runs/trec exports/trec/1 --texts questions.txt --output costs.csv",
    description="Measure what trained models cost on this machine: seconds to load, the first prediction, the median "
    "and the 99th percentile of later ones at 1, 32 and 200 texts per call, texts per second, memory and disk. Each "
    "bundle or export runs in a fresh process, so that runs do not affect each other; warm-up calls are not counted. "
    "Run nothing else meanwhile. If one model fails, the others are still measured, and the exit status is 1.",
)
def measure(
    runs: list[str],
    texts: str | None,
    input_form: str | None,
    text_column: str | None,
    encoding: str | None,
    delimiter: str | None,
    repeats: int,
    timeout: float,
    output: str | None,
    overwrite: bool,
) -> int:
    """Print a line for each run, write the rows of those that could be measured, and return the exit status."""
    target = None if output is None else check_output(output, overwrite)
    check_not_read(target, [texts], "--output")
    options = records.Options(input_form or "", text_column, encoding=encoding, delimiter=check_delimiter(delimiter))
    if texts is None and options != records.Options(""):
        raise ValueError(
            "--input-format, --text-column, --encoding and --delimiter describe the file of --texts; give --texts too."
        )
    own = None if texts is None else read_texts(texts, options)
    plan = prepare(runs, own, repeats, timeout, "" if texts is None else Path(texts).name)
    names = [run.name for run in plan.runs]
    print(_heading(plan.shared), rows.LEGEND, rows.header(names), sep="\n", flush=True)
    good, failures = [], 0
    with unread_output():  # the file is written although nobody reads the lines any more
        for row in plan.rows():
            print(rows.line(row, names), flush=True)
            if row["error"]:
                failures += 1
                message = f"error: {row['run']}: {' '.join(row['error'].split())}"
                print(escape_controls(message), file=sys.stderr, flush=True)
            else:
                good.append({name: _cell(x) if isinstance(x, str) else x for name, x in row.items()})
        if target and good:
            import pandas as pd

            with new_output(target) as file:
                pd.DataFrame(good).drop(columns="error").to_csv(file, index=False)
    return 1 if failures else 0


def read_texts(path: str, options: records.Options) -> list[str]:
    """Return the first texts of a file, read as ``predict`` does. Its name sets the format if that is empty.

    Raises:
        ValueError: The file holds no texts, or only blank ones, or cannot be read in this format.
        FileNotFoundError: It does not exist.
    """
    file = files.existing_file(path)
    form = input_format(path, records.FORMATS, "--input-format", options.form or None, otherwise="text")
    records.check_options(form, options.text_column, options.encoding, options.delimiter)
    with pipes.stream(file) as stream:
        source = records.read_records(stream, path, dataclasses.replace(options, form=form))
        lines = [str(record.text) for record in itertools.islice(source.records, MAX_TEXTS)]
    if not any(text.strip() for text in lines):
        raise ValueError(f"{path} holds {'only blank' if lines else 'no'} texts; there is nothing to predict.")
    return lines


def _cell(text: str) -> str:
    """Return text that a file can hold and that no spreadsheet takes for a formula."""
    return mark_formula(text.encode("utf-8", "replace").decode())


def _heading(shared: dict[str, Any]) -> str:
    """Return a line that describes the texts and the machine."""
    source, words = escape_controls(shared["source"]), shared["words_per_text"]
    texts = f"{shared['texts']:,} texts of {source}, {words:.0f} words on average"
    cores = f"{shared['cores']} core{'' if shared['cores'] == 1 else 's'}"
    return f"{texts}; {shared['processor']}, {cores}, load average {shared['load_average']} before."
