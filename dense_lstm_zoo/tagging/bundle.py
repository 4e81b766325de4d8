"""A trained tagger: tagging raw sentences and token lists, evaluation, export to a SavedModel."""

from __future__ import annotations

import functools
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dense_lstm_zoo import checks
from dense_lstm_zoo.bundles.bundle import Bundle
from dense_lstm_zoo.data.graphs import graph, graph_if_used
from dense_lstm_zoo.display.notebook import Answers
from dense_lstm_zoo.tagging.corpus import RARE
from dense_lstm_zoo.tagging.task import TASK
from dense_lstm_zoo.tagging.vocabulary import TaggingVocabulary
from dense_lstm_zoo.tasks import Task
from dense_lstm_zoo_runtime.answers import TaggedSentence
from dense_lstm_zoo_runtime.spans import SpanReader

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    from dense_lstm_zoo.data.text import Tokenizer
    from dense_lstm_zoo.data.token_ids import TokensToIds
    from dense_lstm_zoo.tagging.corpus import TaggedSplit

_CHUNK = 1024  # sentences held at a time by predict_stream
_TAGS, _OWN, _ALL, _SCORES = range(4)  # what ``decoding.decode`` returns


@dataclass(frozen=True, eq=False)
class GateActivations:
    """Activations of the skip gates: ``values`` (layers, 2 directions, tokens), means over a layer's units.

    ``layers`` are the numbers of the layers that have gates, from 1. Directions are forward and backward.
    """

    tokens: list[str]
    layers: list[int]
    values: np.ndarray


@dataclass(eq=False, repr=False)
class TaggingBundle(Bundle):
    """A trained tagger."""

    vocabulary: TaggingVocabulary

    read_vocabulary: ClassVar[Callable[..., TaggingVocabulary]] = TaggingVocabulary.read
    task: ClassVar[Task] = TASK

    @functools.cached_property
    def tokenizer(self) -> Tokenizer:
        """The layer that splits raw sentences into tokens."""
        from dense_lstm_zoo.data.text import Tokenizer

        return Tokenizer(self.vocabulary.tokenizer)

    @functools.cached_property
    def _split(self) -> Callable[[tf.Tensor], tf.RaggedTensor]:
        import tensorflow as tf

        return graph_if_used(self.tokenizer.call, [tf.TensorSpec((None,), tf.string)])

    @functools.cached_property
    def tokens_to_ids(self) -> TokensToIds:
        """The layer that turns tokens into the model's ids."""
        return self.vocabulary.tokens_to_ids()

    @functools.cached_property
    def _decode(self) -> Callable[..., tuple[tf.Tensor, ...]]:
        """A graph for any shape from ids to what ``decoding.decode`` returns."""
        from dense_lstm_zoo.tagging.decoding import decode

        crf = getattr(self.model, "crf", None)
        return graph(lambda ids: decode(self.network, crf, ids), [self.tokens_to_ids.signature])

    @property
    def _spans(self) -> SpanReader:
        """Makes answers of tags, with spans. It is made anew at each call, as weights may have changed."""
        crf = getattr(self.model, "crf", None)
        weights = None if crf is None else [w.numpy() for w in (crf.transitions, crf.start, crf.end)]
        return SpanReader(self.labels, weights)

    @property
    def _weights(self) -> keras.Model:
        import keras

        crf = getattr(self.model, "crf", None)
        outputs = self.network.outputs if crf is None else crf(self.network.outputs[0])
        return keras.Model(self.network.inputs, outputs)

    @property
    def _variables(self) -> list[keras.Variable]:
        crf = getattr(self.model, "crf", None)
        return [*self.network.weights, *(crf.weights if crf is not None else ())]

    def predict(self, sentences: Sequence[str | Sequence[str]]) -> list[TaggedSentence]:
        """Tag sentences. Empty sentences and unknown words are allowed.

        Args:
            sentences: Raw strings, which are split into tokens as in the Penn Treebank, or lists of tokens, which are
                used unchanged.

        Returns:
            ``TaggedSentence`` objects. Where the tags mark spans, such as names, ``spans`` holds them.

        Raises:
            TypeError: A single string, a table or a dictionary in place of a sequence, or an item that is neither
                string nor list of strings, such as None. The message gives its position.
        """
        return Answers(self.predict_stream(sentences))

    def predict_stream(self, sentences: Iterable[str | Sequence[str]]) -> Iterator[TaggedSentence]:
        """Tag sentences as they come, in constant memory: one ``TaggedSentence`` each, in order."""
        reader, offset = self._spans, 0
        for chunk in checks.chunks(sentences, _CHUNK, "sentences"):
            tokens = self._tokens(chunk, offset)
            offset += len(chunk)
            answers = self._run(tokens, (_TAGS, _OWN, _SCORES) if reader.needs_scores else (_TAGS, _OWN))
            for sentence, words, (tags, shares, *scores) in zip(chunk, tokens, answers, strict=True):
                text = sentence.decode("utf-8", "replace") if isinstance(sentence, bytes) else sentence
                yield reader.answer(text, words, [self.labels[i] for i in tags], shares.tolist(), *scores)

    def probabilities(self, sentences: Iterable[str | Sequence[str]]) -> list[np.ndarray]:
        """Return the probability of every tag at every token: for each sentence float32 (tokens, tags).

        The tags are in the order of ``labels``. With a conditional random field, a tag's probability is its marginal:
        the sum over all sequences of tags that have it there.

        Args:
            sentences: As for ``predict``.

        Raises:
            TypeError: As for ``predict``.
        """
        rows: list[np.ndarray] = []
        for chunk in checks.chunks(sentences, _CHUNK, "sentences"):
            rows.extend(shares for (shares,) in self._run(self._tokens(chunk, len(rows)), (_ALL,)))
        return rows

    def _tokens(self, sentences: list[Any], offset: int = 0) -> list[list[str]]:
        raw = [i for i, sentence in enumerate(sentences) if isinstance(sentence, str | bytes)]
        rows: list[list[str]] = [[]] * len(sentences)
        if raw:
            import tensorflow as tf

            from dense_lstm_zoo.data.text import to_bytes

            split = self._split(tf.constant(to_bytes([sentences[i] for i in raw]))).to_list()
            for i, tokens in zip(raw, split, strict=True):
                rows[i] = [token.decode() for token in tokens]
        for i in sorted(set(range(len(sentences))).difference(raw)):
            sentence = sentences[i]
            if not isinstance(sentence, Sequence) or not all(isinstance(token, str) for token in sentence):
                message = checks.not_text("sentences", offset + i, sentence)
                raise TypeError(message.replace("hold strings", "be strings or lists of strings"))
            rows[i] = list(sentence)
        return rows

    def encode(self, sentences: list[list[str]]) -> list[dict[str, np.ndarray]]:
        """Return the token ids of each sentence, by feature: int32 arrays (tokens, ...)."""
        from dense_lstm_zoo.tagging.batches import encode

        return encode(self.tokens_to_ids, sentences)

    def _run(self, sentences: list[list[str]], outputs: Sequence[int]) -> list[tuple[np.ndarray, ...]]:
        """Return some of what ``decoding.decode`` returns, for the tokens of each sentence."""
        from dense_lstm_zoo.data.batching import run_batches

        answers: list[Any] = [None] * len(sentences)
        for indices, values in run_batches(self._decode, self.encode(sentences)):
            arrays = [values[output].numpy() for output in outputs]
            for row, i in enumerate(indices):
                answers[i] = tuple(array[row, : len(sentences[i])].copy() for array in arrays)  # not views of the batch
        return answers

    def embed_tokens(self, sentences: Iterable[str | Sequence[str]]) -> list[tuple[list[str], np.ndarray]]:
        """Return the tokens of each sentence, and a vector per token, float32 (tokens, width).

        The vectors are the states of the encoder that the tags are read from, without dropout.

        Args:
            sentences: As for ``predict``.

        Raises:
            TypeError: As for ``predict``.
        """
        from dense_lstm_zoo.data.batching import predict_by_token

        pairs: list[tuple[list[str], np.ndarray]] = []
        for chunk in checks.chunks(sentences, _CHUNK, "sentences"):
            tokens = self._tokens(chunk, len(pairs))
            pairs.extend(zip(tokens, predict_by_token(self._states_of, self.encode(tokens)), strict=True))
        return pairs

    @functools.cached_property
    def _states_of(self) -> Callable[[Any], tf.Tensor]:
        import keras
        import tensorflow as tf

        encoder = keras.Model(self.network.input, self.network.get_layer("encoder").output)
        return graph(lambda ids: tf.cast(encoder(ids, training=False), tf.float32), [self.tokens_to_ids.signature])

    def gates(self, sentence: str | Sequence[str]) -> GateActivations:
        """Return the activations of a gated-skip tagger's gates while it reads a sentence.

        Args:
            sentence: A raw string or a list of tokens, at least one.

        Raises:
            ValueError: A model without gated skips, or a sentence without tokens.
        """
        import keras

        from dense_lstm_zoo.layers import SkipBiLSTM

        encoder = self.network.get_layer("encoder")
        if not isinstance(encoder, SkipBiLSTM):
            raise ValueError(f"{self.config['model']} has no gated skips; only gated_skip_tagger has them.")
        (tokens,) = self._tokens([sentence])
        if not tokens:
            raise ValueError("gates needs a sentence with at least one token.")
        ids = {name: row[None] for name, row in self.encode([tokens])[0].items()}
        inputs, lengths = keras.Model(self.network.inputs, encoder.input)(ids)
        gate_values = [gates.numpy()[0] for gates in encoder.gates(inputs, lengths)]
        values = np.stack([layer.reshape(len(tokens), 2, -1).mean(axis=2).T for layer in gate_values])
        layers = [i for i, cells in enumerate(encoder.cells, start=1) if cells[0].num_gates == 5]
        return GateActivations(tokens, layers, values)

    def evaluate(self, split: TaggedSplit | str | os.PathLike[str]) -> dict[str, float]:
        """Score the model on tagged sentences.

        Args:
            split: Tokens and tags, such as ``load_corpus("ewt_upos").test``, or the path of a file of them.

        Returns:
            ``accuracy`` per token, ``texts`` (sentences) and ``tokens``. For tags that mark spans (B-NP, I-NP, O) also
            ``f1``, ``precision`` and ``recall`` of spans; a warning says if it cannot be told how they mark them. A tag
            that the model does not know always counts as wrong.

        Raises:
            FileNotFoundError: No such file.
            ValueError: No sentences.
        """
        return self.assess(split)[0]

    def assess(
        self, split: TaggedSplit | str | os.PathLike[str], *, errors: bool = False
    ) -> tuple[dict[str, float], dict[str, Any]]:
        """Return the scores of ``evaluate`` and an error analysis.

        With ``errors``, it also holds every wrong tag, as ``analysis.errors`` returns them.
        """
        from dense_lstm_zoo.tagging import analysis as analyses

        part: TaggedSplit = self.part_of(split)[0]
        if not len(part):
            raise ValueError("evaluate needs at least one sentence; received none.")
        if part.is_soft and not part.labelled.all():
            raise ValueError("evaluate needs tags; some sentences have soft labels alone, which a teacher gave.")
        tags = self.tags_of(part)
        scores, analysis = analyses.analyse(part, tags, self.labels)
        if "no_spans" in analysis:
            warnings.warn(f"Spans are not scored. {analysis['no_spans']}", stacklevel=3)
        if errors:
            analysis["errors"] = analyses.errors(part, tags)
        return scores, analysis

    def tags_of(self, split: TaggedSplit) -> list[list[str]]:
        """Return the predicted tags of tagged sentences. A warning names tags that the model does not know."""
        self._warn_of_unknown(split)
        return [[self.labels[i] for i in tags] for (tags,) in self._run(split.tokens, (_TAGS,))]

    def _warn_of_unknown(self, split: TaggedSplit) -> None:
        """Warn of tags that the model never predicts, which count as wrong."""
        counts = Counter(tag for tags in split.tags for tag in tags)
        unknown = {tag: count for tag, count in counts.most_common() if tag not in self.labels}
        # A model with RARE has merged tags on purpose: only if most are unknown, they are tags of another kind.
        if 2 * sum(unknown.values()) > (counts.total() if RARE in self.labels else 0):
            names = ", ".join(list(unknown)[:5]) + (", ..." if len(unknown) > 5 else "")
            warnings.warn(
                f"{sum(unknown.values()):,} of {counts.total():,} tokens have tags that the model does not know and "
                f"that count as wrong: {names:.200}. Its tags are {', '.join(self.labels[:5])}"
                f"{', ...' if len(self.labels) > 5 else ''}; tag_column (--tag-column) names another column.",
                stacklevel=4,
            )
