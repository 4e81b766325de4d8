"""Training a language model: running text in windows, the state carried along, perplexity."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dense_lstm_zoo.data import word_source
from dense_lstm_zoo.data.text_file import TextFile, TextSource, num_tokens, token_lines
from dense_lstm_zoo.data.vectors import VectorReport
from dense_lstm_zoo.data.words import is_unspaced
from dense_lstm_zoo.language.batches import TrainingWindows, check_length, evaluation_windows
from dense_lstm_zoo.language.bundle import LanguageModelBundle
from dense_lstm_zoo.language.corpus import LanguageCorpus
from dense_lstm_zoo.language.encoder import word_table_of
from dense_lstm_zoo.language.vectors import read_new_vectors, read_vectors
from dense_lstm_zoo.language.vocabulary import LanguageVocabulary
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.tasks.options import Options
from dense_lstm_zoo.training.job import FitData, Job

if TYPE_CHECKING:
    import keras
    import pandas as pd

    from dense_lstm_zoo.bundles.bundle import Bundle
    from dense_lstm_zoo.corpora.corpus import AnyCorpus

_BLOCK = 1 << 20  # ids


class LanguageModelJob(Job):
    """Trains a language model and keeps the epoch with the lowest dev perplexity.

    A text file is never held in memory: its ids are written to the run's folder and mapped.
    """

    CORPUS, NEEDS = LanguageCorpus, "A language model needs a LanguageCorpus of text"

    def __init__(self, corpus: LanguageCorpus, options: Options, source: Bundle | None = None) -> None:
        corpus = self.with_dev_part(corpus, options)
        assert corpus.dev is not None
        self.corpus, self.dev, self.options = corpus, corpus.dev, options
        check_length(num_tokens(corpus.train), options.batch_size, options.num_steps)
        words = LanguageVocabulary.from_text(corpus.train, options.max_words, options.min_count)
        self.vocabulary = dataclasses.replace(words, direction=options.direction)
        self.vectors = None
        self.source_table: tuple[str, str] | None = None
        self.vector_report: VectorReport | None = None
        self.new_vectors: dict[str, np.ndarray] = {}  # of words that the source does not know
        vectors = None if options.vectors == word_source.NONE else options.vectors
        if source is None and vectors is not None:
            self.vectors = read_vectors(vectors, self.vocabulary, options.seed)
            self.vector_report = self.vectors.report
        if source is not None:
            source_words, self.source_table = source.vocabulary, word_table_of(source.config)
            if source_words.direction != options.direction:
                raise ValueError(
                    f"init_from is a {source_words.direction} language model; received direction={options.direction!r}."
                    " A model goes on in its own direction."
                )
            source_set = set(source_words.words)
            more = [word for word in self.vocabulary.words if word not in source_set]
            if vectors is not None:
                dim = source.network.get_layer("embedding").output_dim
                self.new_vectors, self.vector_report = read_new_vectors(vectors, more, dim)
            if not options.learns_words:
                more = [word for word in more if word in self.new_vectors]
            self.vocabulary = source_words.with_more(more, options.max_words)
            self.new_words = len(self.vocabulary) - len(source_words)

    @classmethod
    def with_dev_part(cls, corpus: LanguageCorpus, options: Options) -> LanguageCorpus:
        """Return the corpus, which must have a dev text."""
        if corpus.dev is None:
            raise ValueError(
                f"{corpus.name} has no dev text to choose the best epoch on; give one (dev_file, --dev-file)."
            )
        return corpus

    @staticmethod
    def is_empty(part: Iterable[str]) -> bool:
        """Return whether a text has no token."""
        return next(iter(token_lines(part)), None) is None

    @property
    def is_unspaced(self) -> bool:
        """True where whole phrases are its words, for want of spaces."""
        return is_unspaced(dict.fromkeys(self.vocabulary.words, 1))

    @property
    def labels(self) -> list[str]:
        """None: its classes are its words."""
        return []

    @staticmethod
    def token_rows(part: Iterable[str]) -> Iterator[Iterable[str]]:
        """Return the tokens of each line, one by one where a line is long."""
        return token_lines(part)

    def summary(self) -> str:
        """Return a summary of the corpus and of how much of it the vectors cover."""
        parts = (self.corpus, self.vector_report, self.vectors.summary() if self.vectors else None)
        return "\n".join(str(part) for part in parts if part is not None)

    def cautions(self) -> dict[str, str]:
        """Return a sentence that warns of vectors which few of the words have."""
        if self.vectors is None or not self.vectors.is_little:
            return {}
        return {
            "words_without_vectors": f"{self.vectors.summary()}. The others start from random numbers; name vectors of "
            'the language of these texts, or train without any (vectors="none", --vectors none).'
        }

    def model_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the size of the vocabulary, and the length of the vectors."""
        size = {"vocab_size": len(self.vocabulary)}
        if self.vectors is None:
            return size
        dim = self.vectors.matrix.shape[1]
        if arguments.get("embedding_dim") not in (None, dim):
            raise ValueError(f"embedding_dim={arguments['embedding_dim']}, but {self.options.vectors} has {dim}.")
        return {**size, "embedding_dim": dim}

    def weights(self) -> dict[str, Any]:
        """Return the word vectors."""
        return {} if self.vectors is None else {"embedding_matrix": self.vectors.matrix}

    def config(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the window length and the vocabulary's arguments."""
        return {
            "text": self.vocabulary.settings,
            "training": {
                "data_sha256": self.fingerprint(self.corpus),
                **self._vectors_config(arguments),
                **({"new_word_vectors": Path(self.options.vectors).name} if self.new_vectors else {}),
                "num_steps": self.options.num_steps,
                "max_words": self.options.max_words,
                "min_count": self.options.min_count,
            },
        }

    def _vectors_config(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return whose vectors the words have: those read, or a table's that the source had and training keeps."""
        if self.vectors is not None:
            return self.vectors.config
        is_trained = arguments.get("trainable_embeddings", True) is not False
        if self.source_table is None or is_trained:
            return {}
        name, sha256 = self.source_table
        if self.new_vectors:
            table = word_source.table(self.options.vectors)
            if table is None or table.sha256 != sha256:
                return {}
        return {"vectors": name, "vectors_sha256": sha256}

    def fit_data(self, model: keras.Model, config: Mapping[str, Any], folder: Path) -> FitData:
        """Return the windows of the training and the dev text."""
        batch_size, num_steps = self.options.batch_size, self.options.num_steps
        text = self._encode(self.corpus.train, folder / "train.npy")
        train = TrainingWindows(text, batch_size=batch_size, num_steps=num_steps)
        if model.sampled_softmax is not None:  # ids of a model that goes on with another text are not its ranks
            model.rank_words(_counts(text, len(self.vocabulary)))
        dev = self._encode(self.dev, folder / "dev.npy")
        dev_windows = evaluation_windows(dev, min(10, len(dev) - 1), num_steps)
        carried = model.carried_states(True, batch_size)
        return FitData(train.dataset, dev_windows.dataset, lambda first: train.start_at(first).dataset, carried=carried)

    def bundle(
        self, model: keras.Model, config: dict[str, Any], history: pd.DataFrame, dev_curve: pd.DataFrame | None
    ) -> LanguageModelBundle:
        """Return the bundle."""
        return LanguageModelBundle(model, config, self.vocabulary, self.labels, {}, history, dev_curve=dev_curve)

    def _encode(self, source: TextSource, path: Path) -> np.ndarray:
        if isinstance(source, TextFile):
            return self.vocabulary.encode_to_file(source, path)
        return self.vocabulary.encode(source)

    @staticmethod
    def fingerprint(corpus: AnyCorpus) -> str:
        """Return a checksum of all text. A run resumes only on the same text."""
        digest = hashlib.sha256()
        for source in (corpus.train, corpus.dev, corpus.test):
            if isinstance(source, TextFile):
                source_sum = repr((files.sha256(source.path), source.encoding, source.start, source.stop))
            else:
                source_sum = repr(source)
            digest.update(hashlib.sha256(source_sum.encode("utf-8", "replace")).digest())
        return digest.hexdigest()


def _counts(ids: np.ndarray, words: int) -> np.ndarray:
    """Return how often each word occurs in a text, which may be larger than memory."""
    blocks = (ids[start : start + _BLOCK] for start in range(0, len(ids), _BLOCK))
    return sum((np.bincount(block, minlength=words) for block in blocks), np.zeros(words, np.int64))
