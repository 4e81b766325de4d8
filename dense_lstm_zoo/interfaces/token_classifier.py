"""A tagger as a Keras model: sentences in, a tag for each token out."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import keras
import numpy as np
import tensorflow as tf

from dense_lstm_zoo import checks
from dense_lstm_zoo.backend import check_tensorflow
from dense_lstm_zoo.classification.fit_inputs import weights_of, without_bytes
from dense_lstm_zoo.data.batching import ShuffledBatches, generated, plan_batches, plan_predictions, predict_by_token
from dense_lstm_zoo.data.text import Tokenizer, to_bytes
from dense_lstm_zoo.interfaces.arguments import check_source, resolve_own
from dense_lstm_zoo.interfaces.inputs import (
    Labels,
    SampleWeights,
    Sentences,
    place_of_division,
    tagged_split,
    texts_in,
    texts_of,
    token_lists,
)
from dense_lstm_zoo.interfaces.labelled_task import LabelledTask, column_of
from dense_lstm_zoo.interfaces.origins import Origin, plain
from dense_lstm_zoo.interfaces.preprocessors import TokenPreprocessor
from dense_lstm_zoo.interfaces.weighing import WeightsOf, of_tokens, weights_by_name
from dense_lstm_zoo.layers.crf import CRF
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.tagging.assembly import CRFTagger, TaggerNetwork
from dense_lstm_zoo.tagging.batches import TaggedExamples, encode
from dense_lstm_zoo.tagging.corpus import TaggedSplit
from dense_lstm_zoo.tagging.decoding import probabilities
from dense_lstm_zoo.tagging.task import TASK
from dense_lstm_zoo.tagging.vocabulary import TaggingVocabulary, build_tagging_vocabulary
from dense_lstm_zoo.training import class_weights
from dense_lstm_zoo_runtime.rules import NEWEST

_MOST_FREQUENT = 50_000


@dataclass(frozen=True)
class _Sentences:
    """Tagged sentences, with their weights if they have any, and what makes ids of them."""

    preprocessor: TokenPreprocessor
    split: TaggedSplit
    weights: np.ndarray | None = None

    def divided(self, share: float) -> tuple[_Sentences, _Sentences]:
        """Return the sentences to train on, and the last ones, this share, to validate on."""
        place = place_of_division(len(self.split), share)
        return self._part(range(place)), self._part(range(place, len(self.split)))

    def _part(self, part: range) -> _Sentences:
        weights = None if self.weights is None else self.weights[part.start : part.stop]
        return _Sentences(self.preprocessor, self.split.select(part), weights)

    @functools.cached_property
    def _examples(self) -> TaggedExamples:
        tags = {tag: i for i, tag in enumerate(self.preprocessor.label_names)}
        return TaggedExamples(self.preprocessor.tokens_to_ids, self.split, tags)

    def _collate(self, indices: np.ndarray) -> tuple[Any, ...]:
        batch = self._examples.collate(indices)
        return batch if self.weights is None else (*batch, self.weights[indices])

    @property
    def _signature(self) -> tuple[Any, ...]:
        signature = self.preprocessor.tokens_to_ids.signature, tf.TensorSpec((None, None), tf.int32)
        return signature if self.weights is None else (*signature, tf.TensorSpec((None,), tf.float32))

    def training(self, batch_size: int | None, seed: int, epoch: int, shuffle: bool) -> tf.data.Dataset:
        """Return the batches of ``train``, from an epoch on."""
        batch_size = TASK.defaults.batch_size if batch_size is None else batch_size
        if not shuffle:
            return self.evaluation(batch_size)
        lengths = self._examples.lengths
        assert batch_size is not None
        batches = ShuffledBatches(lengths, self._collate, self._signature, batch_size=batch_size, seed=seed)
        batches.on_epoch_begin(epoch)
        return batches.dataset

    def evaluation(self, batch_size: int | None, steps: int | None = None) -> tf.data.Dataset:
        """Return batches sorted by length."""
        lengths = self._examples.lengths[: texts_in(steps, batch_size)]
        plan = plan_predictions(lengths) if batch_size is None else plan_batches(lengths, batch_size)
        return generated(lambda: map(self._collate, plan), self._signature, len(plan)).prefetch(4)


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class TokenClassifier(LabelledTask, CRFTagger):
    """A tagger of tokens as a ``keras.Model``: preprocessor, encoder and softmax, or CRF, in one.

    ``fit``, ``evaluate`` and ``predict`` take sentences as lists of tokens, as raw strings, which are split into
    tokens, or as a ``tf.data.Dataset`` of batches of either: ragged tensors of tokens, or strings. An array
    (sentences, 1) is a column of strings, and not of sentences of one token. Tags are names or
    integers from 0, one for each token. It is called on raw text or ids and returns logits.

    Args:
        model: A registered tagger. See ``list_models(task="tagging")``.
        texts: The training sentences, from which the vocabulary is taken.
        label_names: The tags in the order of the probabilities.
        num_classes: Their number, for tags that are integers and have no names.
        vocabulary: A vocabulary to use, that of a bundle or of another task, instead of ``texts``. All its word
            vectors are new, and trained.
        vectors: A word table's name or a file of word vectors to start from, with ``texts``.
        vector_words: How many of its first words are added to the vocabulary.
        recipe: A published result whose model arguments to use.
        compile: Whether to compile the model as ``zoo.build`` does.
        name: The name of the Keras model.
        **arguments: The model's own arguments, such as ``units`` or ``crf``. See ``describe(model)``.

    Attributes:
        preprocessor: The layer from sentences to ids.
        backbone: The encoder, from ids to the states that tags are read from.
        label_names: The tags.

    Raises:
        TypeError: Sentences that are neither lists of tokens nor strings.
        ValueError: An unknown model or argument (with near matches), no sentences, no tags, fewer than two, or another
            number of names than ``num_classes``. ``vectors`` beside ``vocabulary``.

    Example:
        >>> tokens, tags = [["Dogs", "bark"], ["Cats", "sleep"]] * 4, [["NOUN", "VERB"]] * 8
        >>> model = TokenClassifier("bilstm_tagger", texts=tokens, label_names=["NOUN", "VERB"], units=4, char_dim=2)
        >>> model.fit(tokens, tags, verbose=0).epoch
        [0]
        >>> [shares.shape for shares in model.predict(["Cats bark loudly .", ["Go"]])]
        [(4, 2), (1, 2)]
    """

    _task: ClassVar[str] = "tagging"
    _preprocessor: ClassVar[type[TokenPreprocessor]] = TokenPreprocessor
    _number: ClassVar[str] = "num_tags"

    def __init__(
        self,
        model: str = "bilstm_tagger",
        *,
        texts: Sentences | None = None,
        label_names: Iterable[Any] | None = None,
        num_classes: int | None = None,
        vocabulary: TaggingVocabulary | None = None,
        vectors: str | Path | None = None,
        vector_words: int = _MOST_FREQUENT,
        recipe: str | None = None,
        compile: bool = True,
        name: str | None = None,
        **arguments: Any,
    ) -> None:
        check_tensorflow("Keras tasks")
        names = self._names(label_names, num_classes)
        arguments = resolve_own(self._task, model, arguments, recipe, vectors)
        check_source(self, texts, vocabulary, vectors=vectors, vector_words=vector_words)
        settings = {"case": arguments["case"], "whole_words": bool(arguments["char_filters"])}
        if vocabulary is None:
            sentences = self._sentences(texts, None)
            if not sentences:
                raise ValueError("texts holds no sentences; the words of the model are those of the training texts.")
            built = build_tagging_vocabulary(sentences, vectors=vectors, vector_words=vector_words)
            vocabulary = built.vocabulary
            if built.matrix is not None:
                arguments |= {"embedding_matrix": built.matrix, "embedding_dim": built.matrix.shape[1]}
        else:
            vocabulary = dataclasses.replace(vocabulary, num_frozen_words=0)  # without vectors, all are trained
        arguments |= {"vocab_size": vocabulary.size, "num_chars": vocabulary.num_chars, "num_tags": len(names)}
        arguments["num_frozen_words"] = vocabulary.num_frozen_words
        origin = Origin(model, plain(arguments), list(names))
        preprocessor = self._preprocessor_of(dataclasses.replace(vocabulary, **settings), origin)
        self._build(origin, arguments, preprocessor, compile=compile, name=name)

    def _enclose(self, network: keras.Model, name: str | None) -> None:
        options = {} if name is None else {"name": name}
        CRFTagger.__init__(self, registry.network(network), getattr(network, "crf", None), **options)

    @classmethod
    def _with_new_head(cls, network: keras.Model, number: int) -> keras.Model:
        core = super()._with_new_head(registry.network(network), number)
        return core if getattr(network, "crf", None) is None else CRFTagger(core, CRF(number, name="crf"))

    @classmethod
    def _with_reordered_head(cls, network: keras.Model, order: Sequence[int]) -> keras.Model:
        core = super()._with_reordered_head(registry.network(network), order)
        if getattr(network, "crf", None) is None:
            return core
        crf = CRF(len(order), name="crf")
        transitions, start, end = network.crf.get_weights()
        crf.set_weights([transitions[np.ix_(order, order)], start[order], end[order]])
        return CRFTagger(core, crf)

    def _network(self) -> keras.Model:
        return TaggerNetwork(self.core.input, self.core.output) if self.crf is None else CRFTagger(self.core, self.crf)

    @property
    def backbone(self) -> keras.Model:
        """The encoder: ids to the states that tags are read from (batch, time, width). It shares the weights."""
        return keras.Model(self.core.input, self.core.get_layer("logits").input)

    def predict(
        self, x: object, batch_size: int | None = None, verbose: int | str = "auto", **options: Any
    ) -> list[np.ndarray] | np.ndarray:
        """Return the probabilities of the tags: for each sentence an array (tokens, tags), float32.

        Args:
            x: Sentences as for ``fit``, or ids, whose probabilities are one array (sentences, time, tags).
            batch_size: Of ids. Sentences are answered in batches of similar length.
            verbose: Of ids.
            **options: Of ids, more arguments of ``keras.Model.predict``. With ``steps``, the first
                ``steps * batch_size`` sentences in memory are answered, or all without ``batch_size``.

        Raises:
            TypeError: Sentences that are neither lists of tokens nor strings.
        """
        if not self._texts_are_in(x):
            return super().predict(x, batch_size=batch_size, verbose=verbose, **options)
        shares, run = [], self._answers_of(self.preprocessor.tokens_to_ids.signature)
        is_streamed, steps = self._is_streamed(x), options.get("steps")
        number = texts_in(steps, None if is_streamed else batch_size)
        for sentences in itertools.islice(self._batches_of_sentences(x), steps if is_streamed else None):
            if sentences := sentences[:number]:
                shares += predict_by_token(run, encode(self.preprocessor.tokens_to_ids, sentences))
        return shares

    def tag(self, x: Sentences) -> list[list[str]]:
        """Return the likeliest tags of each sentence, by name. Takes and raises as ``predict``."""
        parts = self._batches_of_sentences(x)
        return [list(answer.tags) for part in parts for answer in self._answering.predict(part)]

    def _batches_of_sentences(self, x: Sentences) -> Iterable[list[list[str]]]:
        if not hasattr(x, "element_spec"):
            yield self._sentences(x, self.preprocessor.split)
            return
        self._check_batches(x)
        for batch in x:
            part = batch[0] if isinstance(batch, tuple) else batch
            tokens = part if isinstance(part, tf.RaggedTensor) else self.preprocessor.split(part)
            yield [[token.decode() for token in row] for row in tokens.to_list()]

    def predict_step(self, data: object) -> tf.Tensor:
        """Return the probabilities of a batch of ids. ``predict`` calls it."""
        ids, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        return probabilities(self(ids, training=False), self.crf, ids)

    @staticmethod
    def _sentences(x: Any, split: Tokenizer | None) -> list[list[str]]:
        """Return sentences as lists of tokens."""
        if isinstance(x, tf.RaggedTensor):
            return [[token.decode() for token in row] for row in x.to_list()]
        split = split or Tokenizer(NEWEST)
        if isinstance(x, np.ndarray) and x.ndim == 2 and x.shape[1] == 1:  # a column of sentences, as in a table
            x = x[:, 0]
        if hasattr(x, "iloc") and any(isinstance(row, list | tuple | np.ndarray) for row in x):  # a column of tokens
            x = list(x)
        is_list = isinstance(x, Sequence | np.ndarray) and not isinstance(x, str | bytes)
        raw = [i for i, row in enumerate(x) if isinstance(row, str | bytes)] if is_list else None
        texts = texts_of(x if raw is None else [x[i] for i in raw])
        tokens = [[token.decode() for token in row] for row in split(tf.constant(to_bytes(texts), tf.string)).to_list()]
        if raw is None or len(raw) == len(x):
            return tokens
        sentences = dict(zip(raw, tokens, strict=True))
        return token_lists("x", [sentences.get(i, row) for i, row in enumerate(x)])

    def _read(self, x: Sentences, y: Labels | None = None, sample_weight: SampleWeights | None = None) -> _Sentences:
        if y is None:
            raise ValueError("y is missing: a list of tags for each sentence, names or integers from 0.")
        tokens = self._sentences(x, self.preprocessor.split)
        if not tokens:
            raise ValueError("x holds no sentences; at least one is needed.")
        accepted = frozenset(self.label_names)
        tags = [[self._tag_name(tag, accepted) for tag in row] for row in token_lists("y", _rows(y))]
        weights = None if sample_weight is None else weights_of(column_of(sample_weight), len(tokens))
        return _Sentences(self.preprocessor, tagged_split(tokens, tags), weights)

    def _tag_name(self, tag: object, accepted: frozenset[str]) -> str:
        names = self.label_names
        tag = without_bytes(tag)
        if isinstance(tag, str):
            if tag not in accepted:
                raise checks.unknown_name("tag", tag, names)
            return tag
        if isinstance(tag, bool) or not isinstance(tag, int | np.integer):
            raise TypeError(f"Tags must be names or integers; received {tag!r:.80} ({type(tag).__name__}).")
        if not 0 <= tag < len(names):
            raise ValueError(f"Tags must be from 0 to {len(names) - 1}; received {tag}.")
        return names[tag]

    def _weighing(
        self, weights: class_weights.Weights, data: _Sentences | None
    ) -> tuple[WeightsOf | None, dict[int, float] | None]:
        class_weights.check_loss(weights, {"crf": self.crf is not None}, "class_weight")
        names = self.label_names
        by_name = weights_by_name(weights, names, "tag", is_counted=data is not None)
        if by_name is None:
            return None, None
        counts = Counter(tag for tags in (data.split.tags if data else ()) for tag in tags)
        by_index = class_weights.weights_of(by_name, names, [counts[name] for name in names], "tag")
        return of_tokens(by_index), None


def _rows(y: Labels) -> object:
    """Return tags as lists."""
    return y.to_list() if isinstance(y, tf.RaggedTensor) else list(y) if hasattr(y, "iloc") else y
