"""The corpora by name: found in a folder of yours, in the cache, or downloaded from their own homes, then read.

A further corpus is a reader (``name, paths -> Corpus``) and an entry in ``SOURCES``.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.data.download import DownloadError, download

TABLES = ("csv", "tsv", "jsonl")


@dataclass(frozen=True)
class Split:
    """Texts and, for each, the index of its label in ``Corpus.label_names``."""

    texts: list[str]
    labels: list[int]

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.labels):
            raise ValueError(f"A split needs a label for each text; received {len(self.texts)} and {len(self.labels)}.")

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class Corpus:
    """A labelled corpus; ``dev`` and ``test`` are None where it comes without them."""

    name: str
    label_names: tuple[str, ...]
    train: Split
    dev: Split | None
    test: Split | None

    def __str__(self) -> str:
        splits = {"train": self.train, "dev": self.dev, "test": self.test}
        sizes = ", ".join(f"{len(split):,} {name}" for name, split in splits.items() if split is not None)
        labels = ", ".join(self.label_names[:8]) + (", ..." if len(self.label_names) > 8 else "")
        return f"{self.name}: {sizes}; {len(self.label_names)} labels: {labels}"


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


def _read_demo(name: str, paths: list[Path]) -> Corpus:
    from dense_lstm_zoo.data.demo import LABEL_NAMES, demo_splits

    return Corpus(name, tuple(LABEL_NAMES), **{part: Split(*split) for part, split in demo_splits().items()})


_TREC_LINES = (5452, 500)
_TREC_LINE = re.compile(r"((?:ABBR|DESC|ENTY|HUM|LOC|NUM):[a-z]+)\s+(\S.*)")


def _read_trec(name: str, paths: list[Path], *, fine: bool) -> Corpus:
    """Li & Roth (2002): questions by what their answer is, 6 coarse labels ("NUM") or 50 fine ones ("NUM:dist")."""
    train, test = (_trec_examples(path, count, fine) for path, count in zip(paths, _TREC_LINES, strict=True))
    label_names = tuple(sorted({label for _, label in train}))
    expected = 50 if fine else 6
    if len(label_names) != expected:
        raise ValueError(f"{paths[0]}: found {len(label_names)} labels, expected {expected}: {', '.join(label_names)}.")
    for number, (_, label) in enumerate(test, start=1):
        if label not in label_names:
            raise ValueError(f"{paths[1]}, line {number}: the label {label!r} does not occur in {paths[0].name}.")
    splits = [Split([t for t, _ in part], [label_names.index(label) for _, label in part]) for part in (train, test)]
    return Corpus(name, label_names, train=splits[0], dev=None, test=splits[1])


def _trec_examples(path: Path, expected: int, fine: bool) -> list[tuple[str, str]]:
    content = path.read_bytes()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:  # as published, with one byte that is not ASCII; copies are often converted
        text = content.decode("latin-1")
    examples = []
    # Not splitlines(), which also breaks at control characters that Latin-1 bytes can become.
    for number, line in enumerate(text.rstrip().split("\n") if text.strip() else [], start=1):
        match = _TREC_LINE.fullmatch(line.strip())
        if not match:
            shown = line.strip()[:80]
            raise ValueError(f"{path}, line {number}: expected 'COARSE:fine question', as in TREC; found {shown!r}.")
        examples.append((match[2], match[1] if fine else match[1].partition(":")[0]))
    if len(examples) != expected:
        raise ValueError(f"{path}: found {len(examples):,} lines, expected {expected:,}; the file is not TREC's own.")
    return examples


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
    "demo": Source("demo", (), _read_demo),
    "trec": Source("trec", _TREC_FILES, functools.partial(_read_trec, fine=False)),
    "trec_fine": Source("trec", _TREC_FILES, functools.partial(_read_trec, fine=True)),
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


def split_dev(corpus: Corpus, fraction: float = 0.1, seed: int = 0) -> Corpus:
    """Hold out a part of the training examples as ``dev``, each label in its proportion.

    A corpus that has a ``dev`` is returned as it is. Every label keeps at least one training example.

    Args:
        corpus: What to split.
        fraction: The share of the training examples to hold out, between 0 and 1.
        seed: The same seed holds out the same examples.

    Raises:
        ValueError: If the fraction is out of range, or so small or the corpus so poor that nothing could be held out.

    Example:
        >>> from dense_lstm_zoo.data.corpora import Corpus, Split, split_dev
        >>> train = Split([f"text {i}" for i in range(20)], [0, 1] * 10)
        >>> print(split_dev(Corpus("mine", ("a", "b"), train, None, None)))
        mine: 18 train, 2 dev; 2 labels: a, b
    """
    if checks.fraction("fraction", fraction) == 0:
        raise ValueError(f"fraction must be above 0 for there to be a dev set; received {fraction!r}.")
    checks.integer("seed", seed, minimum=0)
    if corpus.dev is not None:
        return corpus
    import numpy as np

    labels = np.asarray(corpus.train.labels)
    members = [np.flatnonzero(labels == label) for label in range(len(corpus.label_names))]
    quotas = np.array([len(indices) * fraction for indices in members])
    sizes = np.floor(quotas).astype(int)
    # Rounding each label by itself would let many rare labels shrink or swell the whole: the largest remainders get
    # what is missing of it.
    missing = round(len(labels) * fraction) - int(sizes.sum())
    spare = [i for i in np.argsort(sizes - quotas, kind="stable") if sizes[i] < len(members[i]) - 1]
    sizes[spare[: max(missing, 0)]] += 1
    if not sizes.sum():
        raise ValueError(
            f"fraction={fraction!r} of {len(labels)} training examples leaves none for dev, "
            f"as each of {len(members)} labels keeps at least one for training."
        )
    generator = np.random.Generator(np.random.PCG64(seed))
    held_out = {int(i) for indices, k in zip(members, sizes, strict=True) for i in generator.permutation(indices)[:k]}
    kept = [i for i in range(len(labels)) if i not in held_out]
    return dataclasses.replace(corpus, train=_select(corpus.train, kept), dev=_select(corpus.train, sorted(held_out)))


def _select(split: Split, indices: list[int]) -> Split:
    return Split([split.texts[i] for i in indices], [split.labels[i] for i in indices])
