"""What a trial's runs are trained on: the corpus, or the folds of a cross-validation, or the first texts of either."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from dense_lstm_zoo import registry


def parts(spec: Mapping[str, Any]) -> Iterator[tuple[str, int | None, Any, int]]:
    """Yield the name, the fold, the corpus and the seed of each run of a trial."""
    from dense_lstm_zoo.classification.corpus import cross_validation_fold
    from dense_lstm_zoo.data.corpora import load_corpus

    corpus = load_corpus(spec["dataset"], registry.entry(spec["model"]).task, **spec["data"])
    corpus = first_texts(corpus, spec.get("texts") or {})
    for fold in spec.get("only_folds") or (range(1, spec["folds"] + 1) if spec["folds"] else [None]):
        part = corpus if fold is None else cross_validation_fold(corpus, fold, spec["folds"])
        for seed in spec["seeds"]:
            yield (f"fold{fold:02}_" if fold else "") + f"seed{seed}", fold, part, seed


def first_texts(corpus: Any, numbers: Mapping[str, int]) -> Any:
    """Return a corpus with the first texts of each part alone, of running text the first lines."""
    from dense_lstm_zoo.classification.corpus import Split
    from dense_lstm_zoo.tagging.corpus import TaggedSplit

    cut: dict[str, Any] = {}
    for part, number in numbers.items():
        split = getattr(corpus, part)
        if isinstance(split, Split | TaggedSplit):
            lists = {field.name: getattr(split, field.name)[:number] for field in dataclasses.fields(split)}
            cut[part] = dataclasses.replace(split, **lists)
        elif split is not None:
            cut[part] = list(itertools.islice(split, number))
    return dataclasses.replace(corpus, **cut) if cut else corpus
