"""The corpora by name: found in a folder of yours, in the cache, or downloaded from their own homes, then read.

A further corpus is a reader (in ``readers.py``) and an entry in ``SOURCES``.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.data import readers
from dense_lstm_zoo.data.corpus import Corpus
from dense_lstm_zoo.data.download import DownloadError, download

TABLES = ("csv", "tsv", "jsonl")


@dataclass(frozen=True)
class SourceFile:
    """A file of a corpus as its home publishes it."""

    filename: str
    url: str
    sha256: str


@dataclass(frozen=True)
class Source:
    """Where a corpus lies (its folder in the data or cache folder, its files) and the function that reads it."""

    folder: str
    files: tuple[SourceFile, ...]
    read: Callable[[str, list[Path]], Corpus]


_TREC_HOME = "https://cogcomp.seas.upenn.edu/Data/QA/QC/"
_TREC_FILES = (
    SourceFile(
        "train_5500.label",
        _TREC_HOME + "train_5500.label",
        "9e4c8bdcaffb96ed61041bd64b564183d52793a8e91d84fc3a8646885f466ec3",
    ),
    SourceFile(
        "TREC_10.label",
        _TREC_HOME + "TREC_10.label",
        "033f22c028c2bbba9ca682f68ffe204dc1aa6e1cf35dd6207f2d4ca67f0d0e8e",
    ),
)

SOURCES = {
    "demo": Source("demo", (), readers.read_demo),
    "trec": Source("trec", _TREC_FILES, functools.partial(readers.read_trec, fine=False)),
    "trec_fine": Source("trec", _TREC_FILES, functools.partial(readers.read_trec, fine=True)),
}


def list_corpora() -> list[str]:
    """Return every name that ``load_corpus`` accepts; "csv", "tsv" and "jsonl" are for files of your own."""
    return [*SOURCES, *TABLES]


def load_corpus(name: str, **options: Any) -> Corpus:
    """Load a corpus by name; what is not on this machine is downloaded first (see ``fetch``).

    Args:
        name: One of ``list_corpora()``.
        options: For "csv", "tsv" and "jsonl" only: the arguments of ``dense_lstm_zoo.data.tables.read_table_corpus``.

    Raises:
        ValueError: If the name or an option is unknown, or a file is not what it should be.
        DownloadError: If a file is neither here nor can be downloaded.

    Example:
        >>> from dense_lstm_zoo.data.corpora import load_corpus
        >>> print(load_corpus("demo"))
        demo: 4,000 train, 500 dev, 1,000 test; 2 labels: negative, positive
    """
    if name in TABLES:
        from dense_lstm_zoo.data.tables import read_table_corpus

        accepted = set(inspect.signature(read_table_corpus).parameters) - {"kind"}
        for option in options:
            if option not in accepted:
                raise checks.unknown_name(f"option of corpus {name!r}:", option, accepted)
        if options.get("train_file") is None:
            raise ValueError(
                f"Corpus {name!r} reads files of your own: name them with train_file=, dev_file=, test_file=."
            )
        return read_table_corpus(name, **options)
    if name not in SOURCES:
        raise checks.unknown_name("corpus", name, list_corpora())
    if options:
        raise ValueError(
            f"Corpus {name!r} takes no options; received {', '.join(options)}. Options are for {', '.join(TABLES)}."
        )
    return SOURCES[name].read(name, fetch(name))


def fetch(name: str, *, progress: bool = True) -> list[Path]:
    """Find or download every file of a corpus, and return where they are.

    Args:
        name: A corpus with files at a home of its own (or "demo", which needs none).
        progress: Whether to report a download on stderr.

    Raises:
        ValueError: If the name is unknown, or what was downloaded has a wrong checksum.
        DownloadError: If a download fails; the message names both places where the file may be put by hand.

    Example:
        >>> from dense_lstm_zoo.data.corpora import fetch
        >>> [path.name for path in fetch("trec")]  # doctest: +SKIP
        ['train_5500.label', 'TREC_10.label']
    """
    if name in TABLES:
        raise ValueError(f"Corpus {name!r} reads files of your own: there is nothing to fetch.")
    if name not in SOURCES:
        raise checks.unknown_name("corpus", name, SOURCES)
    source = SOURCES[name]
    return [find_file(name, file.filename) or _download(source, file, progress) for file in source.files]


def _download(source: Source, file: SourceFile, progress: bool) -> Path:
    path = cache_folder() / source.folder / file.filename
    try:
        return download(file.url, path, file.sha256, progress=progress)
    except DownloadError as error:
        own = Path("$DENSE_LSTM_ZOO_DATA") / source.folder / file.filename
        raise DownloadError(f"{error} or, in a data folder of yours, at {own}") from error


def find_file(corpus: str, filename: str) -> Path | None:
    """Return where a file of a corpus is: in ``$DENSE_LSTM_ZOO_DATA``, else in the cache, else None.

    Args:
        corpus: A corpus, or a folder beside the corpora's, such as ``"vectors"``.
        filename: The file's name in that folder.

    Raises:
        FileNotFoundError: If ``DENSE_LSTM_ZOO_DATA`` is set and names no folder.

    Example:
        >>> from dense_lstm_zoo.data.corpora import find_file
        >>> find_file("trec", "no_such_file.txt") is None
        True
    """
    places = [cache_folder()]
    if own := os.environ.get("DENSE_LSTM_ZOO_DATA"):
        places.insert(0, Path(own).expanduser())
        if not places[0].is_dir():
            raise FileNotFoundError(f"DENSE_LSTM_ZOO_DATA must name a folder that exists; it is set to {own!r}.")
    folder = SOURCES[corpus].folder if corpus in SOURCES else corpus
    candidates = (place / folder / filename for place in places)
    return next((path for path in candidates if path.is_file()), None)


def cache_folder() -> Path:
    """Return where downloads are kept: ``dense_lstm_zoo`` in ``$XDG_CACHE_HOME``, or in ``~/.cache`` without it."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dense_lstm_zoo"
