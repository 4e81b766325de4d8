"""The source of a training run's word vectors: a word table by name, a file, or nowhere."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from dense_lstm_zoo.data import word_table
from dense_lstm_zoo.data.word_table import DEFAULT, WordTable
from dense_lstm_zoo.storage import files
from dense_lstm_zoo_runtime import install
from dense_lstm_zoo_runtime.paths import user_path

if TYPE_CHECKING:
    from dense_lstm_zoo.data.vectors import WordVectors

NONE = "none"
COST = (
    f"no word vectors: {install.PRESETS} gives the zoo's own, "
    "which are worth several points of accuracy on a few thousand texts"
)


def table(source: str | Path | None) -> WordTable | None:
    """Return the word table of that name, or None for a file. An existing file wins over a table of its name.

    Raises:
        ValueError: The zoo's own table, which is not installed.
    """
    if source is None or user_path(source).exists():
        return None
    if str(source) in word_table.installed_tables() or str(source) == DEFAULT:
        return word_table.load_vectors(str(source))
    return None


def select_vectors(source: str | Path, *, words: Collection[str], most_frequent: int) -> WordVectors:
    """Read the vectors of ``words`` and of the most frequent ones, from a table or as `read_vectors` does.

    Raises:
        FileNotFoundError: Neither a table nor a file. The message names the installed tables.
        ValueError: As for `read_vectors`, or a damaged table.
    """
    import numpy as np

    from dense_lstm_zoo.data.vectors import VectorReport, WordVectors, read_vectors

    named_table = table(source)
    if named_table is None:
        try:
            return read_vectors(source, words=words, most_frequent=most_frequent)
        except FileNotFoundError as error:
            raise _with_tables(error) from None
    rows = [row for row, word in enumerate(named_table.words) if row < most_frequent or word in words]
    report = VectorReport(lines=len(named_table), words=len(rows), dim=named_table.dim)
    return WordVectors([named_table.words[row] for row in rows], named_table.rows(np.array(rows, np.int64)), report)


def dim(source: str | Path) -> int:
    """Return the length of a table's or a file's vectors.

    Raises:
        FileNotFoundError, ValueError: As ``select_vectors``.
    """
    named_table = table(source)
    if named_table is not None:
        return named_table.dim
    return select_vectors(source, words=(), most_frequent=1).matrix.shape[1]


def name_or_path(source: str | Path | None) -> str | None:
    """Return a table's name or "none" as given, or a file's absolute path.

    Raises:
        FileNotFoundError: Neither a table nor a file. The message names the installed tables.
    """
    if source is None or source == NONE or table(source) is not None:
        return None if source is None else str(source)
    try:
        path = files.existing_file(source)
        return str(path.resolve() if path.is_file() else path.absolute())  # a pipe's name leads nowhere
    except FileNotFoundError as error:
        raise _with_tables(error) from None


def _with_tables(error: FileNotFoundError) -> FileNotFoundError:
    tables = ", ".join(word_table.installed_tables()) or "none"
    return FileNotFoundError(f"{error} Installed word tables: {tables}.")


def default(embedding_dim: int | None) -> str | None:
    """Return the name of the table for a run that names no vectors: the zoo's, or one of the width that is named.

    Args:
        embedding_dim: The width that the user asked for, or None.
    """
    tables = word_table.installed_tables()
    if DEFAULT not in tables:
        return None
    widths = {name: word_table.load_vectors(name).dim for name in dict.fromkeys((DEFAULT, *tables))}
    return next((name for name, width in widths.items() if embedding_dim in (None, width)), None)


def without(embedding_dim: int | None) -> str:
    """Return a line that says why a run that names no vectors has none."""
    tables = word_table.installed_tables()
    if DEFAULT not in tables:
        return COST
    widths = ", ".join(f"{name} has {word_table.load_vectors(name).dim}" for name in tables)
    return (
        f"no word vectors: no installed table has embedding_dim={embedding_dim} numbers per word ({widths}). Leave out "
        "embedding_dim (--embedding-dim) to start from them"
    )
