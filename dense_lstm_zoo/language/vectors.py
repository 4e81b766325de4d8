"""Word vectors that a language model starts from, instead of random ones."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dense_lstm_zoo.data import word_source
from dense_lstm_zoo.data.vectors import VectorReport
from dense_lstm_zoo.data.words import UncoveredError
from dense_lstm_zoo.language.corpus import EOS, UNKNOWN
from dense_lstm_zoo.language.vocabulary import LanguageVocabulary

_NO_WORDS = (EOS, UNKNOWN)  # many files of vectors hold them, whatever their language


@dataclass(frozen=True, eq=False)
class LanguageVectors:
    """The vectors of a language model's words.

    Args:
        matrix: (words, dim), float32, in the order of their ids.
        num_known: How many words have a vector of their own, ``<eos>`` and ``<unk>`` not counted.
        config: What a bundle's config says about them.
        report: The report on a file that is damaged or holds lines that are skipped, else None.
    """

    matrix: np.ndarray
    num_known: int
    config: dict[str, Any]
    report: VectorReport | None = None

    @property
    def is_little(self) -> bool:
        """True if less than half of the words have a vector."""
        return 2 * self.num_known < len(self.matrix) - len(_NO_WORDS)

    def summary(self) -> str:
        """Return how many words have a vector, for the log."""
        return f"{self.config['vectors']}: vectors for {self.num_known:,} of {len(self.matrix):,} words"


def read_vectors(source: str | Path, vocabulary: LanguageVocabulary, seed: int) -> LanguageVectors:
    """Read the vectors of a language model's words.

    A word without one gets random numbers of the same spread, as ``<eos>`` does. ``<unk>`` gets the mean of all.

    Args:
        source: A word table's name, or a file of vectors.
        vocabulary: The words.
        seed: Seed of the random numbers.

    Raises:
        FileNotFoundError: Neither a table nor a file.
        ValueError: A vector for none of the words.
    """
    word_vectors = word_source.select_vectors(source, words=set(vocabulary.words), most_frequent=0)
    rows = word_vectors.index()
    places = [i for i, word in enumerate(vocabulary.words) if word in rows]
    num_known = sum(vocabulary.words[i] not in _NO_WORDS for i in places)
    if not num_known:
        raise UncoveredError(source, len(vocabulary), "text")
    rows_read = word_vectors.matrix[[rows[vocabulary.words[i]] for i in places]]
    matrix = (
        np.random.default_rng(seed).normal(0, rows_read.std(), (len(vocabulary), rows_read.shape[1])).astype(np.float32)
    )
    matrix[vocabulary.words.index(UNKNOWN)] = rows_read.mean(axis=0)
    matrix[places] = rows_read
    table = word_source.table(source)
    report = word_vectors.report if word_vectors.report.has_problems else None
    config = {
        "vectors": Path(source).name,
        **({"vectors_sha256": table.sha256} if table else {}),
        **({"vector_report": str(report)} if report else {}),
    }
    return LanguageVectors(matrix, num_known, config, report)


def read_new_vectors(
    source: str | Path, words: Collection[str], dim: int
) -> tuple[dict[str, np.ndarray], VectorReport | None]:
    """Return the vectors of those words, new to a model that goes on with other texts, which have one, and a report.

    The report is None unless the file is damaged or holds lines that are skipped.

    Raises:
        ValueError: Vectors of another length than ``dim``.
    """
    if not words:
        return {}, None
    table = word_source.select_vectors(source, words=set(words), most_frequent=0)
    if table.matrix.shape[1] != dim:
        raise ValueError(
            f"{source} has vectors of {table.matrix.shape[1]} numbers; the source's words have {dim}. Give vectors of "
            "that length, or none."
        )
    return dict(zip(table.words, table.matrix, strict=True)), table.report if table.report.has_problems else None
