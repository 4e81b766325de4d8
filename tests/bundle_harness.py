"""Untrained bundles of every task, which know a few words, and what a SavedModel holds."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

import dense_lstm_zoo as zoo
from dense_lstm_zoo import tasks
from dense_lstm_zoo.bundles.bundle import Bundle
from dense_lstm_zoo.classification.vocabulary import Vocabulary
from dense_lstm_zoo.language.vocabulary import LanguageVocabulary
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.tagging.vocabulary import TaggingVocabulary
from tests.model_harness import FROZEN, TAGS, tiny_arguments

WORDS = ("the", "film", "was", "n't", "good", ",", "but", "caf\u00e9", "bad", "!", "it", "very", "long", "short")
CHARS = "abcdefghilmnorstuvwxy"
LABELS = ["d\u00e9j\u00e0", "no", "yes"]
HISTORY = {"epoch": [1, 2], "loss": [0.7, 0.6], "val_loss": [0.8, 0.7]}


def bundle(name: str, oov: str = "unk", **arguments: Any) -> Bundle:
    """An untrained model that knows ``WORDS``. Its layers run the native kernel, for which XLA compiles nothing."""
    task = tasks.find(registry.entry(name).task)
    whole_words = bool(arguments.get("char_filters"))
    vocabulary: Any
    if task.name == "classification":
        labels, text = LABELS, {"num_frozen_words": FROZEN, "oov": oov, "chars": CHARS if whole_words else ""}
        vocabulary = Vocabulary(WORDS, **text)
        sizes = {"vocab_size": vocabulary.size, "num_chars": vocabulary.num_chars}
    elif task.name == "tagging":
        text = {"num_frozen_words": FROZEN, "case": arguments.get("case", "binary"), "whole_words": whole_words}
        labels, vocabulary = [f"T{i}" for i in range(TAGS)], TaggingVocabulary(WORDS, CHARS, **text)
        text = {**text, "chars": CHARS}
        sizes = {"vocab_size": vocabulary.size, "num_chars": vocabulary.num_chars}
    else:
        labels, text, vocabulary = [], {}, LanguageVocabulary((*WORDS, "<eos>", "<unk>"))
        sizes = {"vocab_size": len(vocabulary)}
    native = {"kernel": "native"} if "kernel" in registry.entry(name).arguments else {}
    arguments = registry.resolve(name, {**tiny_arguments(name), **native, **sizes, **arguments})
    config = {"task": task.name, "model": name, "arguments": arguments, "text": text}
    config |= {"training": {"dataset": "none", "seed": 1}, "versions": {}}
    history = pd.DataFrame({**HISTORY, task.measure: 0.5, f"val_{task.measure}": 0.5})
    new_bundle: Bundle = task.bundle_class(zoo.build(name, **arguments), config, vocabulary, labels, {}, history)
    return new_bundle


SPAN_TAGS = ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]


def span_tagger(*, crf: bool = True, seed: int = 3) -> Bundle:
    """A tagger with random weights, whose tags mark spans."""
    tagger = with_random_weights(bundle("bilstm_tagger", crf=crf, num_tags=len(SPAN_TAGS)), seed)
    tagger.labels = list(SPAN_TAGS)
    return tagger


def with_random_weights(bundle: Bundle, seed: int = 3, scale: float = 0.4) -> Bundle:
    """Return the bundle with weights that are large enough for anything to show."""
    rng = np.random.default_rng(seed)
    bundle.model.set_weights([rng.normal(scale=scale, size=w.shape) for w in bundle.model.get_weights()])
    return bundle


def written_sizes(folder: Path) -> list[int]:
    """Return the number of values in each variable of a SavedModel, in order of size."""
    variables = tf.train.list_variables(str(folder / "variables" / "variables"))
    return sorted(int(np.prod(shape)) for name, shape in variables if not name.startswith("_CHECKPOINTABLE"))


def seal(folder: Path) -> None:
    """Write the manifest anew, as one who knows the format would."""
    files = {file.name: file for file in folder.iterdir() if file.name != "manifest.json" and file.is_file()}
    sums = {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items()}
    body = json.dumps({"format": 2, "sha256": sums}, indent=2, sort_keys=True)
    sealed = hashlib.sha256(body.encode()).hexdigest()
    (folder / "manifest.json").write_text(f"{body}\nsha256 of the above: {sealed}\n")


def sealed_copy(source: Path, folder: Path) -> Path:
    """A copy of a bundle, sealed again."""
    shutil.copytree(source, folder)
    seal(folder)
    return folder


def refused(folder: Path, message: str) -> None:
    """Expect that the folder, sealed again, is refused with that message."""
    seal(folder)
    with pytest.raises(zoo.BundleError, match=message):
        zoo.load(folder)
