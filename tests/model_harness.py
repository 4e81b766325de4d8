"""One harness for every registered model: tiny arguments for its task, and ids of its vocabulary."""

from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import dense_lstm_zoo as zoo
from dense_lstm_zoo import registry
from dense_lstm_zoo.classification.bundle import ClassificationBundle
from dense_lstm_zoo.classification.vocabulary import Vocabulary

VOCABULARY, CLASSES, FROZEN = 20, 3, 4
# Small values for whatever a model's factory takes; a new model's new arguments find their place here.
TINY = {
    "vocab_size": VOCABULARY,
    "num_classes": CLASSES,
    "num_frozen_words": FROZEN,
    "embedding_dim": 6,
    "units": 4,
    "num_layers": 3,
    "num_dense_layers": 2,
    "dense_units": 3,
    "top_units": 4,
    "attention_units": 3,
    "filters": 5,
}


def tiny(name: str, **arguments: Any) -> keras.Model:
    """The model at its smallest."""
    return zoo.build(name, **tiny_arguments(name), **arguments)


def tiny_arguments(name: str) -> dict[str, Any]:
    """The arguments of ``TINY`` that the model takes."""
    return {argument: value for argument, value in TINY.items() if argument in registry.entry(name).arguments}


def ids(batch: int = 5, time: int = 6, seed: int = 0) -> np.ndarray:
    """Right-padded ids; the first row is full, the last is padding alone."""
    rng = np.random.default_rng(seed)
    lengths = np.linspace(time, 0, batch).astype(int)
    return np.where(np.arange(time) < lengths[:, None], rng.integers(1, VOCABULARY, (batch, time)), 0).astype(np.int32)


def labels(batch: int = 5) -> np.ndarray:
    """A label a row."""
    return np.arange(batch, dtype=np.int32) % CLASSES


WORDS = ("the", "film", "was", "n't", "good", ",", "but", "caf\u00e9", "bad", "!", "it", "very", "long", "short")
CHARS = "abcdefghilmnorstuvwxy"
LABELS = ["d\u00e9j\u00e0", "no", "yes"]


def bundle(name: str, oov: str = "unk", **arguments: Any) -> ClassificationBundle:
    """An untrained classifier that knows ``WORDS``."""
    chars = CHARS if arguments.get("char_filters") else ""
    vocabulary = Vocabulary(WORDS, 4, oov, chars)
    sizes = {"vocab_size": vocabulary.size, "num_chars": vocabulary.num_chars}
    arguments = {**tiny_arguments(name), **sizes, **arguments}
    config = {"model": name, "arguments": arguments, "training": {"dataset": "none"}}
    return ClassificationBundle(zoo.build(name, **arguments), config, vocabulary, LABELS, {}, None)


def written_sizes(folder: Path) -> list[int]:
    """How many numbers each variable of a SavedModel has, in order of size."""
    variables = tf.train.list_variables(str(folder / "variables" / "variables"))
    return sorted(int(np.prod(shape)) for name, shape in variables if not name.startswith("_CHECKPOINTABLE"))
