"""Groups of options that the commands share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import dense_lstm_zoo as zoo
from dense_lstm_zoo.data import records
from dense_lstm_zoo.measuring.measure import REPEATS, TIMEOUT

BUNDLE = "the folder that train wrote, a preset's name, hf://owner/name or https://...#sha256=..."


def add_texts(sub: argparse.ArgumentParser, readable: Sequence[str], writable: Sequence[str]) -> None:
    """Add the options of a command that reads texts and writes what a model makes of them."""
    sub.add_argument("bundle", help=BUNDLE)
    sub.add_argument("texts", nargs="*", default=[], help="texts (default: --file, else standard input)")
    sub.add_argument("--file", help="a file of texts: one per line, or a table, depending on its name")
    add_format(sub, "--file or standard input", readable, column="as in training, else text")
    add_output(sub, "write here instead of to standard output")
    columns = "; columns: for taggers, one token per line, as in CoNLL or CoNLL-U" if "columns" in writable else ""
    sub.add_argument(
        "--format",
        dest="form",
        choices=writable,
        help=f"output format (default: by the name of --output, else like the input){columns}",
    )
    sub.add_argument(
        "--prefix",
        help="csv, jsonl: prefix of new columns' names (default: predicted_ if the input has such columns already)",
    )
    sub.add_argument(
        "--raw",
        action="store_true",
        help="csv: do not put an apostrophe before formulas; text: do not escape control characters",
    )


def add_measuring(sub: argparse.ArgumentParser) -> None:
    """Add the options of ``measure``."""
    sub.add_argument(
        "runs", nargs="+", metavar="run", help="folders that train or export wrote, for any task, or presets"
    )
    sub.add_argument(
        "--texts",
        metavar="FILE",
        help="texts like those you will serve, as their length decides the cost of a call: one per line, or a table, "
        "depending on the file's name; the first 2,000 are used (default: sentences of the demo corpus)",
    )
    add_format(sub, "--texts")
    sub.add_argument(
        "--repeats",
        type=int,
        default=REPEATS,
        metavar="N",
        help=f"timed calls at each size, for at most a minute (default: {REPEATS})",
    )
    sub.add_argument(
        "--timeout", type=float, default=TIMEOUT, metavar="S", help=f"stop a run after S seconds (default: {TIMEOUT:g})"
    )
    add_output(sub, "also write the rows to this CSV file, with the date, the versions and the processor")


def add_format(
    sub: argparse.ArgumentParser, texts: str, forms: Sequence[str] = records.FORMATS, column: str = "text"
) -> None:
    """Add the options that say how a file of texts is read.

    Args:
        sub: The parser.
        texts: What the help calls the file.
        forms: The formats accepted.
        column: The default of the texts' column, in words.
    """
    sub.add_argument(
        "--input-format",
        dest="input_form",
        choices=forms,
        help=f"format of {texts} (default: by the file's name, else text: one text per line)",
    )
    sub.add_argument("--text-column", help=f"csv, tsv, jsonl: the texts' column (default: {column})")
    sub.add_argument("--encoding", help=f"encoding of {texts} (default: utf-8)")


def add_output(sub: argparse.ArgumentParser, help: str) -> None:
    """Add ``--output`` and ``--overwrite``."""
    sub.add_argument("--output", help=help)
    sub.add_argument("--overwrite", action="store_true", help="replace an existing file")


def add_corpus(sub: argparse.ArgumentParser, *, trains: bool) -> list[argparse.Action]:
    """Add the options that name a corpus, or files of a user's own and what is where in them.

    Args:
        sub: The parser.
        trains: Whether a model is trained on it, or one that is trained is scored.

    Returns:
        The options.
    """
    group = sub.add_argument_group("data")
    known = ", ".join(zoo.list_corpora())
    usual = (
        "the format of --train-file, by its name"
        if trains
        else "the bundle's training corpus; for a file, its format, by its name"
    )
    columns = " (default:" if trains else " (default: as in training, else"
    return [
        group.add_argument(
            "--dataset",
            metavar="NAME",
            help=f"one of: {known}; or a file or folder of your own (default: {usual})",
        ),
        group.add_argument("--train-file", metavar="FILE", help="your own files: the training texts"),
        group.add_argument(
            "--dev-file",
            metavar="FILE",
            help="your own files: the dev texts (default: a tenth of the training texts)",
        ),
        group.add_argument("--test-file", metavar="FILE", help="your own files: the test texts"),
        group.add_argument("--text-column", metavar="NAME", help=f"csv, tsv, jsonl: the texts' column{columns} text)"),
        group.add_argument(
            "--label-column", metavar="NAME", help=f"csv, tsv, jsonl: the labels' column{columns} label)"
        ),
        group.add_argument(
            "--token-column",
            type=column,
            metavar="N",
            help=f"columns: the tokens' column, from 0, or its name in CoNLL-U{columns} 0)",
        ),
        group.add_argument(
            "--tag-column",
            type=column,
            metavar="N",
            help=f"columns: the tags' column, or its name in CoNLL-U, such as XPOS{columns} -1, the last)",
        ),
        group.add_argument(
            "--separator",
            metavar="TEXT",
            help=f"columns: what is between them, such as \\t for a tab{columns} spaces and tabs)",
            type=unescaped,
        ),
        group.add_argument("--encoding", metavar="NAME", help="your own files: their encoding (default: utf-8)"),
    ]


def column(text: str) -> int | str:
    """Return the number or the name of a column."""
    return int(text) if text.removeprefix("-").isdecimal() else text


def unescaped(text: str) -> str:
    """Return a separator; a tab is hard to type."""
    return text.replace("\\t", "\t")
