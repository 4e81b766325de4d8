"""Corpora of tagged sentences: a user's own files and the published ones."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.corpora.dataset import as_option
from dense_lstm_zoo.data.columns import UPOS, XPOS
from dense_lstm_zoo.data.endings import form_beside
from dense_lstm_zoo.data.frames import column
from dense_lstm_zoo.data.sources import NLTK, PENN_TREEBANK, About, Source, SourceFile, demo, members
from dense_lstm_zoo.tagging import licensed
from dense_lstm_zoo.tagging.column_files import read_columns as read_columns  # of the names that users import
from dense_lstm_zoo.tagging.corpus import TaggedSplit, TaggingCorpus
from dense_lstm_zoo.tagging.licensed import Licensed

if TYPE_CHECKING:
    import pandas as pd

FORMATS = ("columns", *licensed.READERS)


def read_column_files(
    name: str = "columns",
    *,
    train_file: str | Path,
    dev_file: str | Path | None = None,
    test_file: str | Path | None = None,
    token_column: int | str = 0,
    tag_column: int | str = -1,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> TaggingCorpus:
    """Read a corpus from one to three files of your own, in CoNLL columns or CoNLL-U.

    Args:
        name: The corpus's name.
        train_file: The file to train on.
        dev_file: The file to choose the best epoch on. Without it the last tenth of the training sentences is held out,
            in one piece, because neighbouring sentences share names and topics. With soft labels, ``train`` holds out a
            tenth of the sentences that have tags of their own.
        test_file: The file to report the final score on, if there is one.
        token_column: As in ``read_columns``.
        tag_column: As in ``read_columns``.
        separator: As in ``read_columns``.
        encoding: How the files are encoded.

    Raises:
        FileNotFoundError: A file does not exist. The message names similar ones beside it.
        ValueError: As for ``read_columns``, or a training file with one sentence and no ``dev_file``.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "train.txt")
        ...     _ = path.write_text("Dogs NOUN\\nbark VERB\\n\\n" * 20)
        ...     print(read_column_files("mine", train_file=path))
        mine: 18 train (36 tokens), 2 dev (4 tokens) sentences; 2 tags: NOUN, VERB
    """
    paths = {"train": train_file, "dev": dev_file, "test": test_file}
    options: dict[str, Any] = {"token_column": token_column, "tag_column": tag_column}
    parts = {
        part: read_columns(path, separator=separator, encoding=encoding, **options)
        for part, path in paths.items()
        if path is not None
    }
    columns = {**options, **({} if separator is None else {"separator": separator})}
    return _corpus(name, parts, train_file, columns)


def _corpus(name: str, parts: dict[str, TaggedSplit], train_file: str | Path, columns: dict[str, Any]) -> TaggingCorpus:
    """Return a corpus of the parts that were given, with the end of train as dev if there is none."""
    train, dev = parts["train"], parts.get("dev")
    is_end_of_train = dev is None and not train.is_soft  # of soft labels, the training holds out true ones
    if is_end_of_train:
        if len(train) < 2:
            raise ValueError(
                f"{train_file} has only one sentence, so none can be held out; give a dev_file (--dev-file). Blank "
                "lines separate sentences."
            )
        train, dev = _hold_out(train)
    test = parts.get("test")
    return TaggingCorpus(name, train, dev, test, columns=columns, dev_is_end_of_train=is_end_of_train)


def _hold_out(train: TaggedSplit) -> tuple[TaggedSplit, TaggedSplit]:
    return train.held_out(max(train.num_own // 10, 1))


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


def _published(paths: list[Path], sizes: Iterable[tuple[int, int]], tag_column: int | str = -1) -> list[TaggedSplit]:
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
    """Return the generated demo corpus for taggers. It has no files."""
    from dense_lstm_zoo.tagging.demo import demo_tagging_splits

    splits = demo_tagging_splits()
    return TaggingCorpus(name, splits["train"], splits["dev"], splits["test"])


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


_ABOUT_CONLL2000 = About(
    "CoNLL-2000, text of the Penn Treebank",
    "phrases of English news",
    "web text and speech",
    "Tjong Kim Sang and Buchholz 2000, Introduction to the CoNLL-2000 shared task: chunking, CoNLL",
)


def _ewt(column: str, good_for: str, not_for: str) -> Source:
    terms = "CC BY-SA 4.0 (Universal Dependencies, English Web Treebank)"
    paper = "Silveira et al. 2014, A gold standard dependency corpus for English, LREC"
    reader = functools.partial(read_ud_ewt, column=column)
    return Source("ud_english_ewt", _EWT_FILES, reader, About(terms, good_for, not_for, paper))


def _own_copy(corpus: Licensed, terms: str, good_for: str, paper: str) -> Source:
    about = About(f"{terms}, for licensees of the LDC ({corpus.catalogue})", good_for, _NEWS, paper)
    return Source(corpus.name, (), corpus.read, about, locate=corpus.find)


_CATEGORIES = "lexical categories of Combinatory Categorial Grammar in English news"
_NEWS = "text unlike newspapers of 1989"
_CCGBANK_PAPER = (
    "Hockenmaier and Steedman 2007, CCGbank: a corpus of CCG derivations and dependency structures extracted from the "
    "Penn Treebank, CL 33(3)"
)

SOURCES = {
    "demo": demo(read_demo),
    "ewt_upos": _ewt("upos", "parts of speech of English web text", "other languages, old texts"),
    "ewt_xpos": _ewt("xpos", "Penn Treebank tags of English web text", "other languages, old texts"),
    "conll2000": Source("conll2000", _CONLL_FILES, read_conll2000, _ABOUT_CONLL2000),
    "ccgbank": _own_copy(licensed.CCGBANK, "CCGbank", _CATEGORIES, _CCGBANK_PAPER),
    "wsj": _own_copy(licensed.WSJ, "Penn Treebank", "Penn Treebank tags of English news", PENN_TREEBANK),
}


def read_files(
    form: str = "columns",
    *,
    train_file: str | Path,
    dev_file: str | Path | None = None,
    test_file: str | Path | None = None,
    token_column: int | str = 0,
    tag_column: int | str = -1,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> TaggingCorpus:
    """Read a corpus from one to three files of your own.

    Args:
        form: "columns", or a treebank's: "auto" (CCGbank), "pos" or "mrg" (Penn Treebank).
        train_file: As in ``read_column_files``, for every format.
        dev_file: Likewise. It has the format that its name says, else ``form``, as it has if the name of ``train_file``
            says another format than ``form``.
        test_file: Likewise.
        token_column: Only for "columns", as in ``read_columns``.
        tag_column: Likewise.
        separator: Likewise.
        encoding: How the files are encoded.

    Raises:
        FileNotFoundError: A file does not exist. The message names similar ones beside it.
        ValueError: As for the format's reader, or columns of a format that has none.
    """
    columns: dict[str, Any] = {"token_column": token_column, "tag_column": tag_column, "separator": separator}
    paths = {"train": train_file, "dev": dev_file, "test": test_file}
    paths_of_parts = {part: path for part, path in paths.items() if path is not None}
    forms = {part: form_beside(path, form, train_file, FORMATS) for part, path in paths_of_parts.items()}
    has_columns = "columns" in forms.values()
    parts = {}
    for part, path in paths_of_parts.items():
        own = columns if forms[part] == "columns" or not has_columns else {}
        parts[part] = read_file(forms[part], path, **own, encoding=encoding)[0]
    columns_set = {name: value for name, value in columns.items() if value is not None}
    return _corpus(form, parts, train_file, columns_set if has_columns else {})


def read_file(
    form: str,
    path: str | Path,
    *,
    token_column: int | str = 0,
    tag_column: int | str = -1,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> tuple[TaggedSplit, tuple[str, ...]]:
    """Return the sentences of one file to score a model on. See ``read_files``."""
    columns: dict[str, Any] = {"token_column": token_column, "tag_column": tag_column, "separator": separator}
    reader = licensed.READERS.get(form)
    if reader is None:
        return read_columns(path, **columns, encoding=encoding), ()
    usual = {"token_column": 0, "tag_column": -1, "separator": None}
    for name, value in columns.items():
        if value != usual[name]:
            raise ValueError(
                f"{name} is for columns; {path} is read as {form}, which has none. Received {value!r} "
                f"({as_option(name)})."
            )
    return reader(path, encoding=encoding), ()


def read_tables(
    frames: Mapping[str, pd.DataFrame], *, token_column: Hashable = "tokens", tag_column: Hashable = "tags"
) -> TaggingCorpus:
    """Return the corpus of pandas' frames by part, with a list of tokens and a list of their tags per row.

    Without ``dev``, the last tenth of the training rows is held out. Rows without tokens are left out.

    Raises:
        ValueError: A cell that is not a list of strings, or lists of different lengths, with the row.
    """
    parts = {part: _of_frame(part, frame, token_column, tag_column) for part, frame in frames.items()}
    return _corpus("frame", parts, "The train frame", {})


def _of_frame(part: str, frame: pd.DataFrame, token_column: Hashable, tag_column: Hashable) -> TaggedSplit:
    lists: dict[str, list[list[str]]] = {"tokens": [], "tags": []}
    columns = [column(f"the {part} frame", frame, name).tolist() for name in (token_column, tag_column)]
    for row, cells in enumerate(zip(*columns, strict=True)):
        location = f"The {part} frame, row {row}, counted from 0"
        tokens, tags = (_strings(location, name, x) for name, x in zip((token_column, tag_column), cells, strict=True))
        if len(tokens) != len(tags):
            raise ValueError(f"{location}: {len(tokens)} tokens and {len(tags)} tags; each token needs one.")
        if tokens:
            lists["tokens"].append(tokens)
            lists["tags"].append(tags)
    if not lists["tokens"]:
        raise ValueError(f"The {part} frame holds no tokens.")
    return TaggedSplit(lists["tokens"], lists["tags"])


def _strings(location: str, name: Hashable, cell: Any) -> list[str]:
    """Return a cell that is a list of strings, or an array of them. Integers become strings, as tags may be numbers."""
    items = cell.tolist() if hasattr(cell, "tolist") else cell
    if isinstance(items, str) or not isinstance(items, Sequence):
        raise ValueError(f"{location}: {name!r} must hold lists of strings; found {cell!r:.80}.")
    for item in items:
        if isinstance(item, bool) or not isinstance(item, str | int):
            raise ValueError(f"{location}: {name!r} must hold lists of strings; found {item!r:.80} in one.")
    return [str(item) for item in items]
