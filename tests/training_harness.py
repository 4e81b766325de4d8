"""A tiny run on the demo corpus, for tests of training and its outputs."""

import dataclasses

import dense_lstm_zoo as zoo
from dense_lstm_zoo.classification.corpus import Corpus, Split
from dense_lstm_zoo.training.callbacks import EpochSeconds
from tests import model_harness as harness

FROM_DATA = ("vocab_size", "num_classes", "num_frozen_words")
TINY = {name: value for name, value in harness.tiny_arguments("bilstm").items() if name not in FROM_DATA}


def small_demo() -> Corpus:
    demo = zoo.load_corpus("demo")
    cut = {
        part: Split(s.texts[:n], s.labels[:n])
        for part, s, n in (("train", demo.train, 300), ("dev", demo.dev, 60), ("test", demo.test, 70))
    }
    return dataclasses.replace(demo, **cut)


def train(run_dir, **arguments):
    settings = {"epochs": 3, "patience": 3, "batch_size": 50, "progress": False, "seed": 5, **TINY}
    return zoo.train("bilstm", arguments.pop("dataset", small_demo()), run_dir, **settings | arguments)


def interrupt(monkeypatch, *, epoch, batch):
    """Press Ctrl-C in the given batch of the given epoch, both from 0."""

    class Interrupting(EpochSeconds):
        def on_epoch_begin(self, current, logs=None):
            super().on_epoch_begin(current, logs)
            self.current = current

        def on_train_batch_end(self, index, logs=None):
            if (self.current, index) == (epoch, batch):
                raise KeyboardInterrupt

    monkeypatch.setattr("dense_lstm_zoo.training.callbacks.EpochSeconds", Interrupting)
