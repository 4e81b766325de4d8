"""Tagged sentences from files in CoNLL columns or CoNLL-U.

Columns are counted from 0, or from the end, where -1 is the last. Tokens and tags are taken as written.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dense_lstm_zoo import checks
from dense_lstm_zoo.data.columns import CONLLU_COLUMNS, FORM, UPOS, XPOS, ColumnFile, Row, describe
from dense_lstm_zoo.data.dataset_forms import as_option
from dense_lstm_zoo.tagging.corpus import TaggedSplit


def read_columns(
    path: str | Path,
    *,
    token_column: int = 0,
    tag_column: int = -1,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> TaggedSplit:
    """Read the tokens and tags of a file in columns; ``ColumnFile`` finds its sentences.

    Args:
        path: The file, plain or .gz.
        token_column: The tokens' column, from 0; negative numbers count from the end.
        tag_column: The tags' column. In CoNLL-U, where the first and last columns are neither tokens nor tags, the
            defaults mean FORM (1) and UPOS (3); XPOS is 4.
        separator: The separator of columns; None means spaces and tabs. CoNLL-U always has tabs.
        encoding: How the file is encoded.

    Raises:
        FileNotFoundError: No such file; the message names similar ones beside it.
        ValueError: As for ``ColumnFile``; or too few columns, one column for both, an empty token or tag, or a file
            without sentences. The message names the file and the line.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "train.txt")
        ...     _ = path.write_text("Dogs NNS NOUN\\nbark VBP VERB\\n\\nGo VB VERB\\n")
        ...     read_columns(path, tag_column=1)
        TaggedSplit(tokens=[['Dogs', 'bark'], ['Go']], tags=[['NNS', 'VBP'], ['VB']])
    """
    file = ColumnFile(Path(path), separator, encoding)
    wanted = {"token_column": token_column, "tag_column": tag_column}
    for name, column in wanted.items():
        if not isinstance(column, int) or isinstance(column, bool):
            raise ValueError(f"{name} must be an integer: from 0, or negative from the end; received {column!r}.")
    if file.is_conllu:
        wanted = {"token_column": token_column or FORM, "tag_column": UPOS if tag_column == -1 else tag_column}
    tokens: list[list[str]] = []
    tags: list[list[str]] = []
    for rows in file:
        if not tokens:
            _check_columns(file, rows[0], wanted)
        for (name, column), sentences in zip(wanted.items(), (tokens, tags), strict=True):
            # In CoNLL-U "_" means that there is no value, but it may be a token.
            gap = "_" if file.is_conllu and column % CONLLU_COLUMNS in (UPOS, XPOS) else ""
            for number, row in rows:
                if row[column] in ("", gap):
                    raise ValueError(
                        f"{file.path}, line {number}: {name}={column} is empty, expected a "
                        f"{name.removesuffix('_column')}: {describe(row)}. {as_option(name)} names another column."
                    )
                if name == "tag_column":
                    checks.writable(f"{file.path}, line {number}: the tag", [row[column]])
            sentences.append([sys.intern(row[column]) for _, row in rows])  # tokens and tags recur
    if not tokens:
        raise ValueError(f"{file.path} is empty: it has no sentences; a sentence has one line of columns per token.")
    return TaggedSplit(tokens, tags)


def _check_columns(file: ColumnFile, row: Row, wanted: dict[str, int]) -> None:
    number, cells = row
    if len(cells) < 2:
        raise ValueError(
            f"{file.path}, line {number}: found {describe(cells)}, expected at least 2: a token and its tag."
        )
    for name, column in wanted.items():
        if not -len(cells) <= column < len(cells):
            needed = column + 1 if column >= 0 else -column
            raise ValueError(
                f"{file.path}, line {number}: found {describe(cells)}, expected at least {needed} for {name}={column} "
                f"({as_option(name)})."
            )
    if len({column % len(cells) for column in wanted.values()}) == 1:
        raise ValueError(
            f"{file.path} has {len(cells)} columns, in which {' and '.join(f'{n}={c}' for n, c in wanted.items())} are "
            "the same; tokens and tags must be in different columns (--token-column, --tag-column)."
        )
