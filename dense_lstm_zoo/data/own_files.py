"""Files of a user's own, by format: up to three as a corpus, or one alone to score a model on."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.data import tables
from dense_lstm_zoo.language import corpus as language
from dense_lstm_zoo.tagging import corpora as tagging_files

# Formats to train on and to be scored on, by task.
OWN_FILES = {"classification": tables.FORMATS, "language_model": ("text",), "tagging": ("columns",)}
# Formats by what a file's name ends in, without .gz.
_ENDINGS = {
    **{form: form for form in tables.FORMATS},
    **{"tab": "tsv", "ndjson": "jsonl", "txt": "text", "text": "text"},
    **dict.fromkeys(("conll", "conllu", "conllx", "conll03", "iob", "iob2", "bio"), "columns"),
}
# What none of the readers reads; taken for lines of text, all of it would be.
_FOREIGN = ("json", "xls", "xlsx", "ods", "parquet", "feather", "arrow", "pickle", "pkl", "xml", "html", "pdf", "docx")


def format_of(
    path: str | Path, accepted: Sequence[str], option: str, asked: str | None = None, *, otherwise: str | None = None
) -> str:
    """Return the format of a file: the one asked for, else what its name says, else a default.

    Args:
        path: The file, whose name alone matters. ".txt" says little: many tables have it.
        accepted: The formats that can be read, or written.
        option: How a user asks for one, such as "--dataset".
        asked: What the user asked for.
        otherwise: The format of a file whose name does not say; not needed where only one is accepted.

    Raises:
        ValueError: A format that is not accepted, or a name that does not say.

    Example:
        >>> format_of("reviews.csv.gz", tables.FORMATS, "--dataset")
        'csv'
    """
    if asked is not None:
        return str(checks.one_of(option, asked, accepted))
    name = Path(path).name.lower().removesuffix(".gz")
    ending = name.rpartition(".")[2] if "." in name else ""
    form = _ENDINGS.get(ending)
    if form is not None and form in accepted:
        return form
    choice = f"Accepted: {', '.join(accepted)}."
    if form not in (None, "text") or ending in _FOREIGN:
        raise ValueError(
            f"{path} is {form or ending} by its name. If it is not, say what it is with {option}. {choice}"
        )
    only = accepted[0] if len(accepted) == 1 else None
    if (default := only or otherwise) not in accepted:
        raise ValueError(f"{path}: say how it is written with {option}. {choice}")
    return str(default)


def read_corpus(form: str, **options: Any) -> Any:
    """Read a corpus from one to three files; see ``load_corpus``.

    Args:
        form: One of the formats in ``OWN_FILES``.
        options: Arguments of the format's reader: ``read_table_corpus``, ``read_text_files``, ``read_column_files``.

    Raises:
        ValueError: An unknown option, no training file, or what the reader finds wrong.
    """
    readers: dict[str, Callable[..., Any]] = {
        "text": language.read_text_files,
        "columns": tagging_files.read_column_files,
    }
    read = readers.get(form, tables.read_table_corpus)
    _check_options(read, form, options)
    if options.get("train_file") is None:
        raise ValueError(f"Corpus {form!r} reads files of your own: name them with train_file=, dev_file=, test_file=.")
    return read(form, **options)


def read_split(form: str, path: str | Path, **options: Any) -> tuple[Any, tuple[str, ...]]:
    """Read one file to score a model on: nothing has to be learned from it, so one label or sentence will do.

    Args:
        form: One of the formats in ``OWN_FILES``.
        path: The file.
        options: Arguments of the format's reader: ``read_table``, ``TextFile``, ``read_columns``.

    Returns:
        What a bundle's ``evaluate`` takes, and for texts with labels the names of these.

    Raises:
        FileNotFoundError: No such file; the message names similar ones beside it.
        ValueError: An unknown option, or what the reader finds wrong.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "praise.csv")
        ...     _ = path.write_text("text,label\\nA fine film .,good\\n")
        ...     read_split("csv", path)
        (Split(texts=['A fine film .'], labels=[0]), ('good',))
    """
    if form in tables.FORMATS:
        _check_options(tables.read_table, form, options)
        return tables.read_table(form, path, **options)
    read: Callable[..., Any] = language.TextFile if form == "text" else tagging_files.read_columns
    _check_options(read, form, options)
    return read(Path(path), **options), ()


def _check_options(read: Callable[..., Any], form: str, options: dict[str, Any]) -> None:
    accepted = set(inspect.signature(read).parameters) - {"kind", "name", "path", "start", "stop"}
    for option in options:
        if option not in accepted:
            raise checks.unknown_name(f"option of corpus {form!r}:", option, accepted)
