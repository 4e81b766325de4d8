"""The start of a training with ``effort``: from scratch, from a trained model, or beside a text encoder."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from dense_lstm_zoo.backend import check_tensorflow
from dense_lstm_zoo.display import notes
from dense_lstm_zoo.training.prepare import Run, prepare
from dense_lstm_zoo.training.request import Request

if TYPE_CHECKING:
    import numpy as np

    from dense_lstm_zoo.corpora.loader import AnyDataset

_ERRORS = 1.5  # standard errors by which a trained model must be ahead


def prepare_best(request: Request, dataset: AnyDataset, progress: bool) -> Run:
    """Prepare a run, and where the request names other starts, the one with the best last layer on dev.

    What each start gives before any training is compared, by a logistic regression on part of the texts. A trained
    model that has seen dev or test texts is left out, and so is one that knows less than half of the words or whose
    settings do not suit.

    Args:
        request: A checked request.
        dataset: As for ``prepare``.
        progress: Whether to print progress.
    """
    if not (request.starts or request.for_few_texts):
        return prepare(request, dataset, progress)
    check_tensorflow("Trainings by zoo.train")

    from dense_lstm_zoo.corpora.loader import as_corpus

    dataset = as_corpus(dataset, request.task.name)  # read once
    request = request.for_corpus(dataset)
    if not request.starts:
        return prepare(request, dataset, progress)
    if progress:
        notes.show(f"choosing where to begin: {', '.join(map(_name, (request, *request.starts)))}")
    scores = dict(_scores(request, dataset))
    best = _best(request, {start: values for start, (values, _) in scores.items()})
    if progress:
        texts = ", ".join(f"{100 * score:.1f} % {_name(start)}" for start, (_, score) in scores.items())
        where = "on dev" if best.options.dev_fraction else "by cross-validation"
        notes.show(f"before any training, the last layer alone reaches {where}: {texts}")
    # Prepared anew, so that the run is the one that its run.toml repeats, random numbers included.
    return prepare(best, dataset, progress)


def _best(scratch: Request, values: Mapping[Request, np.ndarray]) -> Request:
    """Return the start with the highest mean. It must be ahead of a plain one from scratch by more than chance.

    What an encoder gives before training says little of what it learns. A small lead is no reason to begin with layers
    that learnt something else.
    """
    best, lead = scratch, 0.0
    for start, own in values.items():
        differences = own - values[scratch]
        mean, error = differences.mean(), differences.std() / math.sqrt(len(differences))
        if mean > max(_ERRORS * error, lead):
            best, lead = start, mean
    return best


def _scores(request: Request, dataset: AnyDataset) -> Iterator[tuple[Request, tuple[np.ndarray, float]]]:
    for start in (request, *request.starts):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the chosen one is prepared again, and warns then
            try:
                run = prepare(start, dataset, progress=False)
                coverage = run.job.coverage
                if start is not request and start.options.init_from and coverage is not None and coverage.is_little:
                    continue  # a model that knows few of the words, whatever chance says of its last layer
                scores = run.job.head_scores(run.model, run.config)
            except ValueError:
                if start is request:
                    raise
                continue
        yield start, scores


def _name(start: Request) -> str:
    if start.options.init_from:
        return f"from {start.options.init_from}"
    context = getattr(start.options, "context", None)
    return f"from scratch beside {context}" if context else "from scratch"
