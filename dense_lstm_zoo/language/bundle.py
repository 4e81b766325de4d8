"""A trained language model: scoring, text generation, next words, export to a SavedModel."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dense_lstm_zoo import checks
from dense_lstm_zoo.bundles.bundle import Bundle
from dense_lstm_zoo.data.graphs import graph
from dense_lstm_zoo.display.notebook import Answers
from dense_lstm_zoo.language.task import TASK
from dense_lstm_zoo.language.vocabulary import LanguageVocabulary, SentenceToIds
from dense_lstm_zoo.tasks import Task
from dense_lstm_zoo_runtime import drawing
from dense_lstm_zoo_runtime.answers import Continuation, Score, perplexity

if TYPE_CHECKING:
    import tensorflow as tf

    from dense_lstm_zoo.data.text_file import TextSource

_CHUNK = 1024  # texts held at a time by score_stream
_BATCH = 16  # texts scored at once
_STREAMS = 10  # parallel streams when a text is evaluated
_BANDS = (10, 100, 1_000, 10_000)  # upper ends of the bands of word ranks in a report


@dataclass(eq=False, repr=False)
class LanguageModelBundle(Bundle):
    """A trained language model. Words are separated by white space, as in the training text."""

    vocabulary: LanguageVocabulary

    read_vocabulary: ClassVar[Callable[..., LanguageVocabulary]] = LanguageVocabulary.read
    task: ClassVar[Task] = TASK

    @functools.cached_property
    def sentence_to_ids(self) -> SentenceToIds:
        """The layer that turns sentences into the model's ids."""
        return self.vocabulary.sentence_to_ids()

    @functools.cached_property
    def _log_probabilities_of(self) -> Callable[..., tf.Tensor]:
        import tensorflow as tf

        from dense_lstm_zoo.language.scoring import log_probabilities

        signature = [tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None,), tf.int32)]
        return graph(lambda ids, n: log_probabilities(self.network, ids, n), signature)

    @functools.cached_property
    def _step(self) -> Callable[..., list[tf.Tensor]]:
        """The network on (batch, time) ids and states, as one graph for any shape."""
        import tensorflow as tf

        network = self.network
        states = [tf.TensorSpec(state.shape, tf.float32) for state in network.inputs[1:]]

        def step(token_ids: tf.Tensor, *states: tf.Tensor) -> tuple[tf.Tensor, ...]:
            # Ids are an array where functions run eagerly, and Keras does not take arrays and tensors together.
            logits, *states = network([tf.convert_to_tensor(token_ids), *states], training=False)
            return logits[:, -1], *states

        return graph(step, [tf.TensorSpec((None, None), tf.int32), *states])

    def score(self, texts: Sequence[str]) -> list[Score]:
        """Return the log probability and perplexity of each text.

        Each text is a sentence of its own: it is read after a line end, and all its words and the line end after it are
        predicted. An empty text is only its line end.

        Args:
            texts: A sequence of strings.

        Raises:
            TypeError: A single string, a table or a dictionary in place of a sequence, or an item that is not a string,
                such as None. The message gives its position.
        """
        return Answers(self.score_stream(texts))

    def score_stream(self, texts: Iterable[str]) -> Iterator[Score]:
        """Score texts as they come, in constant memory: one ``Score`` per text, in order."""
        for chunk in checks.text_chunks(texts, _CHUNK):
            rows = self._encode(chunk)
            for text, ids, total in zip(chunk, rows, self._totals(rows), strict=True):
                tokens = len(ids) - 1
                unknown = int((ids == self.vocabulary.unknown).sum())
                yield Score(text, total, perplexity(total / tokens), tokens, unknown)

    def _encode(self, texts: Sequence[str]) -> list[np.ndarray]:
        from dense_lstm_zoo.data.text import to_bytes

        ids = self.sentence_to_ids(to_bytes(texts))
        return np.split(ids.flat_values.numpy(), ids.row_splits.numpy()[1:-1])

    def _totals(self, rows: list[np.ndarray]) -> list[float]:
        from dense_lstm_zoo.data.batching import pad, plan_batches

        totals = np.empty(len(rows))
        for indices in plan_batches([len(row) for row in rows], _BATCH):
            lengths = np.array([len(rows[i]) - 1 for i in indices], np.int32)
            log_p = self._log_probabilities_of(pad([rows[i] for i in indices]), lengths)
            totals[indices] = log_p.numpy().sum(axis=1, dtype=np.float64)
        return totals.tolist()

    def generate(
        self,
        prompt: str = "",
        max_tokens: int = 50,
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        seed: int | None = None,
        stop_at_line_end: bool = True,
        allow_unknown: bool = False,
    ) -> Continuation:
        """Continue a prompt word by word, carrying the state along.

        Args:
            prompt: The start of the text. It is read after a line end.
            max_tokens: Maximum number of words to add, line ends included.
            temperature: Divides the logits: below 1 is safer, above 1 more varied. 0 takes the likeliest word.
            top_k: Draw only from this number of the likeliest words. None draws from all.
            seed: The same seed gives the same text. None gives a new text each time.
            stop_at_line_end: Stop at the end of the line. Otherwise continue, and each ``<eos>`` becomes a line feed.
            allow_unknown: Whether ``<unk>`` may be drawn.

        Raises:
            ValueError: A value out of range, or a model that reads backward.

        Example:
            ``zoo.load("runs/ptb").generate("the market", temperature=0.8, seed=1).text``
        """
        if self.vocabulary.direction == "backward":
            raise ValueError(drawing.BACKWARD)
        return drawing.continuation(
            prompt,
            self.vocabulary.words,
            self._read,
            self._after,
            max_tokens,
            temperature=temperature,
            top_k=top_k,
            seed=seed,
            stop_at_line_end=stop_at_line_end,
            allow_unknown=allow_unknown,
        )

    def next_words(self, prefix: str, k: int = 10) -> list[tuple[str, float]]:
        """Return the ``k`` likeliest words after a prefix with their probabilities, likeliest first.

        A model that was trained backward returns the likeliest words before the text.

        Raises:
            ValueError: ``k`` is not a positive integer.
        """
        checks.integer("k", k)
        return drawing.likeliest(self._read(prefix)[0], self.vocabulary.words, k)

    def _read(self, text: str) -> tuple[np.ndarray, list[Any]]:
        """Return the log probabilities of the word after a text, (words,), and the states at its end."""
        if not isinstance(text, (str, bytes)):
            raise TypeError(f"The text must be a string; received {text!r} ({type(text).__name__}).")
        (ids,) = self._encode([text])
        states: list[Any] = self.model.zero_states(1)
        for start in range(0, len(ids) - 1, 32):
            logits, *states = self._step(ids[None, start : min(start + 32, len(ids) - 1)], *states)
        return drawing.log_softmax(logits.numpy()[0]), states

    def _after(self, word: int, states: list[Any]) -> tuple[np.ndarray, list[Any]]:
        logits, *states = self._step(np.array([[word]], np.int32), *states)
        return drawing.log_softmax(logits.numpy()[0]), states

    def evaluate(self, text: TextSource | str | os.PathLike[str]) -> dict[str, float]:
        """Score running text as papers do: across line ends, with every token but the first predicted once.

        Args:
            text: A list of lines, a ``TextFile`` such as ``load_corpus("ptb").test``, or the path of a file of lines.

        Returns:
            ``perplexity``, ``tokens`` (the number predicted) and ``unknown_words`` (how many of those are unknown).

        Raises:
            FileNotFoundError: No such file.
            ValueError: Fewer than two tokens.
        """
        return self.assess(text)[0]

    def assess(self, text: TextSource | str | os.PathLike[str]) -> tuple[dict[str, float], dict[str, Any]]:
        """Return the scores of ``evaluate``, and the same scores by the words' frequency in training.

        After ``init_from``, ids are not ranks in the training text, and there is nothing by frequency.
        """
        ids, log_probabilities = self.token_scores(self.part_of(text)[0])
        targets = ids[1:]
        scores = {
            "perplexity": perplexity(float(log_probabilities.mean(dtype=np.float64))),
            "tokens": len(log_probabilities),
            "unknown_words": int((targets == self.vocabulary.unknown).sum()),
        }
        ranked = not self.config["training"].get("init_from")
        return scores, {
            **scores,
            "by_rank": _by_rank(targets, log_probabilities, len(self.vocabulary)) if ranked else [],
        }

    def token_scores(self, text: TextSource) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids of a text (tokens,), and the log probability of each but the first (tokens - 1,).

        Raises:
            ValueError: Fewer than two tokens.
        """
        from dense_lstm_zoo.language.batches import evaluation_windows

        ids = self.vocabulary.encode(text)
        if len(ids) < 2:
            raise ValueError(f"evaluate needs at least two tokens, line ends counted; received {len(ids)}.")
        streams = evaluation_windows(ids, min(_STREAMS, len(ids) - 1))
        rows = [ids[start : start + n + 1] for start, n in zip(streams.starts, streams.lengths, strict=True)]
        log_p = self._log_probabilities_of(_side_by_side(rows), np.array([len(row) - 1 for row in rows], np.int32))
        return ids, np.concatenate([p[: len(row) - 1] for p, row in zip(log_p.numpy(), rows, strict=True)])


def _side_by_side(rows: list[np.ndarray]) -> np.ndarray:
    padded = np.zeros((len(rows), max(map(len, rows))), np.int32)
    for row, ids in zip(padded, rows, strict=True):
        row[: len(ids)] = ids
    return padded


def _by_rank(targets: np.ndarray, log_p: np.ndarray, size: int) -> list[dict[str, Any]]:
    """Return perplexity and token counts by the words' rank in the training text. Ids are ranks."""
    edges = [0, *(band for band in _BANDS if band < size), size]
    rows = []
    for start, end in itertools.pairwise(edges):
        inside = (targets >= start) & (targets < end)
        if inside.any():
            mean = float(log_p[inside].mean(dtype=np.float64))
            rows.append({"from": start + 1, "to": end, "tokens": int(inside.sum()), "perplexity": perplexity(mean)})
    return rows
