"""The job of a task in ``train``: it reads data, builds the vocabulary, scores the model and makes the bundle."""

from __future__ import annotations

import abc
import dataclasses
import functools
import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dense_lstm_zoo.data import word_source
from dense_lstm_zoo.data.stored_texts import StoredTexts
from dense_lstm_zoo.data.words import Coverage
from dense_lstm_zoo.tasks.options import Options

if TYPE_CHECKING:
    import keras
    import numpy as np
    import pandas as pd
    import tensorflow as tf

    from dense_lstm_zoo.bundles.bundle import Bundle
    from dense_lstm_zoo.bundles.folder import BundleFolder
    from dense_lstm_zoo.corpora.corpus import AnyCorpus
    from dense_lstm_zoo.training.context_source import Context

_AT_ONCE = 4096  # items of a corpus that are written out together, for its checksum


@dataclass
class FitData:
    """The input of ``fit``: training and dev data, and what goes with them.

    Args:
        training: The batches of an epoch. Their number is known, and the same in every epoch.
        dev: The batches to score each epoch on.
        start_at: Returns the batches of the epoch that has begun, from one of them (counted from 0) on.
        callbacks: The callbacks that the data needs.
        class_weight: Weights of classes.
        carried: What a batch leaves to the next one, apart from the variables of the model and its optimiser.
        batch_tokens: Padded tokens in the median batch, or 0 if few.
        real_share: The share of the tokens of training batches that are real. The others are padding.
    """

    training: tf.data.Dataset
    dev: tf.data.Dataset
    start_at: Callable[[int], tf.data.Dataset]
    callbacks: list[keras.callbacks.Callback] = field(default_factory=list)
    class_weight: dict[int, float] | None = None
    carried: Sequence[tf.Variable] = ()
    batch_tokens: int = 0
    real_share: float = 1.0


class Job(abc.ABC):
    """One training run of one task, from a corpus to a scored bundle. ``train`` calls its methods in order.

    Creating one reads the corpus and builds the vocabulary.

    Args:
        corpus: A corpus from ``load_corpus``, or one made by hand.
        options: The task's options, each with its value.
        source: The trained model whose words go on, for training with ``init_from``.
    """

    CORPUS: ClassVar[type[AnyCorpus]]  # has ``dev`` and ``test``
    NEEDS: ClassVar[str]  # start of the error for any other type
    OTHER_SOURCES: ClassVar[str] = ""  # end of the error for a source that ``read_other_source`` does not take

    corpus: Any
    options: Options
    labels_per_text: str = "one"  # or "several"
    new_words: int = 0  # words of the training texts that the source does not know

    @property
    def coverage(self) -> Coverage | None:
        """The coverage of the training texts by the word vectors, or None without vectors."""
        return None

    @property
    def is_unspaced(self) -> bool:
        """True where whole phrases are its words, for want of spaces."""
        return False

    @abc.abstractmethod
    def __init__(self, corpus: Any, options: Options, source: Bundle | None = None) -> None: ...

    @classmethod
    @abc.abstractmethod
    def with_dev_part(cls, corpus: Any, options: Options) -> Any:
        """Return a corpus with the dev part that decides about the epoch, where training needs one.

        Raises:
            ValueError: It has none, and none can be taken.
        """

    @property
    @abc.abstractmethod
    def labels(self) -> list[str]:
        """Names of the classes, in the order of the logits, or empty where there are none."""

    @staticmethod
    @abc.abstractmethod
    def token_rows(part: Any) -> Iterable[Iterable[str]]:
        """Return the tokens of each text of a part of a corpus, for hashes of the texts."""

    @classmethod
    def read_other_source(
        cls,
        model: str,
        folder: BundleFolder,
        config: Mapping[str, Any],
        options: Options,
        arguments: Mapping[str, Any],
        recipe: str | None,
    ) -> Source | None:
        """Read a trained model of another name that a model of this task may go on from, or None for any other.

        The arguments are those of ``transfer.read_source``, with the folder of the trained model and its config.
        """
        return None

    @abc.abstractmethod
    def summary(self) -> str:
        """Return a summary of the vocabulary for the log, or an empty string."""

    def cautions(self) -> dict[str, str]:
        """Return sentences that warn of the data, by their names in the metrics."""
        return {}

    @abc.abstractmethod
    def model_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the model arguments that follow from the data. ``arguments`` holds those that the user set."""

    @abc.abstractmethod
    def config(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the bundle's ``text`` (arguments of its vocabulary) and additions to its ``training``.

        ``arguments`` are all of the model's.
        """

    @abc.abstractmethod
    def fit_data(self, model: keras.Model, config: Mapping[str, Any], folder: Path) -> FitData:
        """Return the data for ``fit``. ``folder`` is for files that the run needs until it ends."""

    @abc.abstractmethod
    def bundle(
        self, model: keras.Model, config: dict[str, Any], history: pd.DataFrame, dev_curve: pd.DataFrame | None
    ) -> Bundle:
        """Return the bundle of a trained model, without scores."""

    @classmethod
    def check_corpus(cls, corpus: object) -> None:
        """Raise ``ValueError`` for anything but a corpus of this task, and for a dev or test part without texts."""
        if not isinstance(corpus, cls.CORPUS):
            raise ValueError(f"{cls.NEEDS}; received {type(corpus).__name__}.")
        for part in ("dev", "test"):
            texts = getattr(corpus, part)
            if texts is not None and cls.is_empty(texts):
                raise ValueError(f"{corpus.name} has a {part} part without texts. Give some, or None in its place.")

    @staticmethod
    def is_empty(part: Any) -> bool:
        """Return whether there is nothing to score in a part of a corpus."""
        return len(part) == 0

    @staticmethod
    @abc.abstractmethod
    def fingerprint(corpus: AnyCorpus) -> str:
        """Return a checksum of all data in a corpus. A run resumes only on the same data."""

    def score(self, bundle: Bundle, **options: Any) -> dict[str, Any]:
        """Score dev and test and return the metrics for the bundle. The test texts are scored only here.

        ``options`` are those of the bundle's ``assess``.
        """
        return bundle.rescore(dev=self.corpus.dev, test=self.corpus.test, **options)

    def fit_head(self, model: keras.Model, config: Mapping[str, Any], seconds: float | None = None) -> dict[str, float]:
        """Fit the last layer of a model, where ``head`` asks for it, and return an epoch's row: scores and losses.

        Args:
            model: The model, with the weights it starts from.
            config: The run's config.
            seconds: Read texts for so long at most. None means all texts.
        """
        raise NotImplementedError(f"{type(self).__name__} has no option head.")

    def head_scores(self, model: keras.Model, config: Mapping[str, Any]) -> tuple[np.ndarray, float]:
        """Fit a last layer on some of the texts, and return how good it is on dev. The model is left as it is.

        Returns:
            A number for each dev text, higher for a better answer, in an order that depends on the seed alone, and the
            task's score.
        """
        raise NotImplementedError(f"{type(self).__name__} has no option effort.")

    def weights(self) -> dict[str, Any]:
        """Return model arguments that only set initial weights, and so do not belong in a config."""
        return {}


class Source(abc.ABC):
    """A trained model that a run goes on from.

    Attributes:
        folder: Its folder.
        trained: The trained model as the job takes it: with ``vocabulary``, ``train_texts`` and ``word_matrix``.
        arguments: The arguments of the new model, except those that follow from its data.
        options: The options of the new run.
    """

    folder: Path
    trained: Any
    arguments: dict[str, Any]
    options: Options

    @abc.abstractmethod
    def check_overlap(self, job: Job) -> None:
        """Raise ``ValueError`` if the source was trained on texts that the run is scored on."""

    @abc.abstractmethod
    def give(self, job: Job, model: keras.Model) -> None:
        """Give a new model the weights of the source. Its words have their vectors already."""

    @abc.abstractmethod
    def provenance(self, job: Job) -> dict[str, Any]:
        """Return what the new model's config says about the source, for its ``training``."""


class WordVectorJob(Job):
    """A job whose word embeddings may start from a file of vectors, and shared by classifiers and taggers.

    ``words`` is the built vocabulary (with ``vocabulary``, ``matrix``, ``coverage`` and ``report``).
    """

    PARTS: ClassVar[tuple[str, ...]]  # the parts of a corpus that affect training

    words: Any
    source: Any = None  # the trained model that the run goes on from

    @functools.cached_property
    def context(self) -> Context | None:
        """The text encoder whose states stand beside the words, read on first use, or None without one."""
        from dense_lstm_zoo.training.context_source import read_context

        return read_context(self.options.context, self.words.vocabulary.words, self.source, self)

    @property
    def coverage(self) -> Coverage | None:
        """The coverage of the training texts by the word vectors, or None without vectors."""
        coverage: Coverage | None = self.words.coverage
        return coverage

    @property
    def is_unspaced(self) -> bool:
        """True where whole phrases are its words, for want of spaces."""
        return bool(self.words.is_unspaced)

    @property
    def dim(self) -> int | None:
        """Length of the file's vectors."""
        return None if self.words.matrix is None else int(self.words.matrix.shape[1])

    def summary(self) -> str:
        """Return a summary of the corpus and of how much of it the vectors cover."""
        lines = [str(part) for part in (self.words.report, self.words.coverage) if part is not None]
        lines += [self.context.summary] if self.context else []
        return "\n".join([str(self.corpus), *lines])

    def model_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sizes of the vocabulary, of the vectors and of the context."""
        if self.dim is not None and arguments.get("embedding_dim", self.dim) != self.dim:
            raise ValueError(f"embedding_dim={arguments['embedding_dim']}, but {self.options.vectors} has {self.dim}.")
        vocabulary = self.words.vocabulary
        sizes = {"vocab_size": vocabulary.size, "num_frozen_words": vocabulary.num_frozen_words}
        sizes |= self.context.model_arguments(arguments, self.words.matrix) if self.context else {}
        return sizes if self.dim is None else {**sizes, "embedding_dim": self.dim}

    def weights(self) -> dict[str, Any]:
        """Return the word vectors, and the weights of the context."""
        context = self.context.weights() if self.context else None
        return {"embedding_matrix": self.words.matrix, "context_weights": context}

    @classmethod
    def fingerprint(cls, corpus: AnyCorpus, matrix: np.ndarray | None = None) -> str:
        """Return a checksum of a corpus and word vectors."""
        digest = hashlib.sha256()
        for number, part in enumerate(cls.PARTS):
            digest.update(b", " if number else b"(")
            for piece in _contents(getattr(corpus, part)):
                digest.update(piece.encode("utf-8", "replace"))
        digest.update(b")")
        digest.update(b"" if matrix is None else matrix.tobytes())
        return digest.hexdigest()

    def score(self, bundle: Bundle, **options: Any) -> dict[str, Any]:
        """Return the dev and test scores and the number of training texts."""
        return {**super().score(bundle, **options), "train_texts": len(self.corpus.train)}

    def vector_config(self) -> dict[str, Any]:
        """Return the source and coverage of the vectors and the context, for the config's ``training``."""
        words, vectors = self.words, self.options.vectors
        table = word_source.table(vectors)
        return {
            "vectors": Path(vectors).name if vectors else None,
            **({"vectors_sha256": table.sha256} if table else {}),
            "vector_report": str(words.report) if words.report else None,
            "vector_coverage": str(words.coverage) if words.coverage else None,
            **({"context": self.context.record} if self.context else {}),
        }


def _contents(part: object) -> Iterator[str]:
    """Yield all that a part of a corpus holds, piece by piece. Its ``repr`` only counts its texts."""
    if not dataclasses.is_dataclass(part):
        yield repr(part)
        return
    yield type(part).__qualname__
    opening = "("
    for each in dataclasses.fields(part):
        if each.compare:
            yield f"{opening}{each.name}="
            yield from _listing(getattr(part, each.name))
            opening = ", "
    yield ")"


def _listing(items: object) -> Iterator[str]:
    """Yield a value's ``repr`` in pieces. Arrays and texts in a file have that of the list of their items."""
    if not isinstance(items, list | array | StoredTexts):
        yield repr(items)
        return
    opening = "["
    for first in range(0, len(items), _AT_ONCE):
        yield opening + ", ".join(map(repr, items[first : first + _AT_ONCE]))
        opening = ", "
    yield "]" if len(items) else "[]"
