"""The model handler: how Beam's ``RunInference`` loads and runs the zoo's models.

Beam's own TensorFlow handlers read models with ``keras.models.load_model``, which refuses SavedModels.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from apache_beam.ml.inference.base import ModelHandler

from dense_lstm_zoo import checks
from dense_lstm_zoo.batch import engines

# Texts that go to the model at a time. It sorts them by length and runs them in small batches, so the number need not
# suit the model: with more, batches hold texts of more similar length, and more texts are in memory.
BATCH = 1024


class ZooModelHandler(ModelHandler[Any, Any, engines.Answers]):
    """Runs a trained model in ``RunInference``: strings in, ``Prediction``, ``TaggedSentence`` or ``Score`` out.

    A tagger's ONNX export also takes lists of tokens.

    A worker process loads the model once, whatever the number of bundles and threads. Texts are sorted by length within
    a batch, and each group of similar ones is padded only to its longest.

    Args:
        model: An installed preset's name, the folder of an ONNX export or of a bundle that holds one in ``onnx``, or
            the folder of a SavedModel. See ``docs/batch.md`` for what is faster. Workers on other machines must find it
            under the same name.
        batch_size: Texts per batch.
        threads: The threads that one call may use. None leaves the choice to the engine.

    Attributes:
        model: What was found: its task and labels.

    Raises:
        ExportError: A folder without an export, or a damaged one.
        FileNotFoundError: No such folder, and no presets are installed.
        ValueError: No such preset, with near matches. A size below 1.

    Example:
        ``texts | RunInference(ZooModelHandler("dc_bilstm_sst2"))``
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | engines.Model,
        *,
        batch_size: int = BATCH,
        threads: int | None = 1,
    ) -> None:
        checks.integer("batch_size", batch_size)
        if threads is not None:
            checks.threads("threads", threads)
        self.model = model if isinstance(model, engines.Model) else engines.find(model)
        self._threads = threads
        super().__init__(min_batch_size=batch_size, max_batch_size=batch_size)

    def load_model(self) -> engines.Answers:
        """Load the model. Beam shares it between the bundles and threads of a process."""
        return _Loaded(self.model.load(self._threads))

    def run_inference(
        self, batch: Sequence[Any], model: engines.Answers, inference_args: dict[str, Any] | None = None
    ) -> Iterable[Any]:
        """Return one answer per text, in order."""
        return model(batch)

    def get_num_bytes(self, batch: Sequence[Any]) -> int:
        """Return the characters of the texts, for Beam's metrics. The base class would pickle every batch."""
        return sum(len(text) if isinstance(text, str) else sum(map(len, text)) for text in batch)

    def get_metrics_namespace(self) -> str:
        """Return the namespace of Beam's metrics: number of inferences, latency of batches and of loading."""
        return "dense_lstm_zoo"

    def validate_inference_args(self, inference_args: dict[str, Any] | None) -> None:
        """Raise ``ValueError`` for arguments, as the models take none."""
        if inference_args:
            raise ValueError(f"The zoo's models take no inference_args; received {inference_args!r:.80}.")


class _Loaded:
    """A loaded model. Beam keeps a weak reference to it, which a bound method would not survive."""

    def __init__(self, answers: engines.Answers) -> None:
        self._answers = answers

    def __call__(self, texts: Sequence[Any]) -> list[Any]:
        return self._answers(texts)
