"""A tiny language model trained on part of the demo corpus, for tests of training and its outputs."""

import functools

import dense_lstm_zoo as zoo
from dense_lstm_zoo.language.corpus import LanguageCorpus
from dense_lstm_zoo.language.demo import demo_language_splits

TINY = {"num_layers": 2, "units": 6, "embedding_dim": 5, "dropout": 0.2}


@functools.cache
def tokenised(name):
    """The sentences of a part of the demo corpus, as lists of words."""
    return [sentence.split(" ") for sentence in demo_language_splits()[name]]


def small_corpus() -> LanguageCorpus:
    splits = demo_language_splits()
    return LanguageCorpus("demo", splits["train"][:300], splits["dev"][:40], splits["test"][:30])


def train(run_dir, **arguments):
    settings = {"epochs": 3, "patience": 3, "batch_size": 5, "num_steps": 12, "max_words": 90, "seed": 5}
    settings |= {"progress": False, **TINY}
    return zoo.train("dense_lstm_lm", arguments.pop("dataset", small_corpus()), run_dir, **settings | arguments)
