"""Sentences of IMDB's unlabelled reviews, for teachers to label."""

from __future__ import annotations

import re

import numpy as np

import dense_lstm_zoo as zoo
from dense_lstm_zoo.corpora import imdb

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_WORDS = 4, 50  # of a sentence


def draw(number: int, seed: int) -> list[str]:
    """Return random sentences of IMDB's unlabelled reviews.

    Raises:
        ValueError: There are not that many.
    """
    sentences = [
        sentence
        for review in imdb.unlabelled_reviews(zoo.fetch("imdb_raw")[2])
        for sentence in _SENTENCE_END.split(review)
        if _WORDS[0] <= len(sentence.split()) <= _WORDS[1]
    ]
    if number > len(sentences):
        raise ValueError(f"The number of raw sentences must be at most {len(sentences):,}; received {number:,}.")
    places = np.random.default_rng(seed).permutation(len(sentences))[:number]
    return [sentences[place] for place in places]
