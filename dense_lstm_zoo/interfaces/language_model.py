"""A language model as a Keras model: running text in, its probability out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self, TypeGuard

import keras
import numpy as np
import tensorflow as tf

from dense_lstm_zoo import checks
from dense_lstm_zoo.backend import check_tensorflow
from dense_lstm_zoo.bundles.bundle import Bundle
from dense_lstm_zoo.bundles.presets import from_preset
from dense_lstm_zoo.data.text import StringLayer
from dense_lstm_zoo.data.text_file import TextFile
from dense_lstm_zoo.interfaces.arguments import check_source, resolve_own
from dense_lstm_zoo.interfaces.inputs import Labels, SampleWeights, Texts, place_of_division, texts_in, texts_of
from dense_lstm_zoo.interfaces.keras_task import TextTask
from dense_lstm_zoo.interfaces.origins import Origin, damaged, origin_of, plain
from dense_lstm_zoo.interfaces.preprocessors import check_words
from dense_lstm_zoo.language import assembly
from dense_lstm_zoo.language.batches import TrainingWindows, evaluation_windows
from dense_lstm_zoo.language.task import TASK
from dense_lstm_zoo.language.vectors import read_vectors
from dense_lstm_zoo.language.vocabulary import LanguageVocabulary
from dense_lstm_zoo.training.class_weights import Weights
from dense_lstm_zoo_runtime import claims
from dense_lstm_zoo_runtime.answers import Continuation, Score

_STREAMS = 10  # parallel ones, when a text is evaluated


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class LinePreprocessor(StringLayer):
    """Lines of text to padded ids, each between two line ends, as ``LanguageModel`` scores them.

    Args:
        words: As in ``LanguageVocabulary``.
        direction: As in ``LanguageVocabulary``.
        **settings: Arguments of ``keras.layers.Layer``.

    Call arguments:
        inputs: Lines (batch,).

    Returns:
        Ids, int32 (batch, time), with line ends after those of a shorter line.

    Example:
        >>> LinePreprocessor(["to", "be", "<eos>", "<unk>"])(["to be", "to"]).numpy().tolist()
        [[2, 0, 1, 2], [2, 0, 2, 2]]
    """

    def __init__(self, words: Sequence[str], direction: str = "forward", **settings: Any) -> None:
        super().__init__(**settings)
        check_words(words)
        self.vocabulary = LanguageVocabulary(tuple(words), direction)
        self.sentence_to_ids = self.vocabulary.sentence_to_ids()

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        """Turn lines into ids."""
        return self.sentence_to_ids(inputs).to_tensor(self.vocabulary.eos)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        return {**super().get_config(), "words": list(self.vocabulary.words), **self.vocabulary.settings}


@dataclass(frozen=True)
class _Lines:
    """Running text, line by line, and what makes windows of it."""

    model: LanguageModel
    lines: TextFile | list[str]

    def divided(self, share: float) -> tuple[_Lines, _Lines]:
        """Return the lines to train on, and the last ones, this share, to validate on."""
        lines = list(self.lines)
        place = place_of_division(len(lines), share)
        return _Lines(self.model, lines[:place]), _Lines(self.model, lines[place:])

    @property
    def _ids(self) -> np.ndarray:
        return self.model.preprocessor.vocabulary.encode(self.lines)

    def training(self, batch_size: int | None, seed: int, epoch: int, shuffle: bool) -> tf.data.Dataset:
        """Return the windows of ``train``, whose order is that of the text in every epoch."""
        batch_size, ids = TASK.defaults.batch_size if batch_size is None else batch_size, self._ids
        assert batch_size is not None
        windows = TrainingWindows(ids, batch_size=batch_size, num_steps=self.model.num_steps)
        if self.model.sampled_softmax is not None:
            self.model.rank_words(np.bincount(ids, minlength=len(self.model.preprocessor.vocabulary)))
        return windows.dataset

    def evaluation(self, batch_size: int | None, steps: int | None = None) -> tf.data.Dataset:
        """Return windows that predict every word but the first once, or the first of them."""
        ids = self._ids
        streams = min(_STREAMS if batch_size is None else batch_size, len(ids) - 1)
        windows = evaluation_windows(ids, streams, self.model.num_steps).dataset
        return windows if steps is None else windows.take(checks.integer("steps", steps))


@keras.saving.register_keras_serializable(package="dense_lstm_zoo", name="LanguageModelTask")
class LanguageModel(TextTask, assembly.LanguageModel):
    """A language model of running text as a ``keras.Model``.

    ``fit`` and ``evaluate`` take lines of text: a list or an array of strings, a column of a table, a ``TextFile`` or a
    ``tf.data.Dataset`` of batches of strings. They are one stream, in their order, and words are separated by white
    space. ``predict`` returns the log probability of each text by itself.

    Args:
        model: A registered language model. See ``list_models(task="language_model")``.
        texts: The training text, from which the words are taken.
        vocabulary: A vocabulary to use, that of a bundle or of another task, instead of ``texts``.
        max_words: Size of the vocabulary. None means all words of ``texts``.
        min_count: How often a word must occur in ``texts``.
        direction: ``"forward"``, or ``"backward"`` to read every text from its end. None means that of ``vocabulary``,
            or forward.
        num_steps: Steps per window.
        vectors: A word table's name or a file of word vectors to start from.
        recipe: A published result whose model arguments to use.
        compile: Whether to compile the model as ``zoo.build`` does.
        name: The name of the Keras model.
        **arguments: The model's own arguments, such as ``units``. See ``describe(model)``.

    Attributes:
        preprocessor: The layer from lines to ids.
        backbone: The network, from ids and states to logits and states.

    Raises:
        TypeError: Texts that are not strings.
        ValueError: An unknown model or argument (with near matches), or a text without words. ``max_words`` or
            ``min_count`` beside ``vocabulary``.

    Example:
        >>> lines = ["to be or not to be"] * 40
        >>> model = LanguageModel("stacked_lstm_lm", texts=lines, units=4, num_steps=5)
        >>> model.fit(lines, batch_size=4, verbose=0).epoch
        [0]
        >>> model.predict(["to be", "be to"]).shape
        (2,)
    """

    _task: ClassVar[str] = "language_model"

    def __init__(
        self,
        model: str = "dense_lstm_lm",
        *,
        texts: Texts | TextFile | None = None,
        vocabulary: LanguageVocabulary | None = None,
        max_words: int | None = None,
        min_count: int = 1,
        direction: str | None = None,
        num_steps: int = 35,
        vectors: str | Path | None = None,
        recipe: str | None = None,
        compile: bool = True,
        name: str | None = None,
        **arguments: Any,
    ) -> None:
        check_tensorflow("Keras tasks")
        checks.integer("num_steps", num_steps)
        arguments = resolve_own(self._task, model, arguments, recipe, vectors)
        check_source(self, texts, vocabulary, max_words=max_words, min_count=min_count)
        if vocabulary is None:
            vocabulary = LanguageVocabulary.from_text(_lines(texts), max_words, min_count)
        if direction is not None:
            vocabulary = LanguageVocabulary(vocabulary.words, direction)
        arguments["vocab_size"] = len(vocabulary)
        if vectors is not None:
            matrix = read_vectors(vectors, vocabulary, 1).matrix
            arguments |= {"embedding_matrix": matrix, "embedding_dim": matrix.shape[1]}
        origin = Origin(model, plain(arguments), [])
        origin.training["num_steps"] = num_steps
        self._build(origin, arguments, self._preprocessor_of(vocabulary, origin), compile=compile, name=name)

    @property
    def num_steps(self) -> int:
        """Steps per window."""
        steps: int = self._untracked.origin.training["num_steps"]
        return steps

    @classmethod
    def from_preset(cls, source: str | os.PathLike[str], *, compile: bool = True, **options: Any) -> Self:
        """Return a trained language model.

        Args:
            source: A preset's name, a bundle's folder or an address, as for ``zoo.from_preset``.
            compile: Whether to compile the model as ``zoo.build`` does.
            **options: More arguments of ``zoo.from_preset``, such as ``sha256``.

        Raises:
            ValueError: An unknown preset (with near matches), or one for another task.
        """
        return cls.from_bundle(from_preset(source, task=cls._task, **options), compile=compile)

    @classmethod
    def from_bundle(cls, bundle: Bundle, *, compile: bool = True) -> Self:
        """Return a bundle's model as a Keras model, which shares the weights. ``as_keras`` calls it.

        Args:
            bundle: A language model's.
            compile: Whether to compile the model as the bundle's is.

        Raises:
            ValueError: A bundle that was loaded with ``compile=False``, unless ``compile`` is False too.
        """
        origin = origin_of(bundle)
        origin.training.setdefault("num_steps", TASK.defaults.num_steps)
        return cls._from_bundle(bundle, bundle.model, origin, compile=compile)

    @classmethod
    def _preprocessor_of(cls, vocabulary: LanguageVocabulary, origin: Origin) -> LinePreprocessor:
        return LinePreprocessor(vocabulary.words, vocabulary.direction)

    @classmethod
    def _read_preprocessor(cls, origin: Origin, settings: dict[str, Any]) -> LinePreprocessor:
        with damaged(cls):
            size, words = origin.arguments.get("vocab_size"), settings["words"]
            if size != len(words):
                raise ValueError(f"vocab_size is {claims.short(size)}; it has {len(words)} words")
            checks.integer("num_steps", origin.training.get("num_steps"))
            return LinePreprocessor(**settings)

    def _enclose(self, network: keras.Model, name: str | None) -> None:
        options = {} if name is None else {"name": name}
        assembly.LanguageModel.__init__(self, network.core, network.sampled_softmax, **options)

    def _network(self) -> assembly.LanguageModel:
        return assembly.LanguageModel(self.core, self.sampled_softmax)

    @property
    def backbone(self) -> keras.Model:
        """The network: ids and states to logits and states. It shares the weights."""
        return self.core

    def _texts_are_in(self, x: object) -> TypeGuard[Texts]:
        return isinstance(x, TextFile) or super()._texts_are_in(x)

    def _is_streamed(self, x: object) -> bool:
        return False

    def _read(self, x: Texts, y: Labels | None = None, sample_weight: SampleWeights | None = None) -> _Lines:
        if y is not None or sample_weight is not None:
            raise ValueError("A language model predicts the text itself: it takes neither y nor sample_weight.")
        return _Lines(self, _lines(x))

    def _weighing(self, weights: Weights, data: _Lines | None) -> tuple[None, None]:
        if weights is not None:
            raise ValueError("class_weight is for classifiers and taggers; a language model takes none.")
        return None, None

    def predict(
        self, x: object, batch_size: int | None = None, verbose: int | str = "auto", **options: Any
    ) -> np.ndarray:
        """Return the log probability of each text, read by itself after a line end: float64 (texts,).

        ``score`` also counts words and returns perplexities.

        Args:
            x: Texts as for ``fit``, or ids, whose logits are returned.
            batch_size: Of ids.
            verbose: Of ids.
            **options: Of ids, more arguments of ``keras.Model.predict``. With ``steps``, the first
                ``steps * batch_size`` texts are read, or all without ``batch_size``.

        Raises:
            TypeError: Texts that are not strings.
        """
        if not self._texts_are_in(x):
            return super().predict(x, batch_size=batch_size, verbose=verbose, **options)
        texts = list(_lines(x))[: texts_in(options.get("steps"), batch_size)]
        return np.array([score.log_probability for score in self.score(texts)])

    def score(self, x: Texts | TextFile) -> list[Score]:
        """Return log probability, perplexity and counts of words of each text, as a bundle's ``score`` does."""
        scores: list[Score] = self._answering.score(list(_lines(x)))
        return scores

    def generate(self, prompt: str = "", max_tokens: int = 50, **options: Any) -> Continuation:
        """Continue a prompt word by word. See ``LanguageModelBundle.generate`` for the arguments."""
        continuation: Continuation = self._answering.generate(prompt, max_tokens, **options)
        return continuation


def _lines(x: Texts | TextFile) -> TextFile | list[str]:
    """Return lines of text that can be read as often as needed."""
    if isinstance(x, TextFile):
        return x
    if hasattr(x, "as_numpy_iterator"):  # tf.data.Dataset
        x = [line for batch in x.as_numpy_iterator() for line in batch]
    return texts_of(x)
