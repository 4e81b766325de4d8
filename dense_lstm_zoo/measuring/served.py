"""Loading models as their users do: a bundle with ``load``, a SavedModel with TensorFlow only, ONNX without it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dense_lstm_zoo import tasks

# Imports before the model is loaded, so that its load time does not include them.
IMPORTS = {
    "bundle": ("tensorflow", "tensorflow_text", "keras", "pandas", "dense_lstm_zoo.layers"),
    "export": ("tensorflow", "tensorflow_text"),
    "onnx": ("dense_lstm_zoo_runtime",),
}


@dataclass(frozen=True)
class Served:
    """A loaded model: its task, its name (empty for an export) and a function of a list of texts."""

    task: str
    model: str
    predict: Callable[[list[str]], Any]


def load_bundle(path: str) -> Served:
    """Load a bundle. Texts are classified, tagged or scored."""
    from dense_lstm_zoo.bundles.bundle import load

    bundle = load(path)
    return Served(bundle.task.name, bundle.config["model"], getattr(bundle, bundle.task.commands[0]))


def load_export(path: str) -> Served:
    """Load an export as a server does. The outputs of its default signature are fetched from the device.

    Raises:
        ValueError: A SavedModel whose default signature is not one that ``export`` writes.
    """
    import tensorflow as tf

    model = tf.saved_model.load(path)
    serve = model.signatures.get("serving_default")
    outputs = {} if serve is None else serve.structured_outputs
    if (task := tasks.with_output(outputs)) is None:
        complaint = f"returns {', '.join(sorted(outputs))}" if outputs else "is missing"
        raise ValueError(f"{path} is not an export of this package: its signature serving_default {complaint}.")

    def predict(texts: list[str]) -> dict[str, Any]:
        outputs = serve(text=tf.constant([text.encode("utf-8", "replace") for text in texts], tf.string))
        return {name: value.numpy() for name, value in outputs.items()}

    predict.model = model  # type: ignore[attr-defined]  # a signature holds only weak references to its variables
    return Served(task.name, "", predict)


def load_onnx(path: str) -> Served:
    """Load an ONNX export with the light runtime."""
    from dense_lstm_zoo_runtime import Predictor

    predictor = Predictor(path)
    return Served(predictor.task, predictor.model, predictor.predict)


LOADERS: dict[str, Callable[[str], Served]] = {"bundle": load_bundle, "export": load_export, "onnx": load_onnx}
