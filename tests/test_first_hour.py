"""The corpora of the benchmark of the first hour."""

import pytest

from benchmarks import first_hour
from tuning import result_files


@pytest.mark.slow
def test_ratings_of_imdb_are_five_classes(data_folder):
    corpus = first_hour.corpus_of("imdb_ratings@100", seed=1)
    assert (len(corpus.train), len(corpus.dev), len(corpus.test)) == (90, 10, 2_000)
    assert set(corpus.train.labels) == {0, 1, 2, 3, 4}


def test_the_table_counts_the_corpora_beyond_chance(tmp_path, monkeypatch):
    monkeypatch.setattr(first_hour, "RESULTS", tmp_path / "rows.csv")
    shared = {
        "texts": 9,
        "accuracy": 80.0,
        "macro_f1": 79.0,
        "seconds": 2.4,
        "cpu_seconds": 3.6,
        "versions": "numpy=2",
        "command": "run",
    }
    intervals = {("a", "quick"): (0.5, 2.0), ("b", "quick"): (-1.0, 1.5), ("a", "best"): (-3.0, -0.5)}
    rows = [
        {
            **shared,
            "dataset": dataset,
            "method": method,
            "ahead": (low + high) / 2,
            "ahead_low": low,
            "ahead_high": high,
        }
        for (dataset, method), (low, high) in intervals.items()
    ]
    result_files.merge(first_hour.RESULTS, rows, first_hour.KEY)
    table = first_hour.table()
    assert "quick is ahead of TF-IDF on 1 of 2 corpora and behind on none" in table
    assert "best is ahead of TF-IDF on 0 of 1 corpora and behind on 1" in table
    assert "-1.75 (-3.0 to -0.5)" in table
    assert "80.0, 79.0, 2 s (4)" in table
