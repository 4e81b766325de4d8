"""A tagger as a SavedModel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import tensorflow as tf

from dense_lstm_zoo.exports.endpoint import Endpoint, Endpoints, texts_alone
from dense_lstm_zoo.exports.saved_model import portable_copy, write
from dense_lstm_zoo.layers import recurrence
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.tagging.decoding import decode
from dense_lstm_zoo_runtime.chain import CRF_WEIGHTS

if TYPE_CHECKING:
    from dense_lstm_zoo.storage.snapshots import Target
    from dense_lstm_zoo.tagging.bundle import TaggingBundle

_PADDED = (
    "The tokens of texts, their tags and the tags' probabilities, one row per text. Cut each row to its `row_lengths`: "
    'what follows is padding, `""` or 0, up to the longest text of the batch, which may be from another request.'
)
_FLAT = "The tokens of all texts, one after the other, with their tags and the tags' probabilities."
_TOKENS = "As `flat`, for texts that are tokens already: those of all texts, one after the other, and `row_lengths`."


@recurrence.unchecked()  # an export should hold only the ops that predictions need
def export(bundle: TaggingBundle, target: Target) -> Path:
    """Write a tagger as a SavedModel, whole or not at all, and return its path.

    Signatures, for any number of sentences, including 0:
        - ``serving_default``: ``text`` (batch,) strings, split into tokens as in the Penn Treebank, to ``tokens``,
          ``tags`` and ``probabilities`` (batch, time), and ``row_lengths`` (batch,), the number of tokens per sentence.
          What follows them in a row is padding, ``""`` or 0.
        - ``flat``: the same for the tokens of all sentences, one after the other, without padding.
        - ``tokens``: ``tokens`` of all sentences, one after the other, and ``row_lengths``. Returns what ``flat`` does.

    A server that batches requests cuts every output into rows by request, which only ``serving_default`` allows.

    It also has the function ``answer``, which is not a signature: servers do not list it, and Python calls it on what
    ``tf.saved_model.load`` returns. It takes ``text`` and returns what ``serving_default`` does, with ``labels``
    (1, tags), the ``scores`` of all tags (batch, time, tags) and the weights of a CRF: ``transitions`` (tags, tags),
    ``start`` and ``end`` (tags,). Spans are made from these.

    Args:
        bundle: A trained tagger.
        target: The folder to write, as it was when it was checked.
    """
    model, tokenizer, tokens_to_ids = portable_copy(bundle), bundle.tokenizer, bundle.tokens_to_ids
    network, crf, names = registry.network(model), getattr(model, "crf", None), tf.constant(bundle.labels)

    text, tokens = (tf.TensorSpec((None,), tf.string, name=name) for name in ("text", "tokens"))
    lists = [tokens, tf.TensorSpec((None,), tf.int64, name="row_lengths")]

    @tf.function(input_signature=lists, autograph=False)  # traced once for all signatures
    def tag_lists(tokens: tf.Tensor, row_lengths: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        sentences = tf.RaggedTensor.from_row_lengths(tokens, row_lengths)
        tags, shares, _, scores = decode(network, crf, tokens_to_ids.padded(sentences))
        real = tf.sequence_mask(row_lengths, tf.shape(tags)[1])
        return tf.gather(names, tags), shares, real, tf.cast(scores, tf.float32)

    def padded(text: tf.Tensor) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
        tokens = tokenizer(text)
        tags, shares, real, scores = tag_lists(tokens.flat_values, tokens.row_lengths())
        outputs = {
            "tokens": tokens.to_tensor("", shape=tf.stack([-1, tf.shape(tags)[1]])),
            "tags": tf.where(real, tags, ""),
            "probabilities": tf.where(real, shares, 0.0),
            "row_lengths": tokens.row_lengths(),
        }
        return outputs, scores

    def tag_texts(text: tf.Tensor) -> dict[str, tf.Tensor]:
        return padded(text)[0]

    def answer(text: tf.Tensor) -> dict[str, tf.Tensor]:
        outputs, scores = padded(text)
        weights = {} if crf is None else {name: tf.cast(getattr(crf, name), tf.float32) for name in CRF_WEIGHTS}
        return {**outputs, "labels": names[None], "scores": scores, **weights}

    def tag_flat_lists(tokens: tf.Tensor, row_lengths: tf.Tensor) -> dict[str, tf.Tensor]:
        tags, shares, real, _ = tag_lists(tokens, row_lengths)
        return {
            "tokens": tokens,
            "tags": tf.boolean_mask(tags, real),
            "probabilities": tf.boolean_mask(shares, real),
            "row_lengths": row_lengths,
        }

    def tag_flat_texts(text: tf.Tensor) -> dict[str, tf.Tensor]:
        tokens = tokenizer(text)
        return tag_flat_lists(tokens.flat_values, tokens.row_lengths())

    def tokens_of(texts: Sequence[str]) -> dict[str, tf.Tensor]:
        tokens = tokenizer(tf.constant(texts))
        return {"tokens": tokens.flat_values, "row_lengths": tokens.row_lengths()}

    endpoints: Endpoints = {
        "serving_default": Endpoint(tag_texts, [text], texts_alone, _PADDED),
        "flat": Endpoint(tag_flat_texts, [text], texts_alone, _FLAT, is_concatenated=True),
        "tokens": Endpoint(tag_flat_lists, lists, tokens_of, _TOKENS, is_concatenated=True),
    }
    return write(bundle, target, tokens_to_ids, endpoints, answer=Endpoint(answer, [text], texts_alone, ""))
