"""The inputs of classifiers' and taggers' graphs: a batch of ids, or the word vectors of these ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from dense_lstm_zoo_runtime import batches, shared_words
from dense_lstm_zoo_runtime.errors import errors_of
from dense_lstm_zoo_runtime.export_folder import Export
from dense_lstm_zoo_runtime.graph import Graph
from dense_lstm_zoo_runtime.ids import Row


class BatchedGraph:
    """The graph ``model.onnx`` of an export, run on texts of any number and length.

    Args:
        export: The export.
        outputs: The outputs that it must have, with their shapes for one token. None is any size.
        sizes: How many ids each input takes.
        threads: As for ``Graph``.

    Raises:
        ExportError: As for ``Graph`` and ``read_shared_words``.
    """

    def __init__(
        self, export: Export, outputs: Mapping[str, Sequence[int | None]], sizes: Mapping[str, int], threads: int | None
    ) -> None:
        self._inputs = export.config["inputs"]
        self._shared = shared_words.read_shared_words(export) if export.config.get("shared_words") is not None else {}
        self.graph = Graph(export.folder / "model.onnx", self._inputs, list(outputs), threads)
        self._try(export.folder / "model.onnx", outputs, sizes)

    def _try(self, path: Path, outputs: Mapping[str, Sequence[int | None]], sizes: Mapping[str, int]) -> None:
        """Raise ``ExportError`` if the graph lacks vectors for the largest ids, or does not give what it must."""
        with errors_of(path):
            last = {name: size - 1 for name, size in sizes.items()}
            feeds: dict[str, np.ndarray] = {"lengths": np.ones(1, np.int32)}
            for name in self._inputs:
                if name in last:
                    feeds[name] = np.full((1, 1, *self.graph.shapes[name][2:]), last[name], np.int32)
            feeds |= {name: words.vectors(np.array([[last["token_ids"]]])) for name, words in self._shared.items()}
            self._example = {name: feeds[name] for name in self._inputs}
            values = self.graph.run(list(outputs), self._example)
            for (name, shape), value in zip(outputs.items(), values, strict=True):
                if len(value.shape) != len(shape) or any(
                    b not in (None, a) for a, b in zip(value.shape, shape, strict=True)
                ):
                    raise ValueError(f"its {name} for one token have shape {value.shape}")
                if not np.isfinite(value).all():
                    raise ValueError(f"its {name} are not finite numbers")

    def constants(self, outputs: Sequence[str]) -> list[np.ndarray]:
        """Return outputs that are the same for every text."""
        return self.graph.run(outputs, self._example)

    def run(self, rows: Sequence[Row], outputs: Sequence[str]) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
        """Yield the indices of each batch of rows with the outputs for it."""
        lengths = [len(row["token_ids"]) for row in rows]
        for indices in batches.plan(lengths):
            feeds = batches.padded([rows[i] for i in indices])
            if self._shared:
                feeds["lengths"] = np.array([lengths[i] for i in indices], np.int32)
                feeds |= {name: words.vectors(feeds["token_ids"]) for name, words in self._shared.items()}
            yield indices, self.graph.run(outputs, {name: feeds[name] for name in self._inputs})
