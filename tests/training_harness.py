"""A tiny run of each task on a part of its demo corpus, for tests of training and of what it leaves."""

import contextlib
import dataclasses
import functools
from typing import Any

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.bundles.bundle import Bundle
from dense_lstm_zoo.language.demo import demo_language_splits
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.training.callbacks import EpochSeconds
from tests.model_harness import tiny_arguments

PARTS = {"classification": (300, 60, 70), "language_model": (300, 40, 30), "tagging": (300, 60, 70)}
COMMON = {"epochs": 3, "patience": 3, "progress": False, "seed": 5, "baseline": False}
MODELS = {"classification": "bilstm", "language_model": "dense_lstm_lm", "tagging": "gated_skip_tagger"}
SETTINGS: dict[str, dict[str, Any]] = {
    "classification": {"batch_size": 50},
    "language_model": {"batch_size": 5, "num_steps": 12, "max_words": 90},
    "tagging": {"batch_size": 16},
}


def sizes(task: str) -> dict[str, Any]:
    """The small arguments of the task's model that ``train`` takes."""
    arguments = {name: x for name, x in tiny_arguments(MODELS[task]).items() if name not in registry.FROM_DATA}
    other: dict[str, dict[str, Any]] = {
        "language_model": {"num_layers": 2, "embedding_dim": 5, "dropout": 0.2},
        "tagging": {"num_layers": 3, "optimizer": "adam", "learning_rate": 0.01, "dropout": 0.1},
    }
    return arguments | other.get(task, {})


TINY = sizes("classification")


def small_demo(task: str = "classification") -> Any:
    """The first texts of each part of the demo corpus."""
    demo = _demo(task)
    parts = zip(("train", "dev", "test"), PARTS[task], strict=True)
    return dataclasses.replace(demo, **{part: _first(getattr(demo, part), n) for part, n in parts})


_demo = functools.cache(lambda task: zoo.load_corpus("demo", task=task))


def _first(split: Any, n: int) -> Any:
    if isinstance(split, list | tuple):
        return split[:n]
    columns = {field.name: getattr(split, field.name)[:n] for field in dataclasses.fields(split)}
    return dataclasses.replace(split, **columns)


@functools.cache
def tokenised(part: str) -> list[list[str]]:
    """The sentences of a part of the language models' demo corpus, as lists of words."""
    return [sentence.split(" ") for sentence in demo_language_splits()[part]]


def all_sentences() -> list[list[str]]:
    """The sentences of its three parts."""
    return [sentence for part in ("train", "dev", "test") for sentence in tokenised(part)]


def train(run_dir: Any, task: str = "classification", **arguments: Any) -> Bundle:
    """Train the task's model as ``SETTINGS`` say, but for what is given."""
    corpus = arguments.pop("dataset", None) or small_demo(task)
    return zoo.train(MODELS[task], corpus, run_dir, **{**COMMON, **SETTINGS[task], **sizes(task), **arguments})


train_language_model = functools.partial(train, task="language_model")
train_tagger = functools.partial(train, task="tagging")


@contextlib.contextmanager
def interrupted(*, epoch, batch):
    """Press Ctrl-C in the given batch of the given epoch, both from 0, and expect that it ends the training."""

    class Interrupting(EpochSeconds):
        def on_epoch_begin(self, current, logs=None):
            super().on_epoch_begin(current, logs)
            self.current = current

        def on_train_batch_end(self, index, logs=None):
            if (self.current, index) == (epoch, batch):
                raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dense_lstm_zoo.training.callbacks.EpochSeconds", Interrupting)
        with pytest.raises(KeyboardInterrupt):
            yield
