"""Arguments that several commands take."""

from __future__ import annotations

from collections.abc import Sequence

import dense_lstm_zoo as zoo
from dense_lstm_zoo import checks
from dense_lstm_zoo.cli.command import Argument, Group, argument
from dense_lstm_zoo.data import records
from dense_lstm_zoo.tasks import Task
from dense_lstm_zoo.tasks.options import json_or_text
from dense_lstm_zoo.training.run_file import DATA

FILE_OPTIONS = tuple(name for name in DATA if name != "dataset")  # of ``corpus``: what a user's own files are like

BUNDLE = argument(
    "bundle", help="the folder that train wrote, a preset's name, hf://owner/name or https://...#sha256=..."
)
OVERWRITE = argument("--overwrite", action="store_true", help="replace an existing file")
OVERWRITE_FOLDER = argument("--overwrite", action="store_true", help="replace an existing folder")
FORMAT = argument(
    "--format", dest="form", choices=("text", "json"), default="text", help="how it is printed (default: text)"
)
DELIMITER = argument(
    "--delimiter",
    metavar="CHARACTER",
    help="csv, tsv: what separates the columns, such as ';' or \\t for a tab (default: detected from the file)",
)
PREFIX = "prefix of new columns' names (default: predicted_ if the input has such columns already)"
RAW = argument(
    "--raw",
    action="store_true",
    help="csv: do not put an apostrophe before formulas; text: do not escape control characters",
)


THRESHOLD = argument(
    "--threshold",
    type=json_or_text,  # a number, or an object of numbers by label
    metavar="X",
    help="classifiers of two labels, or of several per text: the probability from which a label is given, 0.3 (of two "
    """labels the second), or by label such as '{"spam": 0.9}' (default: as in training)""",
)


def check_threshold(value: object, task: Task) -> None:
    """Raise ``ValueError`` for a threshold that no model of the task takes, before one is loaded."""
    if value is None:
        return
    if not task.labels_texts:
        raise ValueError(f"--threshold is for models that label texts, not for {task.name}.")
    for number in value.values() if isinstance(value, dict) else [value]:
        checks.threshold("--threshold", number)


def texts(
    readable: Sequence[str],
    writable: Sequence[str],
    otherwise: str = "else like the input",
    to: str = "write here instead of to standard output",
) -> tuple[Argument, ...]:
    """Return the arguments of a command that reads texts and writes what a model makes of them."""
    columns = "; columns: for taggers, one token per line, as in CoNLL or CoNLL-U" if "columns" in writable else ""
    columns += (
        "; spacy, brat: for taggers of spans, JSON lines of spaCy or brat's standoff" if "brat" in writable else ""
    )
    return (
        BUNDLE,
        argument("texts", nargs="*", default=[], help="texts (default: --file, else standard input)"),
        argument(
            "--file",
            type=file_name,
            help="a file of texts: one per line, or a table, depending on its name; - is standard input",
        ),
        *text_format("--file or standard input", readable, column="as in training, else text"),
        *output(to),
        argument(
            "--format",
            dest="form",
            choices=writable,
            help=f"output format (default: by the name of --output, {otherwise}){columns}",
        ),
        argument("--prefix", help=f"csv, jsonl, json: {PREFIX}"),
        RAW,
    )


def text_format(texts: str, forms: Sequence[str] = records.FORMATS, column: str = "text") -> tuple[Argument, ...]:
    """Return the arguments that say how a file of texts is read.

    Args:
        texts: What the help calls the file.
        forms: The formats accepted.
        column: The default of the texts' column, in words.
    """
    return (
        argument(
            "--input-format",
            dest="input_form",
            choices=forms,
            help=f"format of {texts} (default: by the file's name, else text: one text per line)",
        ),
        argument("--text-column", help=f"csv, tsv, jsonl, parquet, xlsx: the texts' column (default: {column})"),
        argument("--encoding", help=f"encoding of {texts} (default: utf-8)"),
        DELIMITER,
    )


def output(help: str) -> tuple[Argument, Argument]:
    """Return ``--output`` and ``--overwrite``."""
    return argument("-o", "--output", help=help), OVERWRITE


def corpus(*, trains: bool) -> Group:
    """Return the options that name a corpus, or a user's own files and the columns in them.

    Args:
        trains: Whether a model is trained on it. Else a trained model is scored on it.
    """
    default = (
        "the format of --train-file, by its name"
        if trains
        else "the bundle's training corpus; for a file, its format, by its name"
    )
    otherwise = " (default:" if trains else " (default: as in training, else"
    options = (
        argument(
            "--dataset",
            metavar="NAME",
            help=f"one of: {', '.join(zoo.list_corpora())}; or a file or folder of your own (default: {default})",
        ),
        argument(
            "--train-file",
            metavar="FILE",
            help="your own files: the training texts; with a published corpus, in place of its own, as after label",
        ),
        argument(
            "--dev-file",
            metavar="FILE",
            help="your own files: the dev texts (default: a tenth of the training texts)",
        ),
        argument("--test-file", metavar="FILE", help="your own files: the test texts"),
        argument(
            "--text-column", metavar="NAME", help=f"tables (csv, tsv, jsonl, ...): the texts' column{otherwise} text)"
        ),
        argument("--label-column", metavar="NAME", help=f"tables: the labels' column{otherwise} label)"),
        argument(
            "--label-separator",
            metavar="TEXT",
            help="tables: what is between the labels of a text that may have several, such as '|'"
            f"{'' if trains else ' (default: as in training)'}",
        ),
        argument(
            "--label-columns",
            metavar="NAME",
            nargs="+",
            action="extend",
            help="tables: the columns that are labels themselves, with 1 where a text has the label, else 0"
            f"{'' if trains else ' (default: as in training)'}",
        ),
        DELIMITER,
        argument(
            "--skip-empty",
            action="store_const",
            const=True,
            help="tables: leave out rows without a text or a label, and say how many (default: they are an error)",
        ),
        argument(
            "--token-column",
            type=column,
            metavar="N",
            help=f"columns: the tokens' column, from 0, or its name in CoNLL-U{otherwise} 0)",
        ),
        argument(
            "--tag-column",
            type=column,
            metavar="N",
            help=f"columns: the tags' column, or its name in CoNLL-U, such as XPOS{otherwise} -1, the last)",
        ),
        argument(
            "--separator",
            metavar="TEXT",
            help=f"columns: what is between them, such as \\t for a tab{otherwise} spaces and tabs)",
            type=unescaped,
        ),
        argument("--encoding", metavar="NAME", help="your own files: their encoding (default: utf-8)"),
    )
    return Group("data", options)


def column(text: str) -> int | str:
    """Return the number or the name of a column."""
    return int(text) if text.removeprefix("-").isdecimal() else text


def file_name(text: str) -> str | None:
    """Return the name of a file, or None for ``-``, which stands for standard input."""
    return None if text == "-" else text


def unescaped(text: str) -> str:
    """Return a separator, with a tab for the two characters that stand for it."""
    return text.replace("\\t", "\t")
