"""Texts of a corpus that a model was trained on before: found by their hashes, and refused where scores suffer."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dense_lstm_zoo import tasks
from dense_lstm_zoo.bundles import presets, text_hashes
from dense_lstm_zoo.training.job import Job

if TYPE_CHECKING:
    from dense_lstm_zoo.corpora.corpus import AnyCorpus

PARTS = ("test", "dev")


def check_overlap(
    hashes: np.ndarray,
    source: str | Path,
    job_class: type[Job],
    corpus: AnyCorpus,
    *,
    forced: bool = False,
    refused: Collection[str] = PARTS,
) -> dict[str, int]:
    """Check that a trained model has not seen a corpus's dev and test texts, and return how many it has seen, if any.

    Args:
        hashes: Those of the texts it was trained on.
        source: Its name, for the error.
        job_class: The class of the run that goes on from it.
        corpus: The corpus of that run.
        forced: Whether to accept seen texts.
        refused: The parts whose texts must not be seen. Those of the others are only counted.

    Raises:
        ValueError: It was trained on ten texts of a refused part, or on 1 %, and that is not ``forced``.
    """
    counts = {}
    for part, overlap in _overlaps(hashes, job_class, corpus):
        if not forced and part in refused:
            raise ValueError(
                f"{source} was trained on {part} texts of {corpus.name}: {overlap}. Scores on them would say "
                "nothing about new texts. Choose another source or corpus, or accept it with force_overlap=True "
                "(--force-overlap), which the model's card will say."
            )
        counts[part] = overlap.count
    return counts


def _overlaps(hashes: np.ndarray, job_class: type[Job], corpus: Any) -> Iterator[tuple[str, text_hashes.Overlap]]:
    """Yield the parts of a corpus whose overlap with the texts of the hashes is too much."""
    for part in PARTS:
        if getattr(corpus, part) is not None:
            overlap = text_hashes.overlap(hashes, job_class.token_rows(getattr(corpus, part)))
            if overlap.is_too_much:
                yield part, overlap


def check_test_texts(job_class: type[Job], options: Mapping[str, Any], corpus: AnyCorpus) -> None:
    """Check a corpus that is scored after training, apart from it. Without ``init_from`` nothing is checked."""
    if options.get("init_from") is None:
        return
    folder = presets.open_folder(options["init_from"])
    if text_hashes.FILE in folder.names:
        hashes = text_hashes.read_hashes(folder.path / text_hashes.FILE)
        refused = refused_parts(folder.read_config(), job_class)
        check_overlap(
            hashes, folder.path, job_class, corpus, forced=bool(options.get("force_overlap")), refused=refused
        )


def refused_parts(config: Mapping[str, Any], job_class: type[Job]) -> Collection[str]:
    """Return the parts of a corpus that a source with this config must not have seen.

    A language model has seen no labels. Where it goes on as part of a classifier, it may have read the dev texts, which
    often are a part of the training texts and only choose the epoch.
    """
    source_task = tasks.find(config["task"])
    is_text_alone = source_task.predicts_words and job_class is not source_task.job_class
    return PARTS[:1] if is_text_alone else PARTS


def repeated_texts(job: Job, hashes: np.ndarray) -> dict[str, str]:
    """Return a sentence about each part of the corpus that repeats training texts, by the name it has in the metrics.

    Args:
        job: A job whose corpus has single texts.
        hashes: Those of its training texts.
    """
    return {
        f"seen_{part}": f"{part} texts that are also training texts: {overlap}. The {part} score is too good by them."
        for part, overlap in _overlaps(hashes, type(job), job.corpus)
    }


def training_texts(job: Job, hashes: np.ndarray | None, source_hashes: np.ndarray | None) -> np.ndarray:
    """Return the hashes of all texts that a model was trained on.

    Args:
        job: The job.
        hashes: Those of its own training texts. None counts them.
        source_hashes: Those of its source.
    """
    if hashes is None:
        hashes = text_hashes.hash_texts(job.token_rows(job.corpus.train))
    return hashes if source_hashes is None else np.union1d(hashes, source_hashes)
