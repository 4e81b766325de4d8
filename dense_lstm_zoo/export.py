"""Export: a bundle becomes a SavedModel that takes raw strings, for TF Serving or any TensorFlow process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import keras
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from dense_lstm_zoo import files, registry

if TYPE_CHECKING:
    from dense_lstm_zoo.classification import ClassificationBundle

# Ops of the exported graphs that tensorflow_text brings; everything else is TensorFlow's own.
TEXT_OPS = ("CaseFoldUTF8", "NormalizeUTF8")


def export_classifier(bundle: ClassificationBundle, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write a classifier as a SavedModel, whole or not at all; return its path.

    Signatures, for any batch size, also 0:
        - ``serving_default``: ``text`` (batch,) strings.
        - ``token_ids``: ``token_ids`` (batch, time) int32, right-padded with 0.

    Both return ``label`` (batch,), ``probabilities`` (batch, classes) in float32 and ``labels`` (batch, classes), the
    names that the columns of ``probabilities`` have.

    The process that loads it must load tensorflow_text's ops first (``import tensorflow_text``); they are listed in
    ``assets.extra/non_core_ops.txt``.

    Args:
        bundle: A trained classifier.
        path: The folder to write; TF Serving wants it to be a version number, such as ``exports/trec/1``.
        overwrite: Whether to replace what is there.

    Raises:
        FileExistsError: Something is there and ``overwrite`` is False.
    """
    path = files.check_new_folder(path, overwrite)
    model, text_to_ids = portable_copy(bundle), bundle.text_to_ids
    names = tf.constant(bundle.labels)

    def classify(token_ids: Any) -> dict[str, Any]:
        probabilities = tf.nn.softmax(tf.cast(model(token_ids, training=False), tf.float32))
        best = tf.argmax(probabilities, axis=1)
        return {
            "label": tf.gather(names, best),
            "probabilities": probabilities,
            "labels": tf.tile(names[None, :], [tf.shape(probabilities)[0], 1]),
        }

    archive = keras.export.ExportArchive()
    archive.track(model)
    archive.track(text_to_ids)
    archive.add_endpoint(
        name="serving_default",
        fn=lambda text: classify(text_to_ids.padded(text)),
        input_signature=[tf.TensorSpec((None,), tf.string, name="text")],
    )
    archive.add_endpoint(
        name="token_ids",
        fn=classify,
        input_signature=[tf.TensorSpec((None, None), tf.int32, name="token_ids")],
    )
    with files.new_folder(path, overwrite) as folder:
        logger = tf.get_logger()
        level = logger.level
        logger.setLevel("WARNING")  # else a notebook shows the temporary folder's name
        try:
            archive.write_out(str(folder), verbose=False)
        finally:
            logger.setLevel(level)
        extra = folder / "assets.extra"
        extra.mkdir()
        used = sorted(graph_ops(folder) & set(TEXT_OPS))
        (extra / "non_core_ops.txt").write_text("".join(f"{op}\n" for op in used))
    return path


def portable_copy(bundle: ClassificationBundle) -> keras.Model:
    """Return the bundle's model on the kernel that is core TensorFlow ops alone: no XLA, no cuDNN, any machine."""
    model = registry.build(bundle.config["model"], **{**bundle.config["arguments"], "kernel": "native"})
    model.set_weights(bundle.model.get_weights())
    return model


def graph_ops(saved_model: Path) -> set[str]:
    """Return the names of all ops in a SavedModel's graph and its functions."""
    proto = saved_model_pb2.SavedModel.FromString((saved_model / "saved_model.pb").read_bytes())
    graphs = [meta.graph_def for meta in proto.meta_graphs]
    nodes = [node for graph in graphs for node in graph.node]
    nodes += [node for graph in graphs for function in graph.library.function for node in function.node_def]
    return {node.op for node in nodes}
