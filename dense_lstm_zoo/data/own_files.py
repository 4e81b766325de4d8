"""Files of a user's own, by format: up to three as a corpus, or one alone to score a model on."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.data import language, tables, tagging_files

# Formats by task.
OWN_FILES = {"classification": tables.FORMATS, "language_model": ("text",), "tagging": ("columns",)}


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
