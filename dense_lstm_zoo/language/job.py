"""Training a language model: running text in windows, the state carried along, perplexity."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from dense_lstm_zoo import checks, files
from dense_lstm_zoo.job import FitData, Job
from dense_lstm_zoo.language.batches import TrainingWindows, check_length, evaluation_windows
from dense_lstm_zoo.language.bundle import LanguageModelBundle
from dense_lstm_zoo.language.corpus import LanguageCorpus, TextFile, TextSource, num_tokens
from dense_lstm_zoo.language.vocabulary import LanguageVocabulary
from dense_lstm_zoo.recipe import Recipe

if TYPE_CHECKING:
    import keras

    from dense_lstm_zoo.bundle import Bundle


class LanguageModelJob(Job):
    """A language model: the epoch with the lowest dev perplexity is kept.

    A text file is never held in memory: its ids are written to the run's folder and mapped.
    """

    # Godin et al. 2017 with the shorter schedule of the recipes that say so.
    DEFAULTS = Recipe(
        name="",
        source="",
        models={},
        batch_size=20,
        num_steps=35,
        learning_rate_decay=0.85,
        decay_after=6,
        epochs=30,
        patience=5,
    )
    CORPUS, NEEDS = LanguageCorpus, "A language model needs a LanguageCorpus of text"
    OPTIONS: ClassVar[Mapping[str, Any]] = {"num_steps": None, "max_words": None, "min_count": 1}

    def __init__(self, corpus: Any, options: dict[str, Any], settings: dict[str, Any], recipe: Recipe) -> None:
        if corpus.dev is None:
            raise ValueError(f"{corpus.name} has no dev text to choose the best epoch on: give one (dev_file).")
        self.corpus, self.dev = corpus, corpus.dev
        given = options["num_steps"]
        self.num_steps = checks.integer("num_steps", recipe.num_steps if given is None else given)
        self.max_words, self.min_count = options["max_words"], options["min_count"]
        if self.max_words is not None:
            checks.integer("max_words", self.max_words, minimum=2)
        check_length(num_tokens(corpus.train), settings["batch_size"], self.num_steps)
        self.vocabulary = LanguageVocabulary.from_text(corpus.train, self.max_words, self.min_count)

    def found(self) -> str:
        """Return the corpus."""
        return str(self.corpus)

    def model_arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the size of the vocabulary."""
        return {"vocab_size": len(self.vocabulary)}

    def config(self) -> dict[str, Any]:
        """Return how text is cut and which words are known."""
        return {
            "text": {},
            "training": {
                "data_sha256": self.fingerprint(self.corpus),
                "num_steps": self.num_steps,
                "max_words": self.max_words,
                "min_count": self.min_count,
            },
        }

    def bundle(self, model: keras.Model, config: dict[str, Any]) -> LanguageModelBundle:
        """Return the bundle."""
        return LanguageModelBundle(model, config, self.vocabulary, [], {}, pd.DataFrame())

    def fit_data(self, bundle: Bundle, folder: Path) -> FitData:
        """Return the windows of the training and the dev text."""
        batch_size = bundle.config["training"]["batch_size"]
        train = TrainingWindows(
            self._encode(self.corpus.train, folder / "train.npy"), batch_size=batch_size, num_steps=self.num_steps
        )
        dev = self._encode(self.dev, folder / "dev.npy")
        return FitData(train.dataset, evaluation_windows(dev, min(10, len(dev) - 1), self.num_steps).dataset)

    def _encode(self, source: TextSource, path: Path) -> np.ndarray:
        if isinstance(source, TextFile):
            return self.vocabulary.encode_to_file(source, path)
        return self.vocabulary.encode(source)

    @staticmethod
    def fingerprint(corpus: LanguageCorpus) -> str:
        """Return one checksum of all text: what is resumed must have the same."""
        digest = hashlib.sha256()
        for source in (corpus.train, corpus.dev, corpus.test):
            if isinstance(source, TextFile):
                source_sum = repr((files.sha256(source.path), source.encoding, source.start, source.stop))
            else:
                source_sum = repr(source)
            digest.update(hashlib.sha256(source_sum.encode("utf-8", "replace")).digest())
        return digest.hexdigest()
