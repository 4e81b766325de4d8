"""What a task brings to ``train``: its data, its words, its bundle, how an epoch is judged and the best one scored."""

from __future__ import annotations

import abc
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dense_lstm_zoo.task import Options

if TYPE_CHECKING:
    import keras
    import numpy as np
    import pandas as pd
    import tensorflow as tf

    from dense_lstm_zoo.bundle import Bundle


@dataclass
class FitData:
    """What ``fit`` reads: the training and the dev set, and callbacks that belong to them."""

    training: tf.data.Dataset
    dev: tf.data.Dataset
    callbacks: list[keras.callbacks.Callback] = field(default_factory=list)


class Job(abc.ABC):
    """One training run of one task, from a corpus to a scored bundle; ``train`` calls its parts in their order.

    Making one reads the corpus and builds the vocabulary.

    Args:
        corpus: What ``load_corpus`` returned, or the same made by hand.
        options: The task's options, each with its value.
    """

    CORPUS: ClassVar[type]  # which has ``dev`` and ``test``
    NEEDS: ClassVar[str]  # how the error begins for anything else

    corpus: Any
    options: Options

    @abc.abstractmethod
    def __init__(self, corpus: Any, options: Options) -> None: ...

    @abc.abstractmethod
    def found(self) -> str:
        """Return what the words came to, for the person who watches; empty for nothing."""

    @abc.abstractmethod
    def model_arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the model's arguments that follow from the data; ``given`` is what the user asked for."""

    @abc.abstractmethod
    def config(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the bundle's ``text`` (arguments of its vocabulary) and what to add to its ``training``.

        ``arguments`` are the model's, all of them.
        """

    @abc.abstractmethod
    def fit_data(self, model: keras.Model, config: Mapping[str, Any], folder: Path) -> FitData:
        """Return the data for ``fit``; ``folder`` takes files that the run needs while it lasts."""

    @abc.abstractmethod
    def bundle(
        self, model: keras.Model, config: dict[str, Any], history: pd.DataFrame, dev_curve: pd.DataFrame | None
    ) -> Bundle:
        """Return the bundle of a trained model, which has no scores yet."""

    @classmethod
    def check_corpus(cls, corpus: Any) -> None:
        """Raise ``ValueError`` for what is no corpus of this task."""
        if not isinstance(corpus, cls.CORPUS):
            raise ValueError(f"{cls.NEEDS}; received {type(corpus).__name__}.")

    @staticmethod
    @abc.abstractmethod
    def fingerprint(corpus: Any) -> str:
        """Return one checksum of all data of a corpus: what is resumed must have the same."""

    def score(self, bundle: Bundle) -> dict[str, Any]:
        """Score dev and test, the only time that the test texts are; return the metrics, which the bundle keeps."""
        return bundle.rescore(dev=self.corpus.dev, test=self.corpus.test)

    def weights(self) -> dict[str, Any]:
        """Return arguments of the model that only fill its weights and so belong into no config."""
        return {}


class WordVectorJob(Job):
    """A job whose words may begin with vectors from a file: what classifiers and taggers have in common.

    ``words`` is the built vocabulary (with ``vocabulary``, ``matrix``, ``coverage`` and ``report``).
    """

    PARTS: ClassVar[tuple[str, ...]]  # what of a corpus decides what is learned

    words: Any

    @property
    def dim(self) -> int | None:
        """Length of the file's vectors."""
        return None if self.words.matrix is None else int(self.words.matrix.shape[1])

    def found(self) -> str:
        """Return the corpus, and how much of it the vectors cover."""
        coverage = [] if self.dim is None else [str(self.words.report), str(self.words.coverage)]
        return "\n".join([str(self.corpus), *coverage])

    def model_arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sizes of vocabulary and vectors."""
        if self.dim is not None and given.get("embedding_dim", self.dim) != self.dim:
            raise ValueError(f"embedding_dim={given['embedding_dim']}, but {self.options.vectors} has {self.dim}.")
        vocabulary = self.words.vocabulary
        sizes = {"vocab_size": vocabulary.size, "num_frozen_words": vocabulary.num_frozen_words}
        return sizes if self.dim is None else {**sizes, "embedding_dim": self.dim}

    def weights(self) -> dict[str, Any]:
        """Return the word vectors."""
        return {"embedding_matrix": self.words.matrix}

    @classmethod
    def fingerprint(cls, corpus: Any, matrix: np.ndarray | None = None) -> str:
        """Return one checksum of a corpus and of word vectors."""
        parts = tuple(getattr(corpus, part) for part in cls.PARTS)
        digest = hashlib.sha256(repr(parts).encode("utf-8", "replace"))
        digest.update(b"" if matrix is None else matrix.tobytes())
        return digest.hexdigest()

    def score(self, bundle: Bundle) -> dict[str, Any]:
        """Return the scores of dev and test, and how many texts there were to train on."""
        return {**super().score(bundle), "train_texts": len(self.corpus.train)}

    def vector_config(self) -> dict[str, Any]:
        """Return where the vectors come from and what they cover, for the config's ``training``."""
        words, vectors = self.words, self.options.vectors
        return {
            "vectors": Path(vectors).name if vectors else None,
            "vector_report": str(words.report) if words.report else None,
            "vector_coverage": str(words.coverage) if words.coverage else None,
        }
