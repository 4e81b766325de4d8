"""A classifier as a SavedModel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import tensorflow as tf

from dense_lstm_zoo.classification.embedding import with_pooled
from dense_lstm_zoo.classification.explain import explainer
from dense_lstm_zoo.classification.text_ids import pad_features
from dense_lstm_zoo.exports.endpoint import Endpoint, Endpoints, texts_alone
from dense_lstm_zoo.exports.saved_model import portable_copy, write
from dense_lstm_zoo.layers import recurrence
from dense_lstm_zoo_runtime.decisions import FAINT
from dense_lstm_zoo_runtime.ids import UNKNOWN

if TYPE_CHECKING:
    from dense_lstm_zoo.classification.bundle import ClassificationBundle
    from dense_lstm_zoo.data.batching import Ids
    from dense_lstm_zoo.storage.snapshots import Target

_ANSWER = "`labels` names the columns of `probabilities`; `label` is the likeliest."
_ANSWER_BY_THRESHOLD = "`labels` names the columns of `probabilities`; `label` is the one that its threshold decides."
_ANSWER_OF_SEVERAL = (
    "`labels` names the columns of `probabilities`, and `predicted` says which of them a text has: those that reach "
    "their thresholds. `label` is the likeliest of these, or empty if there is none."
)
_EXPLAIN = (
    "The words that the model read, how much each raised the logit of the predicted label (`saliency`: gradient times "
    "input), and the `shares` of attention or routing that each got, if the model's pooling has any."
)


@recurrence.unchecked()  # an export should hold only the ops that predictions need
def export(bundle: ClassificationBundle, target: Target) -> Path:
    """Write a classifier as a SavedModel, whole or not at all, and return its path.

    Signatures, for any batch size, including 0:
        - ``serving_default``: ``text`` (batch,) strings.
        - ``token_ids``: ``token_ids`` (batch, time) int32, right-padded with 0. For models that read characters also
          ``char_ids`` (batch, time, 24).
        - ``explain``: ``text`` (batch,) strings.
        - ``embed``: ``text`` (batch,) strings.

    The first two return ``label`` (batch,), ``probabilities`` (batch, classes) in float32 and ``labels`` (batch,
    classes), the names of the columns of ``probabilities``. Where texts may have several labels, ``predicted`` (batch,
    classes) says which of them a text has. ``explain`` returns the results of
    ``ClassificationBundle.explain``: ``tokens``, ``saliency`` and ``shares`` (tokens, layers) of all texts, one after
    the other, and ``row_lengths`` (batch,), the number of tokens per text, and a server must not batch its requests.
    ``embed`` returns ``vectors`` (batch, width) in float32, the results of ``ClassificationBundle.embed``.

    The process that loads it must load tensorflow_text's ops first (``import tensorflow_text``). They are listed in
    ``assets.extra/non_core_ops.txt``.

    Args:
        bundle: A trained classifier.
        target: The folder to write, as it was when it was checked.
    """
    model, text_to_ids = portable_copy(bundle), bundle.text_to_ids
    names, temperature, decisions = tf.constant(bundle.labels), bundle.temperature, bundle.decisions
    both = with_pooled(model)

    @tf.function(input_signature=[text_to_ids.signature], autograph=False)  # all but explain share its graph
    def pooled_and_logits(ids: Ids) -> list[tf.Tensor]:
        return both(ids, training=False)

    @tf.function(input_signature=[text_to_ids.signature], autograph=False)  # traced once for two signatures
    def classify(ids: Ids) -> dict[str, tf.Tensor]:
        logits = tf.cast(pooled_and_logits(ids)[1], tf.float32)
        if not (decisions.is_several or bundle.vocabulary.chars):  # as in the bundle
            words = ids["token_ids"] if isinstance(ids, dict) else ids
            logits *= tf.where(tf.reduce_any(words > UNKNOWN, axis=1, keepdims=True), 1.0, FAINT)
        best = tf.argmax(logits, axis=1)
        scaled = logits if temperature is None else logits / temperature
        probabilities = tf.nn.sigmoid(scaled) if decisions.is_several else tf.nn.softmax(scaled)
        outputs = {
            "label": tf.gather(names, best),
            "probabilities": probabilities,
            "labels": tf.tile(names[None, :], [tf.shape(probabilities)[0], 1]),
        }
        if decisions.is_several:
            predicted = probabilities >= tf.constant(decisions.values, tf.float32)
            best = tf.argmax(tf.where(predicted, probabilities, -1.0), axis=1)
            label = tf.where(tf.reduce_any(predicted, axis=1), tf.gather(names, best), "")
            outputs |= {"label": label, "predicted": predicted}
        elif decisions.thresholds:
            ((label, threshold),) = decisions.thresholds.items()
            place = bundle.labels.index(label)
            best = tf.where(probabilities[:, place] >= threshold, place, 1 - place)
            outputs["label"] = tf.gather(names, best)
        return outputs

    look_inside = explainer(model)

    def explain(text: tf.Tensor) -> dict[str, tf.Tensor]:
        tokens, ids = text_to_ids.read(text)
        explained = look_inside(pad_features(ids))
        real = tf.sequence_mask(tokens.row_lengths(), tf.shape(explained["saliency"])[1])
        by_token = {name: tf.boolean_mask(explained[name], real) for name in ("saliency", "shares")}
        return {"tokens": tokens.flat_values, "row_lengths": tokens.row_lengths(), **by_token}

    def embed(text: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"vectors": tf.cast(pooled_and_logits(text_to_ids.padded(text))[0], tf.float32)}

    def ids_of(texts: Sequence[str]) -> dict[str, tf.Tensor]:
        ids = text_to_ids.padded(tf.constant(texts))
        return ids if isinstance(ids, dict) else {"token_ids": ids}

    text = tf.TensorSpec((None,), tf.string, name="text")
    answer = _ANSWER_OF_SEVERAL if decisions.is_several else _ANSWER_BY_THRESHOLD if decisions.thresholds else _ANSWER
    endpoints: Endpoints = {
        "serving_default": Endpoint(
            lambda text: classify(text_to_ids.padded(text)), [text], texts_alone, f"The classes of texts. {answer}"
        ),
        "token_ids": Endpoint(
            lambda ids: classify(tf.nest.map_structure(_with_a_step, ids)),
            [text_to_ids.signature],
            ids_of,
            f"The classes of texts given as ids of words, right-padded with 0. {answer}",
        ),
        "explain": Endpoint(explain, [text], texts_alone, _EXPLAIN, is_concatenated=True),
        "embed": Endpoint(embed, [text], texts_alone, "The vectors of texts: what the softmax layer reads."),
    }
    return write(bundle, target, text_to_ids, endpoints)


def _with_a_step(ids: tf.Tensor) -> tf.Tensor:
    """Return ids (batch, time, ...) with one step of padding if they have none: texts without words."""
    missing = tf.cast(tf.equal(tf.shape(ids)[1], 0), tf.int32)
    return tf.pad(ids, [[0, 0], [0, missing], *[[0, 0]] * (ids.shape.rank - 2)])
