"""A classifier's export."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from dense_lstm_zoo_runtime import checks, omissions
from dense_lstm_zoo_runtime.answers import Explanation, Prediction
from dense_lstm_zoo_runtime.decisions import SEVERAL, Decisions, Threshold
from dense_lstm_zoo_runtime.errors import ExportError, errors_of
from dense_lstm_zoo_runtime.export_folder import Export
from dense_lstm_zoo_runtime.features import BatchedGraph
from dense_lstm_zoo_runtime.ids import UNKNOWN, Row, TextIds
from dense_lstm_zoo_runtime.text import Tokenizer

_CHUNK = 4096  # texts held at a time


class Classifier:
    """Labels and vectors of texts. See ``Predictor``."""

    def __init__(self, export: Export, threads: int | None) -> None:
        config = export.config
        self._labels = config["labels"]
        with errors_of(export.folder / "config.json"):
            is_several = config.get("labels_per_text") == SEVERAL
            self.decisions = Decisions(self._labels, is_several, config.get("thresholds", {}))
        with errors_of(export.folder / "config.json"):
            text = {name: config["text"][name] for name in ("oov", "chars", "max_tokens") if name in config["text"]}
            self._ids = TextIds(export.words, Tokenizer(config["tokenizer"]["rules"]), **text)
        shapes = {"logits": (1, None), "probabilities": (1, None), "vectors": (1, None)}
        sizes = {"token_ids": len(export.words) + 2, "char_ids": len(text.get("chars", "")) + 2}
        self._graph = BatchedGraph(export, shapes, sizes, threads)
        classes = self._graph.graph.output_shapes["logits"][-1]
        if classes != len(self._labels):
            raise ExportError(
                f"{export.folder} is damaged: its graph has {classes} classes, config.json {len(self._labels)} labels. "
                "Export the model again."
            )

    def predict_stream(self, texts: Iterable[str], *, threshold: Threshold = None) -> Iterator[Prediction]:
        """Classify texts as they come."""
        return self._predictions(texts, self.decisions.with_threshold(threshold))

    def _predictions(self, texts: Iterable[str], decisions: Decisions) -> Iterator[Prediction]:
        for chunk in checks.text_chunks(texts, _CHUNK):
            rows = [self._ids(text) for text in chunk]
            logits, shares = self._outputs(rows, ("logits", "probabilities"))
            word_counts = list(map(_known_words, rows))
            yield from decisions.predictions(chunk, logits, self._evened(shares, word_counts), word_counts)

    def embed_stream(self, texts: Iterable[str]) -> Iterator[np.ndarray]:
        """Embed texts as they come."""
        for chunk in checks.text_chunks(texts, _CHUNK):
            yield from self._outputs([self._ids(text) for text in chunk], ("vectors",))[0]

    def explain_steps(self, text: str, label: str | None = None) -> Iterator[Explanation | None]:
        """Yield None after each step of an explanation, and the explanation at the end. See ``Predictor.explain``."""
        if not isinstance(text, str):
            raise TypeError(f"The text must be a string; received {text!r:.80} ({type(text).__name__}).")
        place = None if label is None else self.decisions.place_of(label)
        tokens = self._ids.tokens(text)
        row = self._ids.row(tokens)
        logits, shares = self._outputs([row], ("logits", "probabilities"))
        shares = self._evened(shares, [_known_words(row)])
        best = int(logits[0].argmax()) if place is None else place
        yield None
        group = omissions.group_size(len(tokens))
        starts = range(0, len(tokens), group)
        size = omissions.variants_per_step(len(tokens))
        effects: list[float] = []
        for i in range(0, len(starts), size):
            rows = [self._ids.row(tokens[:start] + tokens[start + group :]) for start in starts[i : i + size]]
            (variants,) = self._outputs(rows, ("logits",))
            effects += omissions.effects(logits, variants, best, is_several=self.decisions.is_several)
            yield None
        yield Explanation(
            text=text,
            label=self._labels[best],
            probability=float(shares[0, best]),
            probabilities=dict(zip(self._labels, shares[0].tolist(), strict=True)),
            tokens=tokens,
            effects=[effects[i // group] for i in range(len(tokens))],
            in_vocabulary=list(map(self._ids.is_known, tokens)),
            group=group,
        )

    @property
    def width(self) -> int:
        """The length of the vectors."""
        return int(self._graph.graph.output_shapes["vectors"][-1])

    def _evened(self, shares: np.ndarray, word_counts: Sequence[int]) -> np.ndarray:
        """Return probabilities as ``Decisions.evened``, unless unknown words have characters that are read."""
        return shares if self._ids.reads_characters else self.decisions.evened(shares, word_counts)

    def _outputs(self, rows: Sequence[Row], outputs: Sequence[str]) -> list[np.ndarray]:
        """Return outputs (texts, ...) for the ids of texts."""
        arrays: list[np.ndarray] = []
        for indices, values in self._graph.run(rows, outputs):
            if len(indices) == len(rows) == 1:  # nothing to put in order
                return values
            if not arrays:
                arrays = [np.empty((len(rows), *value.shape[1:]), np.float32) for value in values]
            for array, value in zip(arrays, values, strict=True):
                array[indices] = value
        return arrays


def _known_words(row: Row) -> int:
    """Return the number of words that are read of a text and known, from its ids."""
    return int(np.count_nonzero(row["token_ids"] > UNKNOWN))
