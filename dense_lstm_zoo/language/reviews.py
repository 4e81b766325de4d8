"""The corpus ``imdb_raw``: IMDB's reviews without labels, tokenised once and kept in the cache."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

from dense_lstm_zoo.bundles.text_hashes import text_hash
from dense_lstm_zoo.corpora import imdb
from dense_lstm_zoo.data.progress import Progress
from dense_lstm_zoo.data.sources import cache_folder
from dense_lstm_zoo.data.text_file import TextFile
from dense_lstm_zoo.language.corpus import LanguageCorpus
from dense_lstm_zoo.storage import files, lock
from dense_lstm_zoo_runtime.rules import VERSIONS

_DEV_EVERY = 100  # of this many reviews one is held out
_CHUNK = 512  # reviews tokenised in one call
_VERSION = 1  # of what is written besides the tokeniser's rules
_TOKENIZER = 1  # published models and scores are of these tokens


def read_imdb_raw(name: str, paths: list[Path]) -> LanguageCorpus:
    """Return the unlabelled and the training reviews of IMDB as running text, one review per line.

    Tokens are those of a classifier's vocabulary: the zoo's tokeniser, version 1, in lower case. A review that stands
    in the test set is left out, as 124 of the labelled training reviews are, and so is a repeated one. Every hundredth
    of the rest is for dev. There is no test part.

    The first call tokenises the text, which takes about a minute, and keeps it in the cache folder under
    ``imdb_raw/``. A later call reads that, unless a file or the tokeniser has changed.

    Args:
        name: The corpus's name.
        paths: ``train.tsv.gz``, ``test.tsv.gz`` and ``unsup.txt.gz``.

    Raises:
        ValueError: A file is damaged, or does not have the published number of reviews.
    """
    folder = cache_folder() / "imdb_raw" / _key(paths)
    if not _is_complete(folder):
        with lock.turn(folder):
            if not _is_complete(folder):  # another process may have written it
                train, test, unsup = paths
                with files.new_folder(folder, "any") as work:  # a cache of our own
                    _write(work, name, test, train, unsup)
    return LanguageCorpus(name, TextFile(folder / "train.txt"), TextFile(folder / "dev.txt"), None)


def _is_complete(folder: Path) -> bool:
    return all((folder / part).is_file() for part in ("train.txt", "dev.txt"))


def _key(paths: list[Path]) -> str:
    """Return what the tokenised text depends on, as a name for its folder."""
    parts = [_VERSION, _DEV_EVERY, VERSIONS[_TOKENIZER], *(files.sha256(path) for path in paths)]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _write(folder: Path, name: str, test: Path, train: Path, unsup: Path) -> None:
    progress = Progress(f"{name}, tokenised once", unit="reviews")
    progress.start(0, 4 * imdb.PER_LABEL + sum(1 for _ in imdb.unlabelled_reviews(unsup)))
    number, hashes = 0, set[int]()
    for line in _tokenised(text for _, text in imdb.labelled_reviews(test)):
        hashes.add(_hash(line))
        progress.update(number := number + 1)
    num_written = 0
    with (folder / "train.txt").open("wb") as to_train, (folder / "dev.txt").open("wb") as to_dev:
        reviews = itertools.chain(imdb.unlabelled_reviews(unsup), (text for _, text in imdb.labelled_reviews(train)))
        for line in _tokenised(reviews):
            progress.update(number := number + 1)
            if line and (key := _hash(line)) not in hashes:
                hashes.add(key)
                num_written += 1
                (to_train if num_written % _DEV_EVERY else to_dev).write(line + b"\n")
    progress.finish(number)


def _tokenised(texts: Iterable[str]) -> Iterator[bytes]:
    """Yield each text's tokens in lower case, separated by spaces. Memory is that of a chunk."""
    import tensorflow as tf

    from dense_lstm_zoo.data.text import folded

    texts = iter(texts)
    while chunk := list(itertools.islice(texts, _CHUNK)):
        for tokens in folded(chunk, tokenizer=_TOKENIZER):
            yield from tf.strings.reduce_join(tokens, axis=1, separator=" ").numpy().tolist()


def _hash(line: bytes) -> int:
    return text_hash(line.decode().split(" "))
