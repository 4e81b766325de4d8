"""Export: a bundle becomes a SavedModel that takes raw strings, for TF Serving or any TensorFlow process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import keras
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from dense_lstm_zoo.exports import page, warmup
from dense_lstm_zoo.exports.endpoint import ANSWER, Endpoint, Endpoints
from dense_lstm_zoo.exports.signature import describe
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.reports import base
from dense_lstm_zoo.storage import export_names, files
from dense_lstm_zoo.storage.snapshots import Target

if TYPE_CHECKING:
    from dense_lstm_zoo.bundles.bundle import Bundle

# Ops in exported graphs that come from tensorflow_text; all others are TensorFlow's own.
TEXT_OPS = ("CaseFoldUTF8", "NormalizeUTF8")
_USE = """import tensorflow as tf
import tensorflow_text  # registers the ops of the tokeniser

serve = tf.saved_model.load("this folder").signatures["serving_default"]
print(serve(text=tf.constant(["a text", "another one"])))  # SIGNATURES.md shows this and every other signature"""


class Vocabulary(Protocol):
    """The words of a model, as every task has them."""

    def write(self, path: Path) -> None:
        """Write the words, one per line."""


class _Served(tf.Module):
    """The content of a SavedModel: functions as attributes, with their variables and tables.

    Keras's ``ExportArchive`` tracks each variable both as a Keras and as a TensorFlow variable, and writes it twice.
    """

    # Properties of tf.Module; here they are plain attributes, so that a loaded export has them too.
    variables: Sequence[tf.Variable] = ()
    trainable_variables: Sequence[tf.Variable] = ()
    non_trainable_variables: Sequence[tf.Variable] = ()


def write(
    bundle: Bundle,
    target: Target,
    text_layer: keras.Layer,
    endpoints: Endpoints,
    vocabulary: Vocabulary | None = None,
    answer: Endpoint | None = None,
) -> Path:
    """Write a SavedModel, whole or not at all, and return its path.

    Beside it lie requests that warm TF Serving up, if tensorflow-serving-api is installed, ``SIGNATURES.md`` and the
    card. The card is written last, once the export is in place. A failure there is only a warning.

    Args:
        bundle: The bundle that is exported.
        target: The folder to write, as it was when it was checked.
        text_layer: The layer that reads strings. Its tables are saved too.
        endpoints: The signatures.
        vocabulary: The content of ``assets.extra/vocabulary.txt``, if any.
        answer: A function that is saved as ``ANSWER``, and is not a signature. Its variables are those of signatures.
    """
    served = _Served()
    signatures = {name: _traced_once(endpoint.function, endpoint.inputs) for name, endpoint in endpoints.items()}
    for name, function in signatures.items():
        setattr(served, name, function)
    if answer is not None:
        setattr(served, ANSWER, _traced_once(answer.function, answer.inputs))
    all_variables = (
        variable for function in signatures.values() for variable in function.get_concrete_function().variables
    )
    variables = {id(variable): variable for variable in all_variables}
    served.variables = list(variables.values())
    served.trainable_variables = [v for v in variables.values() if v.trainable]
    served.non_trainable_variables = [v for v in variables.values() if not v.trainable]
    parts = tf.train.TrackableView(text_layer).descendants()
    served.tables = [part for part in parts if isinstance(part, tf.lookup.StaticHashTable)]
    with files.new_folder(target) as folder:
        logger = tf.get_logger()
        level = logger.level
        logger.setLevel("WARNING")  # otherwise a notebook shows the name of the temporary folder
        try:
            tf.saved_model.save(served, str(folder), signatures)
        finally:
            logger.setLevel(level)
        extra = folder / export_names.FOLDER
        extra.mkdir()
        text_ops = sorted(graph_ops(folder) & set(TEXT_OPS))
        (extra / export_names.OPS).write_text("".join(f"{op}\n" for op in text_ops))
        if vocabulary is not None:
            vocabulary.write(extra / export_names.VOCABULARY)
        warm_up_requests = warmup.write(extra, endpoints)
        described = [describe(name, endpoints[name], function) for name, function in signatures.items()]
        (folder / page.NAME).write_text(page.markdown(described, warm_up_requests), encoding="utf-8")
    base.write_card(bundle, target.real, _USE)
    return target.path


def _traced_once(function: Callable[..., Any], signature: list[Any]) -> tf.types.experimental.PolymorphicFunction:
    """Return a ``tf.function`` around a trace of the function, since saving would trace it twice."""
    traced = tf.function(function, input_signature=signature, autograph=False).get_concrete_function()
    return tf.function(lambda *inputs: traced(*inputs), input_signature=signature, autograph=False)


def portable_copy(bundle: Bundle) -> keras.Model:
    """Return the bundle's model on the kernel that uses only core TensorFlow ops, without XLA or cuDNN.

    It keeps what it computes: ``remat`` is for training, and its gradient cannot be saved.
    """
    arguments = {**bundle.config["arguments"], "kernel": "native"}
    if "remat" in arguments:
        arguments["remat"] = False
    model = registry.build(bundle.config["model"], **arguments)
    for copy, layer in zip(model._flatten_layers(), bundle.model._flatten_layers(), strict=True):
        weights: dict[str, Any] = {}  # as in a file, where LoRA's product is in the weight that it adds to
        layer.save_own_variables(weights)
        copy.load_own_variables(weights)
    return model


def graph_ops(saved_model: Path) -> set[str]:
    """Return the names of all ops in a SavedModel's graph and its functions."""
    proto = saved_model_pb2.SavedModel.FromString((saved_model / "saved_model.pb").read_bytes())
    graphs = [meta.graph_def for meta in proto.meta_graphs]
    nodes = [node for graph in graphs for node in graph.node]
    nodes += [node for graph in graphs for function in graph.library.function for node in function.node_def]
    return {node.op for node in nodes}
