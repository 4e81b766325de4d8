"""``python -m tuning TABLE``: what a person may ask of a table of results, read and checked."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import dense_lstm_zoo as zoo
from benchmarks import tables
from dense_lstm_zoo import checks
from dense_lstm_zoo.cli.arguments import FILE_OPTIONS, corpus
from dense_lstm_zoo.cli.command import add_arguments
from dense_lstm_zoo.corpora.dataset import Dataset
from dense_lstm_zoo.corpora.own_files import format_of
from dense_lstm_zoo.storage import files
from tuning import engine, protocols
from tuning.engine import HOURS, TableRequest
from tuning.table import Table

PAPERS = (
    "ding2018_table1",
    "ding2018_table3",
    "ding2018_table4",
    "ding2018_table5",
    "ding2018_stacked",
    "godin2017_table1",
    "godin2017_table2",
    "wu2016_table1",
    "wu2016_table2",
    "wu2016_table3",
    "wu2016_table4",
    "xie2019_table2",
    "xie2019_table3",
)
OTHERS = (
    "classification",
    "classification_fixed",
    "dynamic_interaction",
    "language_model",
    "pretraining",
    "recipe_search",
    "review_models",
    "tagging",
    "tagging_depth",
    "tagging_units",
    "word_vectors",
)

_TEACHES = """
Every row is a trial in a process of its own; the epoch is chosen on dev. An interrupted command goes on where it was
when it is given again, also after a kill. Rows go to results/, those of --quick and of your own files to the run's
folder, where report.html shows the sweep. What is estimated to take more than --hours is refused before any work.

examples:
  python -m tuning --list
  python -m tuning ding2018_table3 --dataset sst2 --vectors imdb.300d.txt.gz --workers 2
  python -m tuning ding2018_table3 --dataset demo --quick
  python -m tuning classification --train-file mine.csv --test-file more.csv --rows dc_bilstm_ding2018 --seeds 3
"""


def load(name: str) -> Table:
    """Return a table by name, else raise ``ValueError`` with near matches."""
    if name not in (*PAPERS, *OTHERS):
        raise checks.unknown_name("table", name, (*PAPERS, *OTHERS))
    module = importlib.import_module(f"{'tuning' if name in PAPERS else 'benchmarks'}.{name}")
    table: Table = module.TABLE
    return table


@protocols.plain_errors()
def main(table: Table | None = None, argv: Sequence[str] | None = None) -> None:
    """Run what the arguments ask for: of a table, or of the one that the first of them names."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    words = list(sys.argv[1:] if argv is None else argv)
    if table is None and words and not words[0].startswith("-"):
        table = load(words.pop(0))
    if table is None:
        parser = _parser("python -m tuning", "Run a table of results.")
        parser.add_argument("table", nargs="?", help="a table of --list")
        parser.add_argument("--list", action="store_true", help="show the tables, and about how long each takes")
        if not parser.parse_args(words).list:
            parser.print_help()
            return
        for name in (*PAPERS, *OTHERS):
            print(_description(load(name)))
        return
    request = parse_request(table, words)
    failures = engine.run(request)
    _finish(request)
    if failures:
        raise SystemExit(
            f"error: rows without a result: {', '.join(failures)}. "
            f"The reasons are in {request.folder / 'report.html'}; to have a row run again, "
            f"delete its folder in {request.folder / 'trials'}."
        )


def parser_of(table: Table) -> argparse.ArgumentParser:
    """Return the parser of a table's options."""
    points = table.points
    rows = "\n".join(f"  {name:<40} about {table.minutes_of(name):,.0f} min a run" for name in points)
    parser = _parser(f"python -m tuning {table.name}", f"{table.title}\n\nrows, on {table.dataset}:\n{rows}")
    add_arguments(parser, [corpus(trains=True)])
    parser.add_argument("--rows", nargs="+", action="extend", metavar="ROW", help="these rows only (default: all)")
    for option, name in table.choices.items():
        parser.add_argument(f"--{option}", nargs="+", action="extend", help=f"the rows with this {name} only")
    parser.add_argument("--seeds", type=int, default=table.seeds, help=f"how many, from 1 (default: {table.seeds})")
    parser.add_argument("--folds", type=int, metavar="K", help="cross-validate with K folds of the training texts")
    parser.add_argument(
        "--only-folds", type=int, nargs="+", action="extend", metavar="FOLD", help="run these of the K folds only"
    )
    parser.add_argument("--vectors", help="a file of word vectors: a path, or a name in the data's vectors folder")
    parser.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="arguments of train that differ from the rows'",
    )
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="N rows at a time (default: 1)")
    parser.add_argument("--hours", type=float, default=HOURS, help=f"refuse what takes longer (default: {HOURS:g})")
    parser.add_argument("--quick", action="store_true", help="a tenth of the widths, 400 texts, one epoch; no results")
    parser.add_argument("--run-dir", help=f"default: runs/{table.name}")
    return parser


def parse_request(table: Table, words: Sequence[str]) -> TableRequest:
    """Return what the words ask of a table.

    Raises:
        ValueError: A row, corpus or choice that does not exist, with near matches.
    """
    options = vars(parser_of(table).parse_args(list(words)))
    data = {name: value for name in FILE_OPTIONS if (value := options.pop(name)) is not None}
    dataset = Dataset.resolve(options["dataset"] or table.dataset, data, table.task.name)
    if data.get("train_file") and not options["dataset"]:
        dataset = Dataset(format_of(data["train_file"], table.task.own_files, "--dataset"), table.task.name, data)
    accepted = zoo.list_corpora(table.task.name)
    if dataset.name not in accepted:
        raise checks.unknown_name("corpus", dataset.name, accepted)
    names = _chosen_rows(table, options)
    fields = ("seeds", "folds", "only_folds", "vectors", "workers", "hours", "quick", "run_dir")
    protocol = {name: options[name] for name in fields}
    return TableRequest(table, dataset.name, names, data=dataset.options, settings=options["set"], **protocol)


def _chosen_rows(table: Table, options: dict[str, Any]) -> list[str]:
    """Return the rows that are asked for, in their order."""
    points = table.points
    for name in options["rows"] or ():
        checks.one_of("row", name, points)
    names = [name for name in points if name in (options["rows"] or points)]
    for option, attribute in table.choices.items():
        values = {name: _value(row, attribute) for name, row in points.items()}
        for value in options[option.replace("-", "_")] or ():
            checks.one_of(option, value, dict.fromkeys(filter(None, values.values())))
        names = [name for name in names if values[name] in (options[option.replace("-", "_")] or values.values())]
    if not names:
        raise ValueError(f"No row of {table.name} is all of that. Rows: {', '.join(points)}.")
    return names


def _value(row: Any, attribute: str) -> str:
    return row.labels.get(attribute) or getattr(row, attribute, None) or ""


def _finish(request: TableRequest) -> None:
    """Write the table of what was asked for, and of a paper's draw the scores by depth."""
    if request.table.is_paper:
        with files.new_file(request.folder / "table.md", "w") as file:
            file.write(tables.paper_table(request.results) + "\n")
        tables.draw_by_depth(request.results, request.results.with_suffix(".png"))
    print(f"rows in {request.results}, report in {request.folder / 'report.html'}")


def _parser(prog: str, description: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        prog=prog, description=description, epilog=_TEACHES, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def _description(table: Table) -> str:
    hours = table.seeds * sum(map(table.minutes_of, table.points)) / 60
    run = "" if (tables.ROOT / "results" / f"{table.file}.csv").is_file() else ", not run yet"
    return f"{table.name:<20} {len(table.points):>2} rows, {table.dataset}, about {hours:,.1f} h{run}: {table.title}"
