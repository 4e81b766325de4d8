"""Tagged sentences from files in CoNLL columns or CoNLL-U.

Columns are counted from 0, or from the end, where -1 is the last. Tokens and tags are taken as written.
"""

from __future__ import annotations

import sys
import warnings
from array import array
from dataclasses import replace
from pathlib import Path

from dense_lstm_zoo import checks
from dense_lstm_zoo.corpora.dataset import as_option
from dense_lstm_zoo.data import soft_sentences
from dense_lstm_zoo.data.columns import ColumnFile, Row, describe, form_column
from dense_lstm_zoo.data.soft_sentences import SoftSentences
from dense_lstm_zoo.tagging.corpus import TaggedSplit


def read_columns(
    path: str | Path,
    *,
    token_column: int | str = 0,
    tag_column: int | str = -1,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> TaggedSplit:
    """Read the tokens and tags of a file in columns. ``ColumnFile`` finds its sentences.

    A file ``NAME.probabilities.jsonl`` beside it holds soft labels, a line for each sentence. Sentences with ``_`` in
    place of each tag have these alone.

    Args:
        path: The file, plain or .gz.
        token_column: The tokens' column, from 0. Negative numbers count from the end.
        tag_column: The tags' column. In CoNLL-U, where the first and last columns are neither tokens nor tags, the
            defaults mean FORM (1) and UPOS (3). XPOS is 4. Columns of CoNLL-U, and those that ``# global.columns``
            names in CoNLL-U Plus, may also be given by name, such as "XPOS".
        separator: The separator of columns. None means spaces and tabs. CoNLL-U always has tabs.
        encoding: How the file is encoded.

    Raises:
        FileNotFoundError: No such file. The message names similar ones beside it.
        ValueError: As for ``ColumnFile``, or too few columns, one column for both, an empty token or tag, a file
            without sentences, or CoNLL-U whose tabs became spaces. The message names the file and the line.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "train.txt")
        ...     _ = path.write_text("Dogs NNS NOUN\\nbark VBP VERB\\n\\nGo VB VERB\\n")
        ...     split = read_columns(path, tag_column=1)
        >>> split.tokens, split.tags
        ([['Dogs', 'bark'], ['Go']], [['NNS', 'VBP'], ['VB']])
    """
    file = ColumnFile(Path(path), separator, encoding)
    options = {"token_column": token_column, "tag_column": tag_column}
    columns = {name: file.layout.column(name, column, file.path) for name, column in options.items()}
    file.layout.check_tokens(columns["token_column"], file.path)
    if file.is_conllu:
        if columns["token_column"] == 0:
            columns["token_column"] = form_column(file.layout)
        if columns["tag_column"] == -1 and "UPOS" in file.layout.names:
            columns["tag_column"] = file.layout.names.index("UPOS")
    file = replace(file, is_even=min(columns.values()) < 0)
    tags_of_conllu = {i for i, name in enumerate(file.layout.names) if name in ("UPOS", "XPOS")}
    is_soft = soft_sentences.file_beside(file.path).is_file()
    tokens: list[list[str]] = []
    tags: list[list[str]] = []
    lines: list[array[int]] = []
    for rows in file:
        lines.append(array("L", [number for number, _ in rows]))
        if not tokens:
            _check_first(file, rows[0], columns)
        _check_columns(file, rows[0], columns)
        for (name, column), sentences in zip(columns.items(), (tokens, tags), strict=True):
            # In CoNLL-U "_" means that there is no value, but it may be a token.
            gap = "_" if column % len(rows[0][1]) in tags_of_conllu else ""
            if name == "tag_column" and is_soft and all(row[column] == soft_sentences.NO_TAG for _, row in rows):
                gap = ""
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
    _check_words(file.path, tokens)
    soft = soft_sentences.read_beside(file.path, tokens)
    return (
        TaggedSplit(tokens, tags, lines) if soft is None else _with_probabilities(file.path, tokens, tags, lines, soft)
    )


def _with_probabilities(
    path: Path, tokens: list[list[str]], tags: list[list[str]], lines: list[array[int]], soft: SoftSentences
) -> TaggedSplit:
    """Return sentences with the probabilities that stand beside their file."""
    own = [None if {*each} == {soft_sentences.NO_TAG} else each for each in tags]
    for each, matrix, numbers in zip(own, soft.matrices, lines, strict=True):
        if each is None and matrix is None:
            raise ValueError(
                f"{path}, line {numbers[0]}: the sentence has neither tags nor, in "
                f"{soft_sentences.file_beside(path).name}, probabilities."
            )
        for tag, number in zip(each or (), numbers, strict=False):
            if tag not in soft.names:
                location = f"tag for the probabilities of {path}, line {number}:"
                raise checks.unknown_name(location, tag, soft.names)
    return TaggedSplit(tokens, own, lines, probabilities=soft.matrices, tag_names=soft.names, teachers=soft.teachers)


_NAMES = {
    "word",
    "words",
    "token",
    "tokens",
    "form",
    "tag",
    "tags",
    "pos",
    "upos",
    "ner",
    "ner_tag",
    "ner_tags",
    "label",
}


def _check_words(path: Path, sentences: list[list[str]]) -> None:
    """Refuse a treebank whose words are withheld, ``_`` in place of each, and warn if those of many sentences are."""
    withheld = sum(not token.strip("_") for tokens in sentences for token in tokens)
    total = sum(map(len, sentences))
    advice = "The treebank's words are withheld for legal reasons: its README says how to add them."
    if withheld > 1 and 2 * withheld > total:
        raise ValueError(f'{path}: {withheld:,} of {total:,} tokens are "_". {advice}')
    without = sum(len(tokens) > 2 and not any(token.strip("_") for token in tokens) for tokens in sentences)
    if without:
        warnings.warn(
            f'{path}: all tokens of {without:,} of {len(sentences):,} sentences are "_". {advice}', stacklevel=3
        )


def _check_columns(file: ColumnFile, row: Row, columns: dict[str, int]) -> None:
    """Refuse a sentence, given by its first row, that lacks one of the columns."""
    number, cells = row
    for name, column in columns.items():
        if not -len(cells) <= column < len(cells):
            num_columns = column + 1 if column >= 0 else -column
            raise ValueError(
                f"{file.path}, line {number}: found {describe(cells)}, expected at least {num_columns} for "
                f"{name}={column} ({as_option(name)})."
            )


def _check_first(file: ColumnFile, row: Row, columns: dict[str, int]) -> None:
    """Refuse a file whose first row has no tag, or one column for both, and warn of columns' names."""
    number, cells = row
    if len(cells) < 2:
        mark = next((mark for mark in ",;|" if mark in cells[0][1:]), None) if file.separator is None else None
        way_out = f' If "{mark}" separates them, use separator="{mark}" (--separator "{mark}").' if mark else ""
        raise ValueError(
            f"{file.path}, line {number}: found {describe(cells)}, expected at least 2: a token and its tag.{way_out}"
        )
    _check_columns(file, row, columns)
    if len({column % len(cells) for column in columns.values()}) == 1:
        raise ValueError(
            f"{file.path} has {len(cells)} columns, in which {' and '.join(f'{n}={c}' for n, c in columns.items())} "
            "are the same; tokens and tags must be in different columns (--token-column, --tag-column)."
        )
    if all(cells[column].lower() in _NAMES for column in columns.values()):
        warnings.warn(
            f"{file.path}, line {number} looks like column names: {describe(cells)}. Remove it, or it is a token.",
            stacklevel=4,
        )
