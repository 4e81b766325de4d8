"""The runs of a trial: each has its corpus, a fold of it, or the first texts of either."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dense_lstm_zoo import tasks
from dense_lstm_zoo.corpora.dataset import Dataset
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.search.trouble import OtherDataError
from dense_lstm_zoo.training.protocol import run_name


def training_runs(spec: Mapping[str, Any]) -> Iterator[tuple[str, int | None, Any, int]]:
    """Yield the name, the fold, the corpus and the seed of each run of a trial.

    Raises:
        OtherDataError: The corpus is not the one that the sweep began with.
    """
    task = registry.entry(spec["model"]).task
    corpus = Dataset(spec["dataset"], task, spec["data"]).load()
    if spec.get("data_sha256") and tasks.find(task).job_class.fingerprint(corpus) != spec["data_sha256"]:
        raise OtherDataError(f"the texts of {corpus.name} here are not those that the sweep began with")
    corpus = corpus.first_texts(spec.get("texts") or {})
    for fold in spec.get("only_folds") or (range(1, spec["folds"] + 1) if spec["folds"] else [None]):
        part = corpus if fold is None else corpus.fold(fold, spec["folds"])
        for seed in spec["seeds"]:
            yield run_name(fold, seed), fold, part, seed
