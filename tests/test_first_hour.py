"""The corpora of the benchmark of the first hour."""

import pytest

from benchmarks import first_hour


@pytest.mark.slow
def test_ratings_of_imdb_are_five_classes(data_folder):
    corpus = first_hour.corpus_of("imdb_ratings@100", seed=1)
    assert (len(corpus.train), len(corpus.dev), len(corpus.test)) == (90, 10, 2_000)
    assert set(corpus.train.labels) == {0, 1, 2, 3, 4}
