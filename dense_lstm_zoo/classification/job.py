"""Training a sentence classifier: labelled texts, word vectors, accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from dense_lstm_zoo.classification.bundle import ClassificationBundle
from dense_lstm_zoo.classification.corpus import Corpus, split_dev
from dense_lstm_zoo.classification.dev_curve import DevCurve
from dense_lstm_zoo.classification.vocabulary import build_vocabulary
from dense_lstm_zoo.data.batching import TrainingBatches, evaluation_batches, predict_logits
from dense_lstm_zoo.job import FitData
from dense_lstm_zoo.recipe import Recipe
from dense_lstm_zoo.word_vector_job import WordVectorJob

if TYPE_CHECKING:
    import keras

    from dense_lstm_zoo.bundle import Bundle


class ClassificationJob(WordVectorJob):
    """A classifier: the epoch with the best dev accuracy is kept; a corpus without a dev set gives up a share."""

    DEFAULTS = Recipe(name="", source="", models={})
    CORPUS, NEEDS = Corpus, "A classifier needs a Corpus of labelled texts"
    OPTIONS: ClassVar[Mapping[str, Any]] = {
        **{"vectors": None, "vector_words": 50_000, "oov": None},
        "dev_every": None,
    }
    PARTS: ClassVar[tuple[str, ...]] = ("label_names", "train", "dev", "test")

    def __init__(self, corpus: Any, options: dict[str, Any], settings: dict[str, Any], recipe: Recipe) -> None:
        self.corpus = split_dev(corpus, fraction=recipe.dev_fraction, seed=settings["seed"])
        self.vectors, self.dev_every = options["vectors"], options["dev_every"]
        words = {name: options[name] for name in ("vectors", "vector_words", "oov")}
        self.words = build_vocabulary(self.corpus.train.texts, **words)

    def found(self) -> str:
        """Return the corpus, how it will be scored, and how much of it the vectors cover."""
        if self.corpus.test is not None:
            return super().found()
        return f"{super().found()}\nIt has no test texts: folds=10 (--folds 10) would score it by cross-validation."

    def model_arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sizes of vocabulary, characters, classes and vectors."""
        sizes = {"num_chars": self.words.with_chars.num_chars, "num_classes": len(self.corpus.label_names)}
        return {**super().model_arguments(given), **sizes}

    def config(self) -> dict[str, Any]:
        """Return what the vocabulary needs, and where the words come from."""
        vocabulary = self.words.vocabulary
        return {
            "text": {"num_frozen_words": vocabulary.num_frozen_words, "oov": vocabulary.oov},
            "training": {
                "data_sha256": self.fingerprint(self.corpus, self.words.matrix),
                **self.vector_config(),
                **({"columns": self.corpus.columns} if self.corpus.columns else {}),
                **({} if self.dev_every is None else {"dev_every": self.dev_every}),
            },
        }

    def bundle(self, model: keras.Model, config: dict[str, Any]) -> ClassificationBundle:
        """Return the bundle."""
        vocabulary = self.words.with_chars if config["arguments"]["char_filters"] else self.words.vocabulary
        config["text"]["chars"] = vocabulary.chars
        return ClassificationBundle(model, config, vocabulary, list(self.corpus.label_names), {}, pd.DataFrame())

    def fit_data(self, bundle: Bundle, folder: Path) -> FitData:
        """Return batches bucketed by length."""
        assert isinstance(bundle, ClassificationBundle)
        training, train, dev = bundle.config["training"], self.corpus.train, self.corpus.dev
        assert dev is not None  # split_dev made one
        encode = bundle.text_to_ids.encode
        batches = TrainingBatches(
            encode(train.texts), train.labels, batch_size=training["batch_size"], seed=training["seed"]
        )
        rows, callbacks = encode(dev.texts), [batches]
        if self.dev_every is not None:
            labels = np.array(dev.labels)

            def score() -> float:
                return float((predict_logits(bundle.logits_of, rows).argmax(axis=1) == labels).mean())

            callbacks.append(DevCurve(folder, self.dev_every, score))
        return FitData(batches.dataset, evaluation_batches(rows, dev.labels), callbacks)
