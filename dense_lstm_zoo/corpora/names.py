"""The names of the corpora: published ones, and the formats of a user's own files."""

from __future__ import annotations

from dense_lstm_zoo import tasks


def list_corpora(task: str | None = None) -> list[str]:
    """Return every name that ``load_corpus`` accepts, or those for one task.

    "csv", "tsv", "jsonl", "parquet", "xlsx", "text", "columns", "auto", "pos" and "mrg" are for your own files. Every
    task has a "demo".

    Example:
        >>> list_corpora("language_model")
        ['demo', 'ptb', 'imdb_raw', 'text']
    """
    candidates = tasks.every() if task is None else [tasks.find(task)]
    with_homes = dict.fromkeys(name for candidate in candidates for name in candidate.sources)
    return [*with_homes, *(name for candidate in candidates for name in candidate.own_files)]
