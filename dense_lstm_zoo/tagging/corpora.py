"""Tagged sentences from files in CoNLL columns or CoNLL-U: a user's own files and the published corpora.

Columns are counted from 0, or from the end, where -1 is the last. Tokens and tags are taken as written.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable
from pathlib import Path

from dense_lstm_zoo import checks
from dense_lstm_zoo.data.columns import CONLLU_COLUMNS, FORM, ColumnFile, Row, describe
from dense_lstm_zoo.data.sources import NLTK, Source, SourceFile, members
from dense_lstm_zoo.tagging.corpus import TaggedSplit, TaggingCorpus

# CoNLL-U's columns for the two kinds of tags; there, "_" means that there is no value.
UPOS, XPOS = 3, 4


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
            gap = "_" if file.is_conllu and column % CONLLU_COLUMNS in (UPOS, XPOS) else ""
            for number, row in rows:
                if row[column] in ("", gap):
                    raise ValueError(
                        f"{file.path}, line {number}: {name}={column} is empty, expected a "
                        f"{name.removesuffix('_column')}: {describe(row)}."
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
                f"{file.path}, line {number}: found {describe(cells)}, expected at least {needed} for {name}={column}."
            )
    if len({column % len(cells) for column in wanted.values()}) == 1:
        raise ValueError(
            f"{file.path} has {len(cells)} columns, in which {' and '.join(f'{n}={c}' for n, c in wanted.items())} are "
            "the same; tokens and tags must be in different columns."
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
        name: The corpus's name.
        train_file: The file to train on.
        dev_file: The file to choose the best epoch on. Without it the last tenth of the training sentences is held out,
            in one piece, because neighbouring sentences share names and topics.
        test_file: The file to report the final score on, if there is one.
        token_column: As in ``read_columns``.
        tag_column: As in ``read_columns``.
        separator: As in ``read_columns``.
        encoding: How the files are encoded.

    Raises:
        FileNotFoundError: A file does not exist; the message names similar ones beside it.
        ValueError: As for ``read_columns``; or a training file with one sentence and no ``dev_file``.

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
            raise ValueError(f"{train_file} has only one sentence, so none can be held out; give a dev_file.")
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

    The last tenth of the training sentences is ``dev``. The column of parts of speech, itself a tagger's output, is not
    read.

    Args:
        name: The corpus's name.
        paths: ``train.txt`` and ``test.txt``.

    Raises:
        ValueError: A file does not have the published numbers of sentences and tokens.
    """
    train, test = _published(paths, _CONLL2000_SIZES)
    return TaggingCorpus(name, *_hold_out(train), test)


def read_ud_ewt(name: str, paths: list[Path], *, column: str) -> TaggingCorpus:
    """Read the parts of speech of the English Web Treebank (Universal Dependencies, release 2.15).

    Args:
        name: The corpus's name.
        paths: The train, dev and test files in CoNLL-U.
        column: "upos" for the universal tags (NOUN), "xpos" for the Penn Treebank's (NNS).

    Raises:
        ValueError: A file does not have the published numbers of sentences and words.
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


def read_demo(name: str, paths: list[Path]) -> TaggingCorpus:
    """Return the generated demo corpus for taggers; it has no files."""
    from dense_lstm_zoo.tagging.demo import demo_tagging_splits

    return TaggingCorpus(name, **demo_tagging_splits())


_EWT_HOME = "https://raw.githubusercontent.com/UniversalDependencies/UD_English-EWT/r2.15/"
_EWT_FILES = (
    SourceFile(
        "en_ewt-ud-train.conllu",
        _EWT_HOME + "en_ewt-ud-train.conllu",
        "3fb78e2b55482c8ee00caa653af436c88c9e5bc9a73ce26e4ae3ddc79d2b7e7b",
        14_203_025,
    ),
    SourceFile(
        "en_ewt-ud-dev.conllu",
        _EWT_HOME + "en_ewt-ud-dev.conllu",
        "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6",
        1_805_545,
    ),
    SourceFile(
        "en_ewt-ud-test.conllu",
        _EWT_HOME + "en_ewt-ud-test.conllu",
        "e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd",
        1_804_515,
    ),
)
_CONLL_FILES = members(
    NLTK + "conll2000.zip",
    "conll2000",
    train=("train.txt", "82033cd7a72b209923a98007793e8f9de3abc1c8b79d646c50648eb949b87cea", 2_842_164),
    test=("test.txt", "73b7b1e565fa75a1e22fe52ecdf41b6624d6f59dacb591d44252bf4d692b1628", 639_396),
)


def _ewt(column: str) -> Source:
    return Source("ud_english_ewt", _EWT_FILES, functools.partial(read_ud_ewt, column=column))


SOURCES = {
    "demo": Source("demo", (), read_demo),
    "ewt_upos": _ewt("upos"),
    "ewt_xpos": _ewt("xpos"),
    "conll2000": Source("conll2000", _CONLL_FILES, read_conll2000),
}
read_files = read_column_files


def read_file(
    form: str,
    path: str | Path,
    *,
    token_column: int = 0,
    tag_column: int = -1,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> tuple[TaggedSplit, tuple[str, ...]]:
    """Return the sentences of one file to score a model on; see ``read_columns``."""
    columns = {"token_column": token_column, "tag_column": tag_column}
    return read_columns(path, **columns, separator=separator, encoding=encoding), ()
