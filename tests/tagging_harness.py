"""Tiny taggers, and one trained on part of the demo corpus."""

import dataclasses

import numpy as np

import dense_lstm_zoo as zoo
from dense_lstm_zoo.tagging.corpus import TaggedSplit, TaggingCorpus

WORDS, TAGS, CHARS = 20, 4, 9
LENGTHS = np.array([6, 3, 1, 0])
TINY = {"units": 4, "embedding_dim": 6, "char_dim": 2, "case_dim": 2}
LAYERS = {
    "bilstm_tagger": {"num_layers": 3},
    "gated_skip_tagger": {"num_layers": 4},
    "highway_tagger": {"num_layers": 3},
}


def tiny(name, **options):
    sizes = {"vocab_size": WORDS, "num_tags": TAGS, "num_chars": CHARS}
    return zoo.build(name, **{**sizes, **TINY, **LAYERS.get(name, {}), **options})


def batch(time=6, seed=0):
    """Ids of sentences of ``LENGTHS`` and their tags."""
    rng = np.random.default_rng(seed)
    real = np.arange(time) < LENGTHS[:, None]
    ids = {
        "token_ids": np.where(real, rng.integers(1, WORDS, real.shape), 0),
        "case_ids": np.where(real, rng.integers(1, 3, real.shape), 0),
        "affix_ids": np.where(real[..., None], rng.integers(0, CHARS, (*real.shape, 10)), 0),
    }
    return {name: value.astype(np.int32) for name, value in ids.items()}, np.where(
        real, rng.integers(0, TAGS, real.shape), -1
    ).astype(np.int32)


def small_demo() -> TaggingCorpus:
    demo = zoo.load_corpus("demo", task="tagging")
    cut = {
        part: TaggedSplit(s.tokens[:n], s.tags[:n])
        for part, s, n in (("train", demo.train, 300), ("dev", demo.dev, 60), ("test", demo.test, 70))
    }
    return dataclasses.replace(demo, **cut)


def train(run_dir, **arguments):
    settings = {"epochs": 3, "patience": 3, "batch_size": 16, "seed": 5, "progress": False, **TINY, "num_layers": 3}
    settings |= {"optimizer": "adam", "learning_rate": 0.01, "dropout": 0.1}
    return zoo.train("gated_skip_tagger", arguments.pop("dataset", small_demo()), run_dir, **settings | arguments)
