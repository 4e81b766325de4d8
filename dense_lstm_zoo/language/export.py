"""A language model as a SavedModel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from dense_lstm_zoo.exports.endpoint import Endpoint, Endpoints, texts_alone
from dense_lstm_zoo.exports.saved_model import portable_copy, write
from dense_lstm_zoo.language.scoring import log_probabilities
from dense_lstm_zoo.layers import recurrence
from dense_lstm_zoo.models import registry

if TYPE_CHECKING:
    from dense_lstm_zoo.language.bundle import LanguageModelBundle
    from dense_lstm_zoo.storage.snapshots import Target

_SCORE = "The log probability and the perplexity of texts, and how many `tokens` they count."
_STEP = (
    "The log probabilities of the next word after each given one, and the states to pass on with the words that "
    "follow; there is at least one word. A text begins with zero states and `<eos>`, as here. An id is a line of "
    "`assets.extra/vocabulary.txt`, counted from 0."
)


@recurrence.unchecked()  # an export should hold only the ops that predictions need
def export(bundle: LanguageModelBundle, target: Target) -> Path:
    """Write a language model as a SavedModel, whole or not at all, and return its path.

    Signatures, for any batch size and length:
        - ``score``, which is also ``serving_default``: ``text`` (batch,) strings to ``log_probability``,
          ``perplexity`` and ``tokens`` (batch,), as in ``LanguageModelBundle.score``.
        - ``step``, for streaming: ``token_ids`` (batch, time) int32 and the state of each layer, ``state_1_h``,
          ``state_1_c``, ... (batch, units), zeros at the start, to ``log_probabilities`` (batch, time, words) of the
          next word and the states under the same names.

    A word's id is its line number, counted from 0, in ``assets.extra/vocabulary.txt``. A text begins with ``<eos>``. As
    for classifiers, ops from tensorflow_text are listed beside it if they are used.

    Args:
        bundle: A trained language model.
        target: The folder to write, as it was when it was checked.
    """
    core, sentence_to_ids = registry.network(portable_copy(bundle)), bundle.sentence_to_ids
    text = tf.TensorSpec((None,), tf.string, name="text")

    @tf.function(input_signature=[text], autograph=False)  # traced once for two names
    def score(text: tf.Tensor) -> dict[str, tf.Tensor]:
        ids = sentence_to_ids(text)
        tokens = tf.cast(ids.row_lengths() - 1, tf.int32)
        total = tf.reduce_sum(log_probabilities(core, ids.to_tensor(shape=(None, None)), tokens), axis=1)
        perplexity = tf.exp(-total / tf.cast(tokens, tf.float32))
        return {"log_probability": total, "perplexity": perplexity, "tokens": tokens}

    def step(token_ids: tf.Tensor, *states: tf.Tensor) -> dict[str, tf.Tensor]:
        logits, *states = core([token_ids, *states], training=False)
        states_by_name = dict(zip(names, states, strict=True))
        return {"log_probabilities": tf.nn.log_softmax(logits), **states_by_name}

    names = [state.name for state in core.inputs[1:]]
    states = [tf.TensorSpec(state.shape, tf.float32, name=state.name) for state in core.inputs[1:]]
    start = bundle.vocabulary.words.index("<eos>")

    def first_steps(texts: Sequence[str]) -> dict[str, Any]:
        count = len(texts)
        zeros = {state.name: np.zeros((count, state.shape[1]), np.float32) for state in states}
        return {"token_ids": np.full((count, 1), start), **zeros}

    scored = Endpoint(score, [text], texts_alone, _SCORE)
    token_ids = tf.TensorSpec((None, None), tf.int32, name="token_ids")
    endpoints: Endpoints = {
        "serving_default": scored,
        "score": scored,
        "step": Endpoint(step, [token_ids, *states], first_steps, _STEP),
    }
    return write(bundle, target, sentence_to_ids, endpoints, bundle.vocabulary)
