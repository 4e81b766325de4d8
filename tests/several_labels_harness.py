"""Texts with several labels each: what a text speaks of shows in its words."""

import functools
import random
from typing import Any

import dense_lstm_zoo as zoo
from dense_lstm_zoo.bundles.bundle import Bundle
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.split import Split

PHRASES = {
    "food": ("the soup was cold", "tasty pasta", "the bread was stale", "a great steak", "no dessert was left"),
    "price": ("far too expensive", "cheap and fair", "the bill was high", "a bargain", "not worth the money"),
    "staff": ("the waiter was rude", "friendly staff", "a slow waitress", "the chef came out", "nobody served us"),
}
LABELS = tuple(PHRASES)
NONE = ("we went on monday", "it was raining", "my sister came too")


@functools.cache
def examples(number: int, seed: int) -> list[tuple[str, tuple[str, ...]]]:
    """Texts and the names of their labels, of which a quarter have none."""
    rng = random.Random(seed)
    rows = []
    for i in range(number):
        labels = tuple(label for label in LABELS if rng.random() < 0.37)
        phrases = [rng.choice(PHRASES[label]) for label in labels] or [rng.choice(NONE)]
        rng.shuffle(phrases)
        rows.append((f"{' , '.join(phrases)} ({i})", labels))
    return rows


def split(number: int, seed: int) -> Split:
    """Texts with the indices of their labels."""
    rows = examples(number, seed)
    return Split([text for text, _ in rows], [[LABELS.index(label) for label in labels] for _, labels in rows])


def corpus(number: int = 200) -> Corpus:
    """A corpus in three parts."""
    return Corpus("meals", LABELS, split(number, 1), split(60, 2), split(80, 3))


def train(folder: Any, data: Any = None, model: str = "bilstm", **options: Any) -> Bundle:
    """A small training on it."""
    settings = {"units": 6, "embedding_dim": 12, "vectors": "none", "recipe": "none", "kernel": "native"}
    settings |= {"epochs": 4, "learning_rate": 0.02, "baseline": False, "progress": False, "seed": 1, "batch_size": 16}
    return zoo.train(model, corpus() if data is None else data, folder, **{**settings, **options})
