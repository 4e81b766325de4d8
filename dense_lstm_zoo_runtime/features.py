"""What the graphs of classifiers and taggers take: a batch of ids, or the word vectors of these ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dense_lstm_zoo_runtime import batches, shared_words
from dense_lstm_zoo_runtime.export_folder import Export
from dense_lstm_zoo_runtime.graph import Graph
from dense_lstm_zoo_runtime.ids import Row


class BatchedGraph:
    """The graph ``model.onnx`` of an export, run on texts of any number and length.

    Args:
        export: The export.
        outputs: The outputs that it must have.
        threads: As for ``Graph``.

    Raises:
        ExportError: As for ``Graph`` and ``shared_words.read``.
    """

    def __init__(self, export: Export, outputs: Sequence[str], threads: int | None) -> None:
        self._inputs = export.config["inputs"]
        self._shared = shared_words.read(export) if export.config.get("shared_words") is not None else {}
        self.graph = Graph(export.folder / "model.onnx", self._inputs, outputs, threads)

    def run(self, rows: Sequence[Row], outputs: Sequence[str]) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
        """Yield the indices of each batch of rows with the outputs for it."""
        lengths = [len(row["token_ids"]) for row in rows]
        for indices in batches.plan(lengths):
            feeds = batches.padded([rows[i] for i in indices])
            if self._shared:
                feeds["lengths"] = np.array([lengths[i] for i in indices], np.int32)
                feeds |= {name: words.vectors(feeds["token_ids"]) for name, words in self._shared.items()}
            yield indices, self.graph.run(outputs, {name: feeds[name] for name in self._inputs})
