"""A language model's export: scores of texts, and text that continues others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from dense_lstm_zoo_runtime import batches, checks, drawing
from dense_lstm_zoo_runtime.answers import Continuation, Score, perplexity
from dense_lstm_zoo_runtime.errors import ExportError, errors_of
from dense_lstm_zoo_runtime.export_folder import Export
from dense_lstm_zoo_runtime.graph import Graph
from dense_lstm_zoo_runtime.ids import LineIds

_CHUNK = 1024  # texts held at a time
_BATCH = 16  # texts scored at once
_STEPS = 32  # log probabilities are held for at most this many: vocabularies are large and texts may be long
_OUTPUT = "log_probabilities"


class LanguageModel:
    """Scores and continuations of texts. See ``Predictor``."""

    def __init__(self, export: Export, threads: int | None) -> None:
        self._words = export.words
        self._is_backward = export.config["text"].get("direction") == "backward"
        self._ids = LineIds(export.words, backward=self._is_backward)
        self._states: list[str] = export.config["states"]
        self._outputs = [_OUTPUT, *(f"next_{state}" for state in self._states)]
        inputs = ["token_ids", *self._states]
        self._step = Graph(export.folder / "model.onnx", inputs, self._outputs, threads)
        self._score = Graph(export.folder / "score.onnx", inputs, self._outputs, threads)
        size = self._step.output_shapes[_OUTPUT][-1]
        if size != len(self._words):
            raise ExportError(
                f"{export.folder} is damaged: its graph knows {size} words, vocabulary.txt {len(self._words):,}. "
                "Export the model again."
            )
        with errors_of(export.folder / "config.json"):  # the largest id, in both graphs
            last = np.array([[size - 1] * 2], np.int32)
            for graph in (self._step, self._score):
                log_p, *after = graph.run(self._outputs, self._feeds(last, self._zero_states(1)))
                expected = (1, 2, size) if graph is self._step else (1, 1)
                if log_p.shape != expected or not np.isfinite(log_p).all():
                    raise ValueError("its graph gives other numbers than log probabilities of its words")
                if [state.shape for state in after] != [state.shape for state in self._zero_states(1)]:
                    raise ValueError("its graph gives states of other shapes than it takes")

    def score_stream(self, texts: Iterable[str]) -> Iterator[Score]:
        """Score texts as they come."""
        for chunk in checks.text_chunks(texts, _CHUNK):
            rows = [self._ids(text) for text in chunk]
            for text, ids, total in zip(chunk, rows, self._totals(rows), strict=True):
                tokens = len(ids) - 1
                unknown = int((ids == self._ids.unknown).sum())
                yield Score(text, total, perplexity(total / tokens), tokens, unknown)

    def _totals(self, rows: Sequence[np.ndarray]) -> list[float]:
        """Return the log probability of each row, without its first id."""
        totals = np.empty(len(rows))
        for indices in batches.plan([len(row) for row in rows], _BATCH):
            ids = batches.pad([rows[i] for i in indices])
            counts = np.array([len(rows[i]) - 1 for i in indices])
            sums = np.zeros(len(indices))
            states = self._zero_states(len(indices))
            for start in range(0, ids.shape[1] - 1, _STEPS):
                window = np.ascontiguousarray(ids[:, start : start + _STEPS + 1])
                log_p, *states = self._score.run(self._outputs, self._feeds(window, states))
                is_counted = np.arange(start, start + log_p.shape[1]) < counts[:, None]
                sums += np.where(is_counted, log_p, 0).sum(axis=1, dtype=np.float64)
            totals[indices] = sums
        return totals.tolist()

    def generate(self, prompt: str, max_tokens: int, **options: Any) -> Continuation:
        """Continue a prompt word by word."""
        if self._is_backward:
            raise ValueError(drawing.BACKWARD)
        return drawing.continuation(prompt, self._words, self._after_text, self._after, max_tokens, **options)

    def next_words(self, prefix: str, k: int) -> list[tuple[str, float]]:
        """Return the likeliest words after a prefix, or before it if the model reads backward, and probabilities."""
        checks.integer("k", k)
        return drawing.likeliest(self._after_text(prefix)[0], self._words, k)

    def _after_text(self, text: str) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the log probabilities of the word after a text, (words,), and the states at its end."""
        if not isinstance(text, (str, bytes)):
            raise TypeError(f"The text must be a string; received {text!r} ({type(text).__name__}).")
        ids = self._ids(text)[:-1]
        states = self._zero_states(1)
        for start in range(0, len(ids), _STEPS):
            log_p, states = self._next(ids[None, start : start + _STEPS], states)
        return log_p, states

    def _next(self, ids: np.ndarray, states: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
        log_p, *states = self._step.run(self._outputs, self._feeds(ids, states))
        return drawing.log_softmax(log_p[0, -1]), states

    def _after(self, word: int, states: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
        return self._next(np.array([[word]], np.int32), states)

    def _zero_states(self, count: int) -> list[np.ndarray]:
        return [np.zeros((count, self._step.shapes[name][1]), np.float32) for name in self._states]

    def _feeds(self, ids: np.ndarray, states: Sequence[np.ndarray]) -> dict[str, Any]:
        return {"token_ids": ids, **dict(zip(self._states, states, strict=True))}
