"""Training a tagger: tagged sentences, word vectors, accuracy by token."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import tensorflow as tf

from dense_lstm_zoo.data.batching import MAX_TOKENS, ShuffledBatches, generated, plan_predictions
from dense_lstm_zoo.models.registry import network
from dense_lstm_zoo.tagging import distillation
from dense_lstm_zoo.tagging.batches import TaggedExamples
from dense_lstm_zoo.tagging.bundle import TaggingBundle
from dense_lstm_zoo.tagging.corpus import RARE, TaggingCorpus, merge_rare_tags
from dense_lstm_zoo.tagging.vocabulary import (
    TaggingVocabulary,
    build_tagging_vocabulary,
    carry_tagging_vocabulary,
)
from dense_lstm_zoo.tasks.options import Options
from dense_lstm_zoo.training import taught
from dense_lstm_zoo.training.class_weights import check_loss, in_config, weights_of
from dense_lstm_zoo.training.job import FitData, WordVectorJob
from dense_lstm_zoo_runtime.schemes import SchemeError, scheme_of

_DEV_FRACTION = 0.1  # of soft labels, where there is no dev part

if TYPE_CHECKING:
    import keras
    import numpy as np
    import pandas as pd

    from dense_lstm_zoo.bundles.bundle import Bundle
    from dense_lstm_zoo.corpora.corpus import AnyCorpus
    from dense_lstm_zoo.tagging.corpus import TaggedSplit


def _with_own_tags(corpus: TaggingCorpus) -> TaggingCorpus:
    """Return the corpus to train on: its dev and test tags alone, without the probabilities that may be beside them.

    Raises:
        ValueError: A tag with the name of rare tags.
    """
    train, dev, test = corpus.train, corpus.dev, corpus.test
    if not train.is_soft and any(RARE in tags for tags in train.tags):  # a teacher may have merged its rare tags
        raise ValueError(
            f"{corpus.name} has a tag {RARE!r}, which stands for rare tags and is never right; give it another name."
        )
    dev, test = (part and part.with_hard_tags() for part in (dev, test))
    return dataclasses.replace(corpus, dev=dev, test=test)


class TaggingJob(WordVectorJob):
    """Trains a tagger and keeps the epoch with the best dev accuracy per token."""

    CORPUS, NEEDS = TaggingCorpus, "A tagger needs a TaggingCorpus of tagged sentences"
    PARTS: ClassVar[tuple[str, ...]] = ("train", "dev", "test")

    def __init__(self, corpus: TaggingCorpus, options: Options, source: Bundle | None = None) -> None:
        taught.check(corpus, options, "a file NAME.probabilities.jsonl beside NAME.conll")
        corpus = self.with_dev_part(_with_own_tags(corpus), options)
        self.corpus, self.options = merge_rare_tags(corpus, options.min_tag_count), options
        if len(self.corpus.tag_names) < 2:
            raise ValueError(
                f"{corpus.name} has one tag, {self.corpus.tag_names[0]!r}, for all {corpus.train.num_tokens:,} tokens "
                "of train; a tagger needs at least two. Give the tags' column (tag_column, --tag-column) or a smaller "
                "min_tag_count (--min-tag-count)."
            )
        self.source = source
        self.tag_weights = self._tag_weights()
        vectors: dict[str, Any] = {
            "vectors": options.vectors,
            "vector_words": options.vector_words,
            "seed": options.seed,
        }
        tokens = self.corpus.train.tokens
        if source is None:
            self.words = build_tagging_vocabulary(tokens, **vectors)
        else:
            matrix = network(source.model).get_layer("embedding").get_matrix()
            trained = {"learns": options.learns_words, "learns_chars": options.learns_chars}
            self.words = carry_tagging_vocabulary(source.vocabulary, matrix, tokens, **trained, **vectors)
            self.new_words = self.words.new

    @classmethod
    def with_dev_part(cls, corpus: TaggingCorpus, options: Options) -> TaggingCorpus:
        """Return a corpus with a dev part, which is cut off training sentences only where they have soft labels."""
        if corpus.train.is_soft:
            corpus = corpus.with_dev(options.dev_fraction or _DEV_FRACTION, options.seed)
        if corpus.dev is None:
            raise ValueError(
                f"{corpus.name} has no dev sentences to choose the best epoch on; give some (dev_file, --dev-file)."
            )
        return corpus

    def _tag_weights(self) -> dict[int, float] | None:
        """Return the weight of each tag's index in the training loss, or None if all tokens count the same."""
        if self.options.class_weights is None:
            return None
        counts = Counter(tag for tags in self.corpus.train.tags for tag in tags)
        names = self.corpus.tag_names
        return weights_of(self.options.class_weights, names, [counts[name] for name in names], "tag")

    @property
    def labels(self) -> list[str]:
        """Names of the tags."""
        return list(self.corpus.tag_names)

    @staticmethod
    def token_rows(part: TaggedSplit) -> list[list[str]]:
        """Return the tokens of each sentence."""
        return part.tokens

    def summary(self) -> str:
        """Return a summary of the corpus, of how much of it the vectors cover, and of its teacher."""
        train = self.corpus.train
        teaching = [taught.summary(train, self.labels, self.options)] if train.is_soft else []
        return "\n".join([super().summary(), *teaching])

    def cautions(self) -> dict[str, str]:
        """Return sentences about tags that seem to mark spans, but in no scheme, and about dev tags of a teacher."""
        cautions = {} if self.corpus.dev.labelled.any() else {"taught_dev": taught.CAUTION}
        try:
            scheme_of(self.labels)
        except SchemeError as error:
            return {**cautions, **({"no_spans": f"Spans will not be scored. {error}"} if error.is_doubtful else {})}
        return cautions

    @classmethod
    def fingerprint(cls, corpus: AnyCorpus, matrix: np.ndarray | None = None) -> str:
        """Return a checksum of a corpus, its soft labels and word vectors."""
        digest, train = super().fingerprint(corpus, matrix), corpus.train
        if not train.is_soft:
            return digest
        whole = hashlib.sha256(digest.encode() + repr(train.tag_names).encode() + train.labelled.tobytes())
        for shares in train.probabilities:
            whole.update(shares.tobytes())
        return whole.hexdigest()

    def model_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the numbers of words, characters and tags, and the length of the vectors."""
        sizes = {"num_chars": self.words.vocabulary.num_chars, "num_tags": len(self.corpus.tag_names)}
        return {**super().model_arguments(arguments), **sizes}

    def config(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the vocabulary's arguments and the source of the word vectors.

        Raises:
            ValueError: Class weights for a trained model with a conditional random field.
        """
        weights = self.options.class_weights
        check_loss(weights, arguments)
        reads = {"case": arguments["case"], "whole_words": arguments["char_filters"] > 0}
        columns = self.corpus.columns
        return {
            "text": dataclasses.replace(self.words.vocabulary, **reads).settings,
            "training": {
                "data_sha256": self.fingerprint(self.corpus, self.words.matrix),
                "min_tag_count": self.options.min_tag_count,
                **({} if weights is None else {"class_weights": in_config(weights)}),
                **(
                    {} if self.options.max_batch_tokens is None else {"max_batch_tokens": self.options.max_batch_tokens}
                ),
                **self.vector_config(),
                **({"columns": columns} if columns else {}),
                **taught.record(self.corpus.train, self.options),
            },
        }

    def _vocabulary(self, config: Mapping[str, Any]) -> TaggingVocabulary:
        return TaggingVocabulary(self.words.vocabulary.words, **config["text"])

    def fit_data(self, model: keras.Model, config: Mapping[str, Any], folder: Path) -> FitData:
        """Return batches bucketed by length."""
        assert self.corpus.dev is not None  # checked when the job was created
        tokens_to_ids = self._vocabulary(config).tokens_to_ids()
        signature = tokens_to_ids.signature, tf.TensorSpec((None, None), tf.int32)
        of_training, options = signature, self.options
        if self.corpus.train.is_soft:
            distillation.compile_student(model, options.temperature or 1.0, options.hard_weight or 0.0)
            of_training = signature[0], tf.TensorSpec((None, None, 1 + len(self.labels)), tf.float32)
        tags = {tag: i for i, tag in enumerate(self.corpus.tag_names)}
        train = TaggedExamples(
            tokens_to_ids, self.corpus.train, tags, self.tag_weights, temperature=options.temperature or 1.0
        )
        batches = ShuffledBatches(
            train.lengths,
            train.collate,
            of_training if self.tag_weights is None else (*of_training, tf.TensorSpec((None, None), tf.float32)),
            batch_size=self.options.batch_size,
            seed=self.options.seed,
            max_tokens=self.options.max_batch_tokens or MAX_TOKENS,
        )
        known_tags = {tag: i for tag, i in tags.items() if tag != RARE}  # a rare tag of dev is never right
        dev = TaggedExamples(tokens_to_ids, self.corpus.dev, known_tags)
        plan = [dev.collate(indices) for indices in plan_predictions(dev.lengths)]
        dev_batches = generated(lambda: iter(plan), signature, len(plan))
        return FitData(
            *(batches.dataset, dev_batches, batches.start_at, [batches]),
            batch_tokens=batches.median_tokens,
            real_share=batches.real_share,
        )

    def bundle(
        self, model: keras.Model, config: dict[str, Any], history: pd.DataFrame, dev_curve: pd.DataFrame | None
    ) -> TaggingBundle:
        """Return the bundle."""
        if self.corpus.train.is_soft:
            distillation.compile_as_built(model)
        return TaggingBundle(model, config, self._vocabulary(config), self.labels, {}, history, dev_curve=dev_curve)
