"""The corpora by name: found in the user's data folder or the cache, or downloaded from their sources, then read.

To add a corpus, write a reader and an entry in ``SOURCES`` in its task's ``corpora.py``.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dense_lstm_zoo import checks, tasks
from dense_lstm_zoo.corpora.dataset import Dataset, as_argument, source_of
from dense_lstm_zoo.corpora.names import list_corpora as list_corpora
from dense_lstm_zoo.data import soft_labels, sources
from dense_lstm_zoo.data.frames import check_frame, column_names, parts_of

if TYPE_CHECKING:
    import pandas as pd

    from dense_lstm_zoo.corpora.corpus import AnyCorpus

# What stands for a corpus: its name, a file, a folder, a table of any library, tables by part, or the corpus itself.
AnyDataset: TypeAlias = "str | os.PathLike[str] | pd.DataFrame | Mapping[str, pd.DataFrame] | AnyCorpus"


def load_corpus(
    name: str | os.PathLike[str] | pd.DataFrame | Mapping[str, pd.DataFrame], task: str | None = None, **options: Any
) -> Any:
    """Load a corpus by name, or your own file or folder. Published files are downloaded first (see ``fetch``).

    Args:
        name: One of ``list_corpora()``, or your own file, whose name shows its format (``"mine.csv"``), or a folder
            that holds ``train.csv`` and, if you have them, ``dev.csv`` and ``test.csv``. Or a table of labelled texts
            in memory (pandas, polars, pyarrow, a Hugging Face ``Dataset``), or a mapping of tables by part, such as a
            ``DatasetDict``, with the columns ``text`` and ``label`` or those of ``text_column`` and ``label_column``.
            See ``Corpus.from_frame`` for more.
        task: The corpus's task, such as ``"language_model"``. Needed to choose between the demo corpora.
        options: For tables in memory ``text_column``, ``label_column``, ``label_separator`` or ``label_columns`` (see
            ``Corpus.from_frame``) and ``skip_empty``, for a tagger's
            ``token_column`` and ``tag_column``, whose cells are lists, and for a language model's ``text_column``. For
            your own files the arguments of ``classification.tables.read_table_corpus`` ("csv", "tsv",
            "jsonl"), ``language.corpora.read_text_files`` ("text") or ``tagging.corpora.read_files`` ("columns",
            "auto", "pos", "mrg").

    Returns:
        A ``Corpus`` of labelled texts, a ``LanguageCorpus`` of running text or a ``TaggingCorpus`` of tagged sentences.

    Raises:
        ValueError: The name or an option is unknown, the corpus is for another task, or a file has unexpected content.
        DownloadError: A file is not on this machine and cannot be downloaded.
        FileNotFoundError: There is no such file, or a licensed corpus is not on this machine. The message
            says where to put it.

    Example:
        >>> from dense_lstm_zoo.corpora.loader import load_corpus
        >>> print(load_corpus("demo"))
        demo: 4,000 train, 500 dev, 1,000 test; 2 labels: negative, positive
    """
    if not isinstance(name, (str, os.PathLike)):
        return _of_tables(name, task, options)
    return Dataset.resolve(name, options, task, spelling=as_argument).load()


def fetch(name: str, *, progress: bool = True) -> list[Path]:
    """Find or download every file of a corpus, and return where they are.

    Args:
        name: A corpus with published files (or "demo", which needs none).
        progress: Whether to report a download on stderr.

    Raises:
        ValueError: The name is unknown, or the downloaded file has the wrong checksum.
        DownloadError: A download fails. The message names both places where the file can be put by hand.

    Example:
        >>> from dense_lstm_zoo.corpora.loader import fetch
        >>> [path.name for path in fetch("trec")]  # doctest: +SKIP
        ['train_5500.label', 'TREC_10.label']
    """
    source = source_of(name)
    if source is None and name in list_corpora():
        raise ValueError(f"Corpus {name!r} reads your own files; there is nothing to fetch.")
    if source is None:
        raise checks.unknown_name("corpus", name, published())
    return sources.find_files(source, progress=progress)


def published() -> list[str]:
    """Return the corpora with published files, and the built-in "demo"."""
    return list(dict.fromkeys(name for task in tasks.every() for name in task.sources))


def is_here(name: str) -> bool:
    """Return whether all files of a published corpus are on this machine."""
    source = source_of(name)
    if source is None or source.locate is None:
        return source is not None and all(sources.find_file(source.folder, file.filename) for file in source.files)
    try:
        return bool(source.locate())
    except (OSError, ValueError):
        return False


def is_licensed(name: str) -> bool:
    """Return whether a corpus cannot be downloaded, because only its licensees may have it."""
    source = source_of(name)
    return source is not None and source.locate is not None


def as_corpus(dataset: AnyDataset, task: str) -> Any:
    """Return the corpus that a name, a file, a folder or tables in memory stand for. A corpus stays itself."""
    is_loaded = not isinstance(dataset, (str, os.PathLike)) and parts_of(dataset) is None
    return dataset if is_loaded else load_corpus(dataset, task)


def _of_tables(dataset: object, task: str | None, options: Mapping[str, Any]) -> Any:
    """Return the corpus of tables, which are never shown in an error: they may be long, and not for everyone's eyes."""
    advice = "Corpus.from_frame(frame, text=..., label=...)"
    parts = parts_of(dataset)
    if parts is None:
        raise TypeError(
            "A dataset must be a corpus's name, a file, a folder or a frame of labelled texts; received "
            f"{type(dataset).__name__}. A frame becomes a corpus with {advice}."
        )
    if "train" not in parts:
        raise ValueError(f"The dataset holds no training texts (it holds {', '.join(parts)}); name a table 'train'.")
    owner = tasks.every()[0] if task is None else tasks.find(task)
    reader = owner.read_tables
    accepted = {name: x.default for name, x in inspect.signature(reader).parameters.items() if x.kind is x.KEYWORD_ONLY}
    for option in options:
        if option not in accepted:
            raise checks.unknown_name(f"option for tables of {owner.name}:", option, accepted)
    settings = {**accepted, **options}
    columns = {option: name for option, name in settings.items() if option.endswith("_column")}
    if settings.get("label_columns") is not None:  # they take its place
        columns.pop("label_column")
    for part, table in parts.items():
        names = column_names(table)
        for option, name in columns.items():
            may_be_soft = part == "train" and option == "label_column" and name == soft_labels.LABEL
            if may_be_soft and soft_labels.label_columns(names, list(columns.values()), "the dataset"):
                continue
            if names and str(name) not in names:
                place = "the frame" if len(parts) == 1 else f"the {part} frame"
                raise ValueError(
                    f"{checks.unknown_name(f'column of {place}:', name, names)} Name the columns with "
                    f"{' and '.join(map(as_argument, columns))}{f', or with {advice}' if owner.labels_texts else ''}."
                )
    return reader({part: check_frame(f"The {part} frame", table) for part, table in parts.items()}, **settings)
