"""A tagger's export."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from dense_lstm_zoo_runtime import checks
from dense_lstm_zoo_runtime.answers import TaggedSentence
from dense_lstm_zoo_runtime.chain import CRF_WEIGHTS, Field
from dense_lstm_zoo_runtime.errors import ExportError, errors_of
from dense_lstm_zoo_runtime.export_folder import Export
from dense_lstm_zoo_runtime.features import BatchedGraph
from dense_lstm_zoo_runtime.ids import TokenIds, as_text
from dense_lstm_zoo_runtime.spans import SpanReader
from dense_lstm_zoo_runtime.text import Tokenizer

_CHUNK = 1024  # sentences held at a time


class Tagger:
    """Tags of sentences. See ``Predictor``."""

    def __init__(self, export: Export, threads: int | None) -> None:
        config, self._folder = export.config, export.folder
        self._labels = config["labels"]
        with errors_of(export.folder / "config.json"):
            text = {name: config["text"][name] for name in ("case", "whole_words") if name in config["text"]}
            self._ids = TokenIds(export.words, config["text"]["chars"], **text)
            self._tokenize = Tokenizer(config["tokenizer"]["rules"])
        chars = len(config["text"]["chars"]) + 2
        sizes = {"token_ids": len(export.words) + 2, "char_ids": chars, "affix_ids": chars}
        sizes["case_ids"] = 5 if text.get("case") == "four_way" else 3
        outputs: dict[str, tuple[int | None, ...]] = {"tags": (1, 1), "probabilities": (1, 1)}
        self._graph = BatchedGraph(export, outputs, sizes, threads)
        outputs_of_graph = self._graph.graph.output_shapes
        tags = outputs_of_graph.get("logits", [len(self._labels)])[-1]  # older exports do not say
        if tags != len(self._labels):
            raise ExportError(
                f"{export.folder} is damaged: its graph has {tags} tags, config.json {len(self._labels)} labels. "
                "Export the model again."
            )
        self._has_scores = "logits" in outputs_of_graph
        has_crf = set(CRF_WEIGHTS).issubset(outputs_of_graph)  # older exports with one lack them
        with errors_of(export.folder / "model.onnx"):
            weights = self._graph.constants(CRF_WEIGHTS) if has_crf else None
            self._spans = SpanReader(self._labels, weights)
            self._field = None if weights is None else Field(len(self._labels), *weights)
        if self._has_scores:
            (scores,) = self._graph.constants(("logits",))
            if scores.shape != (1, 1, len(self._labels)):
                raise ExportError(f"{export.folder} is damaged: its logits for one token have shape {scores.shape}.")
        self._outputs = ("tags", "probabilities", *(("logits",) if self._spans.needs_scores else ()))

    def predict_stream(self, sentences: Iterable[str | Sequence[str]]) -> Iterator[TaggedSentence]:
        """Tag sentences as they come."""
        for chunk, tokens in self._chunks(sentences):
            sentences_of_chunk: list[Any] = [None] * len(tokens)
            for indices, (tags, shares, *scores) in self._graph.run(list(map(self._ids, tokens)), self._outputs):
                if tags.size and not 0 <= int(tags.min()) <= int(tags.max()) < len(self._labels):
                    raise ExportError(f"{self._folder} is damaged: its graph has more tags than its config.json.")
                for number, i in enumerate(indices):
                    count = len(tokens[i])
                    names = [self._labels[tag] for tag in tags[number, :count].tolist()]
                    sentence = as_text(chunk[i]) if isinstance(chunk[i], bytes) else chunk[i]
                    sentences_of_chunk[i] = self._spans.answer(
                        sentence,
                        tokens[i],
                        names,
                        shares[number, :count].tolist(),
                        scores[0][number, :count] if scores else None,
                    )
            yield from sentences_of_chunk

    def probabilities(self, sentences: Iterable[str | Sequence[str]]) -> list[np.ndarray]:
        """Return the probability of every tag at every token. See ``Predictor.probabilities``."""
        if not self._has_scores:
            raise self._too_old()
        rows: list[np.ndarray] = []
        for _, tokens in self._chunks(sentences):
            shares_of_chunk: list[Any] = [None] * len(tokens)
            outputs = ("logits", "tags", "probabilities")
            for indices, (scores, tags, own) in self._graph.run(list(map(self._ids, tokens)), outputs):
                for number, i in enumerate(indices):
                    count = len(tokens[i])
                    shares = self._shares(scores[number, :count])
                    # A CRF of which the export does not hold the weights would be taken for a softmax.
                    if not np.allclose(shares[range(count), tags[number, :count]], own[number, :count], atol=1e-3):
                        raise self._too_old()
                    shares_of_chunk[i] = shares
            rows += shares_of_chunk
        return rows

    def _shares(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities of all tags from their scores, (tokens, tags), float32."""
        if self._field is not None:
            return self._field.marginals(scores).astype(np.float32)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True), dtype=np.float64)
        return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)

    def _too_old(self) -> ExportError:
        return ExportError(
            f"{self._folder} does not hold what the probabilities of all tags are computed from, as exports of older "
            "versions do not. Export the model again."
        )

    def _chunks(self, sentences: Iterable[str | Sequence[str]]) -> Iterator[tuple[list[Any], list[list[str]]]]:
        """Yield sentences with their tokens, as many at a time as are held in memory."""
        start = 0
        for chunk in checks.chunks(sentences, _CHUNK, "sentences"):
            yield chunk, [self._tokens(start + number, sentence) for number, sentence in enumerate(chunk)]
            start += len(chunk)

    def _tokens(self, number: int, sentence: object) -> list[str]:
        if isinstance(sentence, str | bytes):
            return self._tokenize(as_text(sentence))
        if not isinstance(sentence, Sequence) or not all(isinstance(token, str) for token in sentence):
            message = checks.not_text("sentences", number, sentence)
            raise TypeError(message.replace("hold strings", "be strings or lists of strings"))
        return list(sentence)
