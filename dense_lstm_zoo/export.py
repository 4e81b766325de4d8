"""Export: a bundle becomes a SavedModel that takes raw strings, for TF Serving or any TensorFlow process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import keras
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from dense_lstm_zoo import files, registry
from dense_lstm_zoo.classification.explain import explainer
from dense_lstm_zoo.classification.text_ids import pad_features
from dense_lstm_zoo.layers import recurrence
from dense_lstm_zoo.scoring import log_probabilities
from dense_lstm_zoo.tagging.bundle import tag

if TYPE_CHECKING:
    from dense_lstm_zoo.bundle import Bundle
    from dense_lstm_zoo.classification.bundle import ClassificationBundle
    from dense_lstm_zoo.language.bundle import LanguageModelBundle
    from dense_lstm_zoo.language.vocabulary import LanguageVocabulary
    from dense_lstm_zoo.tagging.bundle import TaggingBundle

Endpoints = dict[str, tuple[Callable[..., Any], list[Any]]]  # signatures by name: function, specs of its inputs
# Ops of the exported graphs that tensorflow_text brings; everything else is TensorFlow's own.
TEXT_OPS = ("CaseFoldUTF8", "NormalizeUTF8")


@recurrence.unchecked()  # what is served should hold the ops that answer, and no others
def export_classifier(bundle: ClassificationBundle, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write a classifier as a SavedModel, whole or not at all; return its path.

    Signatures, for any batch size, also 0:
        - ``serving_default``: ``text`` (batch,) strings.
        - ``token_ids``: ``token_ids`` (batch, time) int32, right-padded with 0; for models that read characters also
          ``char_ids`` (batch, time, 24).
        - ``explain``: ``text`` (batch,) strings.

    The first two return ``label`` (batch,), ``probabilities`` (batch, classes) in float32 and ``labels`` (batch,
    classes), the names that the columns of ``probabilities`` have. ``explain`` returns what
    ``ClassificationBundle.explain`` tells: ``tokens``, ``saliency`` and ``shares`` (tokens, layers) of all texts one
    after the other, and ``row_lengths`` (batch,), how many tokens each text has.

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

    @tf.function(input_signature=[text_to_ids.signature], autograph=False)  # traced once, for two signatures
    def classify(ids: Any) -> dict[str, Any]:
        probabilities = tf.nn.softmax(tf.cast(model(ids, training=False), tf.float32))
        best = tf.argmax(probabilities, axis=1)
        return {
            "label": tf.gather(names, best),
            "probabilities": probabilities,
            "labels": tf.tile(names[None, :], [tf.shape(probabilities)[0], 1]),
        }

    look_inside = explainer(model)

    def explain(text: Any) -> dict[str, Any]:
        tokens, ids = text_to_ids.read(text)
        found = look_inside(pad_features(ids))
        real = tf.sequence_mask(tokens.row_lengths(), tf.shape(found["saliency"])[1])
        by_token = {name: tf.boolean_mask(found[name], real) for name in ("saliency", "shares")}
        return {"tokens": tokens.flat_values, "row_lengths": tokens.row_lengths(), **by_token}

    text = tf.TensorSpec((None,), tf.string, name="text")
    endpoints: Endpoints = {
        "serving_default": (lambda text: classify(text_to_ids.padded(text)), [text]),
        "token_ids": (classify, [text_to_ids.signature]),
        "explain": (explain, [text]),
    }
    return _write(path, overwrite, text_to_ids, endpoints)


@recurrence.unchecked()  # what is served should hold the ops that answer, and no others
def export_language_model(bundle: LanguageModelBundle, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write a language model as a SavedModel, whole or not at all; return its path.

    Signatures, for any batch size and length:
        - ``score``, which is also ``serving_default``: ``text`` (batch,) strings to ``log_probability``,
          ``perplexity`` and ``tokens`` (batch,), as ``LanguageModelBundle.score`` gives them.
        - ``step``, for streaming: ``token_ids`` (batch, time) int32 and the state of each layer, ``state_1_h``,
          ``state_1_c``, ... (batch, units), zeros at the start, to ``log_probabilities`` (batch, time, words) of the
          next word and the states under the same names.

    A word's id is its line, counted from 0, in ``assets.extra/vocabulary.txt``; a text begins with ``<eos>``. As for a
    classifier, tensorflow_text's ops are listed beside it where they are used.

    Args:
        bundle: A trained language model.
        path: The folder to write; TF Serving wants it to be a version number, such as ``exports/ptb/1``.
        overwrite: Whether to replace what is there.

    Raises:
        FileExistsError: Something is there and ``overwrite`` is False.
    """
    path = files.check_new_folder(path, overwrite)
    core, sentence_to_ids = registry.network(portable_copy(bundle)), bundle.sentence_to_ids
    text = tf.TensorSpec((None,), tf.string, name="text")

    @tf.function(input_signature=[text], autograph=False)  # traced once, for two names
    def score(text: Any) -> dict[str, Any]:
        ids = sentence_to_ids(text)
        tokens = tf.cast(ids.row_lengths() - 1, tf.int32)
        total = tf.reduce_sum(log_probabilities(core, ids.to_tensor(shape=(None, None)), tokens), axis=1)
        perplexity = tf.exp(-total / tf.cast(tokens, tf.float32))
        return {"log_probability": total, "perplexity": perplexity, "tokens": tokens}

    def step(token_ids: Any, *states: Any) -> dict[str, Any]:
        logits, *states = core([token_ids, *states], training=False)
        named = dict(zip(names, states, strict=True))
        return {"log_probabilities": tf.nn.log_softmax(logits), **named}

    names = [state.name for state in core.inputs[1:]]
    states = [tf.TensorSpec(state.shape, tf.float32, name=state.name) for state in core.inputs[1:]]
    endpoints: Endpoints = {
        "serving_default": (score, [text]),
        "score": (score, [text]),
        "step": (step, [tf.TensorSpec((None, None), tf.int32, name="token_ids"), *states]),
    }
    return _write(path, overwrite, sentence_to_ids, endpoints, bundle.vocabulary)


@recurrence.unchecked()  # what is served should hold the ops that answer, and no others
def export_tagger(bundle: TaggingBundle, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write a tagger as a SavedModel, whole or not at all; return its path.

    Signatures, for any number of sentences, also 0:
        - ``serving_default``: ``text`` (batch,) strings, split into tokens as in the Penn Treebank, to ``tokens``,
          ``tags`` and ``probabilities`` of all sentences one after the other, and ``row_lengths`` (batch,), how many
          tokens each sentence has.
        - ``tokens``: ``tokens`` of all sentences one after the other and ``row_lengths`` to the same.

    Args:
        bundle: A trained tagger.
        path: The folder to write; TF Serving wants it to be a version number, such as ``exports/tagger/1``.
        overwrite: Whether to replace what is there.

    Raises:
        FileExistsError: Something is there and ``overwrite`` is False.
    """
    path = files.check_new_folder(path, overwrite)
    model, tokenizer, tokens_to_ids = portable_copy(bundle), bundle.tokenizer, bundle.tokens_to_ids
    network, crf, names = registry.network(model), getattr(model, "crf", None), tf.constant(bundle.labels)

    text, tokens = (tf.TensorSpec((None,), tf.string, name=name) for name in ("text", "tokens"))
    lists = [tokens, tf.TensorSpec((None,), tf.int64, name="row_lengths")]

    @tf.function(input_signature=lists, autograph=False)  # traced once, for two signatures
    def tag_lists(tokens: Any, row_lengths: Any) -> dict[str, Any]:
        sentences = tf.RaggedTensor.from_row_lengths(tokens, row_lengths)
        tags, shares = tag(network, crf, tokens_to_ids.padded(sentences))
        real = tf.sequence_mask(row_lengths, tf.shape(tags)[1])
        return {
            "tokens": tokens,
            "tags": tf.gather(names, tf.boolean_mask(tags, real)),
            "probabilities": tf.boolean_mask(shares, real),
            "row_lengths": row_lengths,
        }

    def tag_texts(text: Any) -> dict[str, Any]:
        tokens = tokenizer(text)
        return tag_lists(tokens.flat_values, tokens.row_lengths())

    endpoints: Endpoints = {
        "serving_default": (tag_texts, [text]),
        "tokens": (tag_lists, lists),
    }
    return _write(path, overwrite, tokens_to_ids, endpoints)


class _Served(tf.Module):
    """What a SavedModel holds: its functions as attributes, the variables that they read, and their tables.

    Keras' ``ExportArchive`` tracks each variable as its own and as TensorFlow's, and writes it twice.
    """

    # Properties of a tf.Module; here they are what is set, so that a loaded export has them too.
    variables: Any = ()
    trainable_variables: Any = ()
    non_trainable_variables: Any = ()


def _write(
    path: Path,
    overwrite: bool,
    text_layer: keras.Layer,
    endpoints: Endpoints,
    vocabulary: LanguageVocabulary | None = None,
) -> Path:
    served = _Served()
    signatures = {name: _traced_once(function, inputs) for name, (function, inputs) in endpoints.items()}
    for name, function in signatures.items():
        setattr(served, name, function)
    read = (variable for function in signatures.values() for variable in function.get_concrete_function().variables)
    found = {id(variable): variable for variable in read}
    served.variables = list(found.values())
    served.trainable_variables = [v for v in found.values() if v.trainable]
    served.non_trainable_variables = [v for v in found.values() if not v.trainable]
    parts = tf.train.TrackableView(text_layer).descendants()
    served.tables = [part for part in parts if isinstance(part, tf.lookup.StaticHashTable)]
    with files.new_folder(path, overwrite) as folder:
        logger = tf.get_logger()
        level = logger.level
        logger.setLevel("WARNING")  # else a notebook shows the temporary folder's name
        try:
            tf.saved_model.save(served, str(folder), signatures)
        finally:
            logger.setLevel(level)
        extra = folder / "assets.extra"
        extra.mkdir()
        used = sorted(graph_ops(folder) & set(TEXT_OPS))
        (extra / "non_core_ops.txt").write_text("".join(f"{op}\n" for op in used))
        if vocabulary is not None:
            vocabulary.write(extra / "vocabulary.txt")
    return path


def _traced_once(function: Callable[..., Any], signature: list[Any]) -> Any:
    """Return a ``tf.function`` around the given one's trace: saving would trace an endpoint twice."""
    traced = tf.function(function, input_signature=signature, autograph=False).get_concrete_function()
    return tf.function(lambda *inputs: traced(*inputs), input_signature=signature, autograph=False)


def portable_copy(bundle: Bundle) -> keras.Model:
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
