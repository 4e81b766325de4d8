"""The parts of a corpus as plain lists, which a process without the zoo can read."""

from __future__ import annotations

from typing import Any

import dense_lstm_zoo as zoo
from benchmarks import transfer


def task_of(dataset: str) -> str:
    """Return whether a corpus is for classification or, where it is not, for tagging."""
    taggers = zoo.list_corpora("tagging")
    return "tagging" if dataset in taggers and dataset not in zoo.list_corpora("classification") else "classification"


def fold_of(dataset: str) -> int | None:
    """Return the number of the fold of ten that is a corpus's test, or None if it has test texts."""
    corpus: Any = zoo.load_corpus(dataset, task_of(dataset))
    return 1 if corpus.test is None else None


def parts_of(dataset: str, task: str | None = None) -> dict[str, Any]:
    """Return the texts and labels, or token lists and tags, of training, dev and test, by part.

    A corpus without test texts is split as its first fold of ten. Dev is a tenth of the training texts where there is
    none, drawn as ``train`` does with seed 1.
    """
    task = task or task_of(dataset)
    corpus: Any = zoo.load_corpus(dataset, task)
    if task == "classification":
        corpus = transfer.corpus_of(corpus, None, seed=1)
    examples = {}
    for name in ("train", "dev", "test"):
        part = getattr(corpus, name)
        if task == "tagging":
            examples[name] = ([list(tokens) for tokens in part.tokens], [list(tags) for tags in part.tags])
        else:
            examples[name] = (list(part.texts), [corpus.label_names[label] for label in part.labels])
    return examples
