"""The terms of the data that a model was trained on, for its card."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

from dense_lstm_zoo import tasks
from dense_lstm_zoo.data.sources import About
from dense_lstm_zoo.data.word_table import installed_tables

# The zoo's own word vectors. Another table's terms are in its config.json.
_ZOO_VECTORS = (
    "from reviews of films for research (Maas et al. 2011), UD English EWT (CC BY-SA 4.0), questions for research "
    "(Li and Roth 2002), all-MiniLM-L6-v2 (Apache-2.0), words ranked by wordfreq (data CC BY-SA 4.0)"
)
VECTORS = {"zoo_600d": _ZOO_VECTORS, "zoo_300d": _ZOO_VECTORS}


def about(corpus: object) -> About | None:
    """Return the terms, the use and the paper of a published corpus, or None for a user's own."""
    if not isinstance(corpus, str):
        return None
    return next((task.sources[corpus].about for task in tasks.every() if corpus in task.sources), None)


def terms_of(corpus: object) -> str | None:
    """Return the terms of a corpus, or None for a user's own.

    Example:
        >>> terms_of("ewt_upos")
        'CC BY-SA 4.0 (Universal Dependencies, English Web Treebank)'
    """
    entry = about(corpus)
    return entry.terms if entry else None


def corpora_before(training: Mapping[str, Any]) -> list[str]:
    """Return the corpora of the models that a training went on from, the nearest first.

    Example:
        >>> corpora_before({"dataset": "cr", "init_from": {"dataset": "sst2", "init_from": None}})
        ['sst2']
    """
    corpora, origin = [], training.get("init_from")
    while isinstance(origin, dict):
        corpora.append(str(origin.get("dataset")))
        origin = origin.get("init_from")
    return list(dict.fromkeys(corpora))


def terms_of_vectors(name: str) -> str | None:
    """Return the terms of a word table: what an installed one says, else what is known, or None for another file."""
    folder = installed_tables().get(name)
    if folder is not None:
        with contextlib.suppress(OSError, ValueError):
            terms = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("terms")
            if isinstance(terms, str):
                return terms
    return VECTORS.get(name)
