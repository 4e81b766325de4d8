"""A classifier that starts from a language model: the words and layers of a text encoder under a new last layer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keras
import numpy as np

from dense_lstm_zoo.bundles.folder import BundleFolder
from dense_lstm_zoo.classification.vocabulary import Vocabulary
from dense_lstm_zoo.tasks.options import Options
from dense_lstm_zoo.training.context_source import UNKNOWN_WORD, Encoder, load_encoder
from dense_lstm_zoo.training.job import Job, Source
from dense_lstm_zoo.training.origin import arguments_of, origin, set_words
from dense_lstm_zoo.training.overlap import check_overlap, refused_parts
from dense_lstm_zoo_runtime.rules import NEWEST

MODELS = ("lm_classifier",)  # those over a language model's own layers


@dataclass(frozen=True, eq=False)
class EncoderWords:
    """The words of an encoder, as a classifier's job reads them from a trained classifier."""

    encoder: Encoder

    @property
    def vocabulary(self) -> Vocabulary:
        """The encoder's words that a text of a classifier can have."""
        return Vocabulary(self.encoder.text_words, tokenizer=NEWEST)

    @property
    def train_texts(self) -> np.ndarray | None:
        """Hashes of the texts the encoder was trained on."""
        return self.encoder.train_texts

    def word_matrix(self) -> np.ndarray:
        """Return the vectors of padding, of unknown words and of the words, in the order of a classifier's ids."""
        vectors = self.encoder.word_vectors([UNKNOWN_WORD, *self.encoder.text_words])
        return np.concatenate([np.zeros_like(vectors[:1]), vectors])


@dataclass(eq=False)
class EncoderSource(Source):
    """A text encoder that a run goes on from, in place of a trained model.

    Args:
        folder: Its folder, or that of a language model.
        config: The folder's config.
        encoder: The encoder.
        trained: Its words.
        arguments: The arguments of the new model, except those that follow from its data.
        options: The options of the new run.
        overlap: The number of texts of each part that it was trained on, if they are more than a handful.
    """

    folder: Path
    config: Mapping[str, Any]
    encoder: Encoder
    trained: EncoderWords
    arguments: dict[str, Any]
    options: Options
    overlap: dict[str, int] = field(default_factory=dict)

    def check_overlap(self, job: Job) -> None:
        """Raise ``ValueError`` if the encoder was trained on texts of test, and count those of dev."""
        if self.encoder.train_texts is None:
            warnings.warn(
                f"{self.folder} does not record the texts it was trained on: whether the test texts are among them "
                "cannot be checked.",
                stacklevel=5,
            )
            return
        forced, refused = bool(self.options.force_overlap), refused_parts(self.config, type(job))
        self.overlap = check_overlap(
            self.encoder.train_texts, self.folder, type(job), job.corpus, forced=forced, refused=refused
        )

    def give(self, job: Job, model: keras.Model) -> None:
        """Give a new model's layers the weights of the encoder. Its words have their vectors already."""
        layer = model.get_layer("encoder")
        layer.eos.assign(self.encoder.eos_vector)
        for direction, stack in zip(self.encoder.directions, layer.stacks, strict=True):
            for weight, value in zip(stack.weights, self.encoder.weights[direction], strict=True):
                weight.assign(value)

    def provenance(self, job: Job) -> dict[str, Any]:
        """Return what the new model's config says about the encoder, for its ``training``."""
        sha256 = self.encoder.sha256
        return {"init_from": origin(self.folder, sha256, self.config, self.options, job, "new", self.overlap)}


def read_encoder_source(
    model: str,
    folder: BundleFolder,
    config: Mapping[str, Any],
    options: Options,
    own_arguments: Mapping[str, Any],
    recipe: str | None,
) -> EncoderSource:
    """Read a text encoder, or a language model as one. See ``transfer.read_source``.

    Raises:
        ValueError: Arguments for another encoder.
        BundleError: A damaged folder.
    """
    encoder = load_encoder(folder)
    theirs = {**encoder.sizes, "directions": len(encoder.directions), "char_filters": 0}
    arguments = arguments_of(model, folder.path, theirs, own_arguments, recipe)
    set_words(options, folder.path, config, arguments)
    return EncoderSource(folder.path, config, encoder, EncoderWords(encoder), arguments, options)
