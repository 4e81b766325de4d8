"""What a trial's runs are trained on: the corpus, or the folds of a cross-validation, or the first texts of either."""

from __future__ import annotations

import collections
import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from dense_lstm_zoo import tasks
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.search.trouble import OtherDataError


def parts(spec: Mapping[str, Any]) -> Iterator[tuple[str, int | None, Any, int]]:
    """Yield the name, the fold, the corpus and the seed of each run of a trial.

    Raises:
        OtherDataError: The corpus is not the one that the sweep began with.
    """
    from dense_lstm_zoo.classification.corpus import cross_validation_fold
    from dense_lstm_zoo.corpora.loader import load_corpus

    task = registry.entry(spec["model"]).task
    corpus = load_corpus(spec["dataset"], task, **spec["data"])
    if spec.get("data_sha256") and tasks.find(task).job_class.fingerprint(corpus) != spec["data_sha256"]:
        raise OtherDataError(f"the texts of {corpus.name} here are not those that the sweep began with")
    corpus = first_texts(corpus, spec.get("texts") or {})
    for fold in spec.get("only_folds") or (range(1, spec["folds"] + 1) if spec["folds"] else [None]):
        part = corpus if fold is None else cross_validation_fold(corpus, fold, spec["folds"])
        for seed in spec["seeds"]:
            yield (f"fold{fold:02}_" if fold else "") + f"seed{seed}", fold, part, seed


def first_texts(corpus: Any, numbers: Mapping[str, int]) -> Any:
    """Return a corpus with the first texts of each part alone, of running text the first lines.

    Of labelled texts, they are the first of each label in turn: many files are sorted by label.
    """
    from dense_lstm_zoo.classification.corpus import Split
    from dense_lstm_zoo.tagging.corpus import TaggedSplit

    cut: dict[str, Any] = {}
    for part, number in numbers.items():
        split = getattr(corpus, part)
        if isinstance(split, Split):
            seen = collections.Counter[int]()
            turns = []  # which text of its label each is
            for label in split.labels:
                turns.append(seen[label])
                seen[label] += 1
            kept = sorted(sorted(range(len(split)), key=turns.__getitem__)[:number])
            cut[part] = Split([split.texts[i] for i in kept], [split.labels[i] for i in kept])
        elif isinstance(split, TaggedSplit):
            cut[part] = TaggedSplit(split.tokens[:number], split.tags[:number])
        elif split is not None:
            cut[part] = list(itertools.islice(split, number))
    return dataclasses.replace(corpus, **cut) if cut else corpus
