"""The files of IMDB from its published archive: their one-off download, and what is made of it.

The archive holds 100,000 reviews in as many files. They are read from it one by one and never unpacked to a path.
"""

from __future__ import annotations

import gzip
import re
import tarfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dense_lstm_zoo.corpora import imdb
from dense_lstm_zoo.data.progress import Progress
from dense_lstm_zoo.data.sources import About, Source, SourceFile
from dense_lstm_zoo.storage.packed_files import new_output

_URL = "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz"
_SHA256 = "c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe"
_SIZE = 84_125_825
_NAMES = ("train.tsv.gz", "test.tsv.gz", "unsup.txt.gz")
_MEMBER = re.compile(r"aclImdb/(train|test)/(neg|pos|unsup)/(\d{1,6})_(\d{1,2})\.txt")
_LARGEST = 1 << 16  # bytes of a review. The longest has some 14,000
_MOST = 150_000  # entries of the archive. It has some 100,020

_Review = tuple[int, str, str, str]  # number, label, rating and text: in this order the reviews are written


def source(reader: Callable[[str, list[Path]], Any], *, good_for: str, not_for: str) -> Source:
    """Return the source of a corpus that reads ``train.tsv.gz``, ``test.tsv.gz`` and ``unsup.txt.gz``."""
    published = tuple(SourceFile(name, _URL, _SHA256, _SIZE) for name in _NAMES)
    paper = "Maas et al. 2011, Learning word vectors for sentiment analysis, ACL"
    about = About("reviews of films for research (Maas et al.); cite the paper", good_for, not_for, paper)
    return Source(imdb.FOLDER, published, reader, about, prepare=write_files)


def write_files(archive: Path, folder: Path, progress: bool = True) -> None:
    """Write the three files that the corpora read, from the published archive.

    Line breaks become spaces. Of the unlabelled reviews those that stand in the test set are left out, and repeats.

    Args:
        archive: ``aclImdb_v1.tar.gz``.
        folder: Where to write the files.
        progress: Whether to report on stderr.

    Raises:
        ValueError: Not that archive: it is damaged, or holds other numbers of reviews, or one that is too long, not
            UTF-8 or not a plain file. Nothing is written then.
    """
    parts = _read_archive(archive, progress)
    test_texts = {text for *_, text in parts["test"]}
    once = dict.fromkeys(text for *_, text in parts["unsup"] if text not in test_texts)
    for name in ("train", "test"):
        rows = ["label\trating\ttext", *("\t".join((label, rating, text)) for _, label, rating, text in parts[name])]
        _write(folder / f"{name}.tsv.gz", rows)
    _write(folder / "unsup.txt.gz", list(once))


def _write(path: Path, lines: list[str]) -> None:
    with new_output(path) as packed:
        for line in lines:
            packed.write(f"{line}\n")


def _read_archive(archive: Path, progress: bool) -> dict[str, list[_Review]]:
    """Return the reviews of each part in order of their numbers. They take some 130 MB."""
    parts: dict[str, list[_Review]] = {"train": [], "test": [], "unsup": []}
    report = Progress(f"reading {archive.name}", progress, "reviews")
    report.start(0, imdb.UNLABELLED[-1] + 4 * imdb.PER_LABEL)
    try:
        for number, (part, review) in enumerate(_reviews(archive), start=1):
            parts[part].append(review)
            report.update(number)
        _check(parts)
    except (ValueError, tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise ValueError(f"{archive} is not the published archive of IMDB: {error}.") from error
    report.finish(sum(map(len, parts.values())))
    return {part: sorted(reviews) for part, reviews in parts.items()}


def _reviews(archive: Path) -> Iterator[tuple[str, _Review]]:
    with tarfile.open(archive, "r|gz") as stream:
        for number, member in enumerate(stream, start=1):
            stream.members = []  # type: ignore[attr-defined] # it would keep every entry that it has read
            if number > _MOST:
                raise ValueError(f"it holds more than {_MOST:,} entries")
            match = _MEMBER.fullmatch(member.name)
            if not match:
                continue
            content = stream.extractfile(member) if member.isfile() else None
            if content is None or member.size > _LARGEST:
                raise ValueError(f"{member.name} is not a plain file of at most {_LARGEST:,} bytes")
            text = " ".join(content.read(_LARGEST).decode().replace("<br />", " ").split())
            part, label, review, rating = match.groups()
            yield ("unsup" if label == "unsup" else part), (int(review), label, rating, text)


def _check(parts: dict[str, list[_Review]]) -> None:
    for part, expected in (("train", imdb.LABELS), ("test", imdb.LABELS), ("unsup", ("unsup",))):
        label_counts = Counter(label for _, label, *_ in parts[part])
        distinct = Counter(label for label, _ in {(label, number) for number, label, *_ in parts[part]})
        published_counts = {label: imdb.UNLABELLED[-1] if label == "unsup" else imdb.PER_LABEL for label in expected}
        if label_counts != published_counts or distinct != published_counts:
            counts = ", ".join(f"{count:,} {label}" for label, count in sorted(label_counts.items())) or "no"
            raise ValueError(f"{part} has {counts} reviews")
