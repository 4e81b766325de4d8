"""The words of a model that is trained further on other texts: which go on, which are new, and their vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dense_lstm_zoo import checks
from dense_lstm_zoo.data import word_source
from dense_lstm_zoo.data.vectors import VectorReport
from dense_lstm_zoo.data.words import Coverage

_NOISE = 0.1  # of the known rows' spread
_FREQUENT = 2  # occurrences in training from which a word without a vector is learnt


@dataclass(frozen=True, eq=False)
class CarriedWords:
    """Words in the order of their ids from 2, with their vectors.

    Attributes:
        words: First the known words of the training texts, most frequent first, then the others.
        num_frozen: How many others there are.
        matrix: (words + 2, dim), float32.
        new: How many words of the training texts the source did not know.
        coverage: How much of the training texts the words with a vector cover. Those to be learnt have none.
        report: The report on the file of vectors, if one was read.
    """

    words: tuple[str, ...]
    num_frozen: int
    matrix: np.ndarray
    new: int
    coverage: Coverage
    report: VectorReport | None = None


def with_new_rows(rows: np.ndarray, count: int, rng: np.random.Generator, axis: int = 0) -> np.ndarray:
    """Return an array with ``count`` more rows along an axis, each the mean of the others plus a little noise.

    Example:
        >>> with_new_rows(np.array([[2.0, 2.0], [2.0, 2.0]]), 1, np.random.default_rng(1)).tolist()
        [[2.0, 2.0], [2.0, 2.0], [2.0, 2.0]]
    """
    shape = list(rows.shape)
    shape[axis] = count
    new = rows.mean(axis=axis, keepdims=True) + rng.normal(0, _NOISE * rows.std(), shape)
    return np.concatenate([rows, new.astype(rows.dtype)], axis=axis)


def carry_words(
    words: Sequence[str],
    matrix: np.ndarray,
    counts: Mapping[str, int],
    *,
    learns: bool,
    vectors: str | Path | None = None,
    vector_words: int = 0,
    seed: int = 1,
) -> CarriedWords:
    """Join a source's words with those of new training texts.

    A new word is added if it has a vector. Without one it is added if it occurs twice and word vectors are trained. It
    then starts from the mean of the known vectors, with a little noise.

    Args:
        words: The source's words, in the order of their ids from 2.
        matrix: Their vectors, with those of padding and unknown words: (words + 2, dim).
        counts: How often each word occurs in the new training texts.
        learns: Whether word vectors are trained, at least in the end.
        vectors: A file of vectors for new words, as long as the source's.
        vector_words: How many of the file's first words to add as well.
        seed: Seed of the noise.

    Raises:
        ValueError: Vectors of another length.
    """
    source_rows = {word: row for row, word in enumerate(words, start=2)}
    ranked = sorted(counts, key=lambda word: -counts[word])  # stable: ties stay in order of occurrence
    new_vectors: dict[str, np.ndarray] = {}
    report = None
    if vectors is not None:
        unknown_words = {word for word in counts if word not in source_rows}
        count = checks.integer("vector_words", vector_words, 0)
        if unknown_words or count:
            file_vectors = word_source.select_vectors(vectors, words=unknown_words, most_frequent=count)
            dim, report = file_vectors.matrix.shape[1], file_vectors.report
            if dim != matrix.shape[1]:
                raise ValueError(
                    f"{vectors} has vectors of {dim} numbers; the source is an encoder of another width, "
                    f"{matrix.shape[1]}. Give vectors of that length, or none."
                )
            pairs = zip(file_vectors.words, file_vectors.matrix, strict=True)
            new_vectors = {
                word: row for word, row in pairs if word not in source_rows and not any(map(str.isspace, word))
            }
    learnt = {word for word in ranked if learns and counts[word] >= _FREQUENT and word not in source_rows}
    trained = [word for word in ranked if word in source_rows or word in new_vectors or word in learnt]
    frozen = [word for word in (*words, *new_vectors) if word not in counts]
    mean_words = [word for word in trained if word not in source_rows and word not in new_vectors]
    rows = with_new_rows(matrix, len(mean_words), np.random.default_rng(seed))
    row_of = source_rows | {word: row for row, word in enumerate(mean_words, start=len(matrix))}
    every = (*trained, *frozen)
    joined = np.empty((len(every) + 2, matrix.shape[1]), np.float32)
    joined[:2] = matrix[:2]
    for row, word in enumerate(every, start=2):
        joined[row] = new_vectors[word] if word in new_vectors else rows[row_of[word]]
    coverage = Coverage.of(counts, [word for word in trained if word in source_rows or word in new_vectors])
    new = sum(word not in source_rows for word in trained)
    return CarriedWords(every, len(frozen), joined, new, coverage, report)


def more_characters(chars: str, new_chars: str, *, learns: bool) -> str:
    """Return a source's characters, then, if they are trained, those of new texts that are not among them.

    Example:
        >>> more_characters("ab", "bcd", learns=True), more_characters("ab", "bcd", learns=False)
        ('abcd', 'ab')
    """
    return chars + "".join(char for char in new_chars if char not in chars) if learns else chars
