"""A tagger as a SavedModel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from dense_lstm_zoo import files, registry
from dense_lstm_zoo.export import Endpoints, portable_copy, write
from dense_lstm_zoo.layers import recurrence
from dense_lstm_zoo.tagging.decoding import tag

if TYPE_CHECKING:
    from dense_lstm_zoo.tagging.bundle import TaggingBundle


@recurrence.unchecked()  # an export should hold only the ops that predictions need
def export(bundle: TaggingBundle, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write a tagger as a SavedModel, whole or not at all; return its path.

    Signatures, for any number of sentences, including 0:
        - ``serving_default``: ``text`` (batch,) strings, split into tokens as in the Penn Treebank, to ``tokens``,
          ``tags`` and ``probabilities`` of all sentences, one after the other, and ``row_lengths`` (batch,), the
          number of tokens per sentence.
        - ``tokens``: ``tokens`` of all sentences, one after the other, and ``row_lengths``; returns the same.

    Args:
        bundle: A trained tagger.
        path: The folder to write; TF Serving needs a version number as its name, such as ``exports/tagger/1``.
        overwrite: Whether to replace an existing folder.

    Raises:
        FileExistsError: Something is there and ``overwrite`` is False.
    """
    path = files.check_new_folder(path, overwrite)
    model, tokenizer, tokens_to_ids = portable_copy(bundle), bundle.tokenizer, bundle.tokens_to_ids
    network, crf, names = registry.network(model), getattr(model, "crf", None), tf.constant(bundle.labels)

    text, tokens = (tf.TensorSpec((None,), tf.string, name=name) for name in ("text", "tokens"))
    lists = [tokens, tf.TensorSpec((None,), tf.int64, name="row_lengths")]

    @tf.function(input_signature=lists, autograph=False)  # traced once for two signatures
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
    return write(path, overwrite, tokens_to_ids, endpoints)
