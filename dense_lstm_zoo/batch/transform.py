"""The transform: rows with a text in, the same rows with the model's answer out."""

from __future__ import annotations

import os
from typing import Any

import apache_beam as beam
from apache_beam.ml.inference.base import KeyedModelHandler, RunInference

from dense_lstm_zoo import checks
from dense_lstm_zoo.batch.engines import Model
from dense_lstm_zoo.batch.handler import BATCH, ZooModelHandler
from dense_lstm_zoo.tasks.answers import fields


class Predict(beam.PTransform):
    """Adds a model's answer to each row of a collection.

    A classifier adds ``label``, ``probability`` and ``probabilities``. A tagger adds ``tokens``, ``tags`` and
    ``probabilities``, and an export whose tags mark spans also ``spans``. A language model adds ``log_probability``,
    ``perplexity``, ``tokens`` and ``unknown_words``. These are the names that ``dense-lstm-zoo predict --file`` writes.

    Args:
        model: An installed preset's name, or the folder of an export. See ``ZooModelHandler``.
        text_key: The key of a row's text: a string, or for a tagger's ONNX export also a list of tokens.
        prefix: The beginning of new keys' names.
        batch_size: Texts per batch.
        threads: The threads that one call may use. None leaves the choice to the engine.

    Raises:
        ExportError: A folder without an export, or a damaged one.
        FileNotFoundError: No such folder, and no presets are installed.
        TypeError: In a worker, a list of tokens for a SavedModel.
        ValueError: No such preset, with near matches. In a worker, a row without a text, or one that has a new key
            already.

    Example:
        ``rows | Predict("dc_bilstm_sst2", text_key="review")``
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | Model,
        *,
        text_key: str = "text",
        prefix: str = "",
        batch_size: int = BATCH,
        threads: int | None = 1,
    ) -> None:
        super().__init__()
        self._handler = ZooModelHandler(model, batch_size=batch_size, threads=threads)
        self._text_key, self._prefix = text_key, prefix
        self.model = self._handler.model

    def expand(self, rows: Any) -> Any:
        """Return the rows with their answers."""
        texts = rows | "Texts" >> beam.Map(_with_text, self._text_key)
        predictions = texts | "RunInference" >> RunInference(KeyedModelHandler(self._handler))
        return predictions | "Answers" >> beam.Map(_with_answer, self._prefix)


def _with_text(row: dict[str, Any], key: str) -> tuple[dict[str, Any], Any]:
    if key not in row:
        raise ValueError(f"{checks.unknown_name('key of a row:', key, row)} Name the texts' key with text_key=.")
    text = row[key]
    if not isinstance(text, str) and not (isinstance(text, list) and all(isinstance(token, str) for token in text)):
        raise ValueError(f"A row's {key!r} must be a string; found {text!r:.80}. Remove such rows first.")
    return row, text


def _with_answer(pair: tuple[dict[str, Any], Any], prefix: str) -> dict[str, Any]:
    row, answer = pair
    new = {f"{prefix}{name}": value for name, value in fields(answer).items()}
    if occupied := next((name for name in new if name in row and row[name] != new[name]), None):
        raise ValueError(
            f"A row already has the key {occupied!r}, which the answer adds. Choose a prefix for new keys."
        )
    return {**row, **new}
