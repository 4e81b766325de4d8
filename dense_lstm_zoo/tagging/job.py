"""Training a tagger: tagged sentences, word vectors, accuracy by token."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
import tensorflow as tf

from dense_lstm_zoo import checks
from dense_lstm_zoo.data.batching import ShuffledBatches, generated, pad, plan_batches
from dense_lstm_zoo.job import FitData
from dense_lstm_zoo.recipe import Recipe
from dense_lstm_zoo.tagging.bundle import TaggingBundle
from dense_lstm_zoo.tagging.corpus import RARE, TaggedSplit, TaggingCorpus, merge_rare_tags
from dense_lstm_zoo.tagging.vocabulary import TaggingVocabulary, build_tagging_vocabulary
from dense_lstm_zoo.word_vector_job import WordVectorJob

if TYPE_CHECKING:
    import keras

    from dense_lstm_zoo.bundle import Bundle


class TaggingJob(WordVectorJob):
    """A tagger: the epoch with the best dev accuracy by token is kept."""

    DEFAULTS = Recipe(name="", source="", models={}, batch_size=32, epochs=30, patience=5)
    CORPUS, NEEDS = TaggingCorpus, "A tagger needs a TaggingCorpus of tagged sentences"
    OPTIONS: ClassVar[Mapping[str, Any]] = {"vectors": None, "vector_words": 50_000, "min_tag_count": 1}
    PARTS: ClassVar[tuple[str, ...]] = ("train", "dev", "test")

    def __init__(self, corpus: Any, options: dict[str, Any], settings: dict[str, Any], recipe: Recipe) -> None:
        if corpus.dev is None:
            raise ValueError(f"{corpus.name} has no dev sentences to choose the best epoch on: give some (dev_file).")
        self.min_tag_count = checks.integer("min_tag_count", options["min_tag_count"])
        self.corpus = merge_rare_tags(corpus, self.min_tag_count)
        self.vectors, self.vector_words, self.seed = options["vectors"], options["vector_words"], settings["seed"]
        self.words = build_tagging_vocabulary(
            self.corpus.train.tokens, vectors=self.vectors, vector_words=self.vector_words, seed=self.seed
        )

    def model_arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sizes of vocabulary, characters, tags and vectors."""
        sizes = {"num_chars": self.words.vocabulary.num_chars, "num_tags": len(self.corpus.tag_names)}
        return {**super().model_arguments(given), **sizes}

    def config(self) -> dict[str, Any]:
        """Return what the vocabulary needs, and where the words come from."""
        vocabulary = self.words.vocabulary
        return {
            "text": {"chars": vocabulary.chars, "num_frozen_words": vocabulary.num_frozen_words},
            "training": {
                "data_sha256": self.fingerprint(self.corpus, self.words.matrix),
                "min_tag_count": self.min_tag_count,
                **self.vector_config(),
                **({"columns": self.corpus.columns} if self.corpus.columns else {}),
            },
        }

    def bundle(self, model: keras.Model, config: dict[str, Any]) -> TaggingBundle:
        """Return the bundle."""
        arguments = config["arguments"]
        config["text"] |= {"case": arguments["case"], "whole_words": arguments["char_filters"] > 0}
        vocabulary = TaggingVocabulary(self.words.vocabulary.words, **config["text"])
        return TaggingBundle(model, config, vocabulary, list(self.corpus.tag_names), {}, pd.DataFrame())

    def fit_data(self, bundle: Bundle, folder: Path) -> FitData:
        """Return batches bucketed by length."""
        assert isinstance(bundle, TaggingBundle)
        assert self.corpus.dev is not None  # checked when the job was made
        training = bundle.config["training"]
        signature = bundle.tokens_to_ids.signature, tf.TensorSpec((None, None), tf.int32)
        train = _Examples(bundle, self.corpus.train, unknowable=())
        batches = ShuffledBatches(
            train.lengths, train.collate, signature, batch_size=training["batch_size"], seed=training["seed"]
        )
        dev = _Examples(bundle, self.corpus.dev, unknowable=(RARE,))
        plan = [dev.collate(indices) for indices in plan_batches(dev.lengths, 64)]
        return FitData(batches.dataset, generated(lambda: iter(plan), signature, len(plan)), [batches])


class _Examples:
    """The ids and tags of a split's sentences, ready to be batched."""

    def __init__(self, bundle: TaggingBundle, split: TaggedSplit, unknowable: tuple[str, ...]) -> None:
        self.rows = bundle.encode(split.tokens)
        ids = {tag: i for i, tag in enumerate(bundle.labels) if tag not in unknowable}
        self.tags = [np.array([ids.get(tag, -2) for tag in tags], np.int32) for tags in split.tags]
        self.lengths = [len(tags) for tags in self.tags]

    def collate(self, indices: np.ndarray) -> tuple[Any, np.ndarray]:
        """Return a batch: padded ids, and tags padded with -1."""
        return pad([self.rows[i] for i in indices]), pad([self.tags[i] for i in indices], value=-1)
