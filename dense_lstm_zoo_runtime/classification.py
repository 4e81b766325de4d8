"""A classifier's export."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from dense_lstm_zoo_runtime import checks
from dense_lstm_zoo_runtime.answers import Prediction
from dense_lstm_zoo_runtime.errors import ExportError, errors_of
from dense_lstm_zoo_runtime.export_folder import Export
from dense_lstm_zoo_runtime.features import BatchedGraph
from dense_lstm_zoo_runtime.ids import TextIds
from dense_lstm_zoo_runtime.text import Tokenizer

_CHUNK = 4096  # texts held at a time


class Classifier:
    """Labels and vectors of texts. See ``Predictor``."""

    def __init__(self, export: Export, threads: int | None) -> None:
        config = export.config
        self._labels = config["labels"]
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

    def predict_stream(self, texts: Iterable[str]) -> Iterator[Prediction]:
        """Classify texts as they come."""
        for chunk in checks.text_chunks(texts, _CHUNK):
            logits, shares = self._run(chunk, ("logits", "probabilities"))
            likeliest = logits.argmax(axis=1).tolist()
            for text, row, best in zip(chunk, shares.tolist(), likeliest, strict=True):
                yield Prediction(text, self._labels[best], row[best], dict(zip(self._labels, row, strict=True)))

    def embed_stream(self, texts: Iterable[str]) -> Iterator[np.ndarray]:
        """Embed texts as they come."""
        for chunk in checks.text_chunks(texts, _CHUNK):
            yield from self._run(chunk, ("vectors",))[0]

    @property
    def width(self) -> int:
        """The length of the vectors."""
        return int(self._graph.graph.output_shapes["vectors"][-1])

    def _run(self, texts: Sequence[str], outputs: Sequence[str]) -> list[np.ndarray]:
        """Return outputs (texts, ...) in the order of the texts."""
        rows = [self._ids(text) for text in texts]
        arrays: list[np.ndarray] = []
        for indices, values in self._graph.run(rows, outputs):
            if not arrays:
                arrays = [np.empty((len(rows), *value.shape[1:]), np.float32) for value in values]
            for array, value in zip(arrays, values, strict=True):
                array[indices] = value
        return arrays
