"""The models that batch predictions run: an ONNX export in the light runtime, or a SavedModel in TensorFlow."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dense_lstm_zoo import tasks
from dense_lstm_zoo.exports.endpoint import ANSWER
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.tasks.answers import strings
from dense_lstm_zoo_runtime.batches import plan
from dense_lstm_zoo_runtime.errors import errors_of
from dense_lstm_zoo_runtime.export_folder import SUBFOLDER
from dense_lstm_zoo_runtime.paths import user_path

# Texts per call of a SavedModel; docs/batch.md has the measurements, also those against the light runtime.
TENSORFLOW_BATCH = 32
Answers = Callable[[Sequence[Any]], list[Any]]


@dataclass(frozen=True)
class Model:
    """A model that has been found and checked, and can be loaded in another process.

    Attributes:
        source: An absolute path, or the name of an installed preset.
        engine: ``"onnx"`` or ``"tensorflow"``.
        task: As in ``list_models(task=...)``.
        labels: The classes or tags. Empty for a language model, and for a tagger's SavedModel of an older version.
        is_several: Whether texts may have several labels, or none.
    """

    source: str
    engine: str
    task: str
    labels: tuple[str, ...]
    is_several: bool = False

    def load(self, threads: int | None = 1) -> Answers:
        """Load the model and return a function from texts to one answer per text, in order.

        Args:
            threads: The threads that one call may use. None leaves the choice to the engine.
        """
        if self.engine == "onnx":
            from dense_lstm_zoo_runtime import Predictor

            return Predictor(self.source, threads=threads).predict
        return _saved_model(self.source, threads)[1]


def find(source: str | os.PathLike[str]) -> Model:
    """Find a model and load it once, so that a damaged one is refused before any work.

    Args:
        source: An installed preset's name, the folder of an ONNX export or of a bundle that holds one in ``onnx``, or
            the folder of a SavedModel that ``export`` wrote.

    Raises:
        ExportError: A folder without an export, or a damaged one.
        FileNotFoundError: No such folder, and no presets are installed.
        ValueError: No such preset, with near matches. An export of another bundle. A SavedModel of a language model.
    """
    from dense_lstm_zoo_runtime import Predictor

    text = os.fspath(source)
    folder = user_path(text)
    if folder.is_dir():
        text = str(folder.resolve())
        if (folder / "saved_model.pb").is_file():
            task, _, labels, is_several = _saved_model(text, None)
            return Model(text, "tensorflow", task, labels, is_several)
        _check_origin(folder)
    predictor = Predictor(text)
    return Model(text, "onnx", predictor.task, tuple(predictor.labels), predictor.is_several)


def _check_origin(folder: Path) -> None:
    """Raise ``ValueError`` if a bundle's folder holds the export of another bundle, such as an earlier training's."""
    manifest, export = folder / "manifest.json", folder / SUBFOLDER
    if not (manifest.is_file() and (export / "config.json").is_file()):
        return
    try:
        made_from = json.loads((export / "config.json").read_text(encoding="utf-8"))["bundle"]
    except (OSError, ValueError, KeyError, TypeError):
        return  # the predictor says what is wrong with it
    if made_from != files.sha256(manifest):
        raise ValueError(
            f"{export} was not made from the bundle in {folder}; export it again: dense-lstm-zoo export {folder} "
            f"{export} --format onnx --overwrite."
        )


def _saved_model(folder: str, threads: int | None) -> tuple[str, Answers, tuple[str, ...], bool]:
    """Load a SavedModel. Return its task, a function from texts to answers, its labels, and if a text has several."""
    import tensorflow as tf
    import tensorflow_text  # noqa: F401 - registers the tokeniser's ops

    if threads is not None:
        with contextlib.suppress(RuntimeError):  # TensorFlow has started in this process and keeps its threads
            tf.config.threading.set_intra_op_parallelism_threads(threads)
            tf.config.threading.set_inter_op_parallelism_threads(threads)
    model = tf.saved_model.load(folder)
    serve = model.signatures.get("serving_default")
    outputs = set() if serve is None else set(serve.structured_outputs)
    task = tasks.with_output(outputs)
    of_outputs = None if task is None else task.answers.of_outputs
    if task is None or of_outputs is None:
        raise ValueError(
            f"{folder} is not a classifier's or a tagger's SavedModel: its default signature returns "
            f"{', '.join(sorted(outputs)) or 'nothing'}. Export the model again; a language model with --format onnx."
        )

    whole_answer = getattr(model, ANSWER, serve)

    def run(texts: Sequence[str]) -> dict[str, Any]:
        outputs = whole_answer(tf.constant([text.encode("utf-8", "replace") for text in texts], tf.string))
        return {name: value.numpy() for name, value in outputs.items()}

    def answers(texts: Sequence[Any]) -> list[Any]:
        assert model is not None  # a signature holds only weak references to its variables
        for text in texts:
            if not isinstance(text, str):
                advice = " An ONNX export (--format onnx) takes lists of tokens, too." * task.takes_tokens
                raise TypeError(
                    f"{folder} is a SavedModel, which takes strings; received {text!r:.80} ({type(text).__name__})."
                    f"{advice}"
                )
        answers_in_order: list[Any] = [None] * len(texts)
        for indices in plan([text.count(" ") + 1 for text in texts], TENSORFLOW_BATCH):
            batch = [texts[i] for i in indices]
            for i, answer in zip(indices, of_outputs(batch, run(batch)), strict=True):
                answers_in_order[i] = answer
        return answers_in_order

    with errors_of(Path(folder)):
        example = run([""])
        of_outputs([""], example)
    labels = tuple(strings(example["labels"][0])) if "labels" in example else ()
    return task.name, answers, labels, "predicted" in outputs
