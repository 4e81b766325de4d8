"""Word vectors that a language model starts from, instead of random ones."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dense_lstm_zoo.data import word_source
from dense_lstm_zoo.data.words import UncoveredError
from dense_lstm_zoo.language.corpus import UNKNOWN
from dense_lstm_zoo.language.vocabulary import LanguageVocabulary


@dataclass(frozen=True, eq=False)
class LanguageVectors:
    """The vectors of a language model's words.

    Args:
        matrix: (words, dim), float32, in the order of their ids.
        num_known: How many words have a vector of their own.
        config: What a bundle's config says about them.
    """

    matrix: np.ndarray
    num_known: int
    config: dict[str, Any]

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
    if not places:
        raise UncoveredError(source, len(vocabulary), "text")
    rows_read = word_vectors.matrix[[rows[vocabulary.words[i]] for i in places]]
    matrix = (
        np.random.default_rng(seed).normal(0, rows_read.std(), (len(vocabulary), rows_read.shape[1])).astype(np.float32)
    )
    matrix[vocabulary.words.index(UNKNOWN)] = rows_read.mean(axis=0)
    matrix[places] = rows_read
    table = word_source.table(source)
    config = {"vectors": Path(source).name, **({"vectors_sha256": table.sha256} if table else {})}
    return LanguageVectors(matrix, len(places), config)


def read_new_vectors(source: str | Path, words: Collection[str], dim: int) -> dict[str, np.ndarray]:
    """Return the vectors of those words, new to a model that goes on with other texts, which have one.

    Raises:
        ValueError: Vectors of another length than ``dim``.
    """
    if not words:
        return {}
    table = word_source.select_vectors(source, words=set(words), most_frequent=0)
    if table.matrix.shape[1] != dim:
        raise ValueError(
            f"{source} has vectors of {table.matrix.shape[1]} numbers; the source's words have {dim}. Give vectors of "
            "that length, or none."
        )
    return dict(zip(table.words, table.matrix, strict=True))
