"""Tagged sentences from files in CoNLL columns and CoNLL-U: a user's own, and the published corpora.

Columns are counted from 0, or from the end with -1 as the last. Tokens and tags are taken as they are written.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from dense_lstm_zoo import checks
from dense_lstm_zoo.data.columns import CONLLU_COLUMNS, FORM, ColumnFile, Row, describe
from dense_lstm_zoo.tagging.corpus import TaggedSplit, TaggingCorpus

# The columns of CoNLL-U that are a token and its two tags; a "_" there stands for nothing.
UPOS, XPOS = 3, 4


def read_columns(
    path: str | Path,
    *,
    token_column: int = 0,
    tag_column: int = -1,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> TaggedSplit:
    """Read the tokens and the tags of a file in columns, as ``ColumnFile`` tells its sentences.

    Args:
        path: The file, plain or .gz.
        token_column: The tokens' column, from 0, or from the end below 0.
        tag_column: The tags' column. In CoNLL-U, where the first and last columns are neither tokens nor tags, the
            defaults stand for FORM (1) and UPOS (3); XPOS is 4.
        separator: What stands between two columns; None: spaces and tabs. CoNLL-U has tabs whatever is said here.
        encoding: How the file is encoded.

    Raises:
        FileNotFoundError: No such file; the message names similar ones beside it.
        ValueError: As ``ColumnFile``, and too few columns, one column for both, a token or tag that is empty, or a file
            without sentences. The message names file and line.

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
            raise ValueError(f"{name} must be a number, from 0, or from the end below 0; received {column!r}.")
    if file.is_conllu:
        wanted = {"token_column": token_column or FORM, "tag_column": UPOS if tag_column == -1 else tag_column}
    tokens: list[list[str]] = []
    tags: list[list[str]] = []
    for rows in file:
        if not tokens:
            _check_columns(file, rows[0], wanted)
        for (name, column), sentences in zip(wanted.items(), (tokens, tags), strict=True):
            gap = "_" if file.is_conllu and column % CONLLU_COLUMNS in (UPOS, XPOS) else ""
            for number, row in rows:
                if row[column] in ("", gap):
                    raise ValueError(
                        f"{file.path}, line {number}: found nothing in {name}={column}, expected a "
                        f"{name.removesuffix('_column')}: {describe(row)}."
                    )
                if name == "tag_column":
                    checks.writable(f"{file.path}, line {number}: the tag", [row[column]])
            sentences.append([sys.intern(row[column]) for _, row in rows])  # a corpus repeats itself
    if not tokens:
        raise ValueError(f"{file.path} is empty: it has no sentence, which is a line of columns for each token.")
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
                f"{file.path}, line {number}: found {describe(cells)}, expected at least {needed} for {name}={column}."
            )
    if len({column % len(cells) for column in wanted.values()}) == 1:
        raise ValueError(
            f"{file.path} has {len(cells)} columns, in which {' and '.join(f'{n}={c}' for n, c in wanted.items())} are "
            "the same one; tokens and tags must be two."
        )


def read_column_files(
    name: str = "columns",
    *,
    train_file: str | Path,
    dev_file: str | Path | None = None,
    test_file: str | Path | None = None,
    token_column: int = 0,
    tag_column: int = -1,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> TaggingCorpus:
    """Read a corpus from one to three files of your own, in CoNLL columns or CoNLL-U.

    Args:
        name: The corpus' name.
        train_file: The file to train on.
        dev_file: The file to choose the best epoch on. Without it the last tenth of the training sentences is held out:
            in one piece, because neighbouring sentences share names and topics.
        test_file: The file to report the final score on, if there is one.
        token_column: As in ``read_columns``.
        tag_column: As in ``read_columns``.
        separator: As in ``read_columns``.
        encoding: How the files are encoded.

    Raises:
        FileNotFoundError: A file does not exist; the message names similar ones beside it.
        ValueError: As ``read_columns``, or a training file of one sentence and no ``dev_file``.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "train.txt")
        ...     _ = path.write_text("Dogs NOUN\\nbark VERB\\n\\n" * 20)
        ...     print(read_column_files("mine", train_file=path))
        mine: 18 train (36 tokens), 2 dev (4 tokens) sentences; 2 tags: NOUN, VERB
    """
    paths = {"train": train_file, "dev": dev_file, "test": test_file}
    options = {"token_column": token_column, "tag_column": tag_column}
    parts = {
        part: read_columns(path, separator=separator, encoding=encoding, **options)
        for part, path in paths.items()
        if path is not None
    }
    if "dev" not in parts:
        if len(parts["train"]) < 2:
            raise ValueError(f"{train_file} has one sentence, of which none can be held out: name a dev_file.")
        parts["train"], parts["dev"] = _hold_out(parts["train"])
    columns = {**options, **({} if separator is None else {"separator": separator})}
    return TaggingCorpus(name, parts["train"], parts["dev"], parts.get("test"), columns=columns)


def _hold_out(train: TaggedSplit) -> tuple[TaggedSplit, TaggedSplit]:
    kept = len(train) - max(len(train) // 10, 1)
    return (
        TaggedSplit(train.tokens[:kept], train.tags[:kept]),
        TaggedSplit(train.tokens[kept:], train.tags[kept:]),
    )


_CONLL2000_SIZES = ((8_936, 211_727), (2_012, 47_377))
_UD_EWT_SIZES = ((12_544, 204_577), (2_001, 25_147), (2_077, 25_094))


def read_conll2000(name: str, paths: list[Path]) -> TaggingCorpus:
    """Read the chunks of CoNLL-2000 (Tjong Kim Sang & Buchholz 2000) as tags: "B-NP", "I-NP", "O" and so on.

    The last tenth of the training sentences is ``dev``. The part of speech between token and chunk is a tagger's output
    and is left out.

    Args:
        name: The corpus' name.
        paths: ``train.txt`` and ``test.txt``.

    Raises:
        ValueError: A file that has not the published numbers of sentences and tokens.
    """
    train, test = _published(paths, _CONLL2000_SIZES)
    return TaggingCorpus(name, *_hold_out(train), test)


def read_ud_ewt(name: str, paths: list[Path], *, column: str) -> TaggingCorpus:
    """Read the parts of speech of the English Web Treebank (Universal Dependencies, release 2.15).

    Args:
        name: The corpus' name.
        paths: The train, dev and test file in CoNLL-U.
        column: "upos" for the universal tags (NOUN), "xpos" for the Penn Treebank's (NNS).

    Raises:
        ValueError: A file that has not the published numbers of sentences and words.
    """
    tag_column = {"upos": UPOS, "xpos": XPOS}[checks.one_of("column", column, ("upos", "xpos"))]
    return TaggingCorpus(name, *_published(paths, _UD_EWT_SIZES, tag_column))


def _published(paths: list[Path], sizes: Iterable[tuple[int, int]], tag_column: int = -1) -> list[TaggedSplit]:
    splits = []
    for path, (sentences, tokens) in zip(paths, sizes, strict=True):
        split = read_columns(path, tag_column=tag_column)
        if (len(split), split.num_tokens) != (sentences, tokens):
            raise ValueError(
                f"{path}: found {len(split):,} sentences of {split.num_tokens:,} tokens, expected {sentences:,} of "
                f"{tokens:,}; it is not the published file."
            )
        splits.append(split)
    return splits
