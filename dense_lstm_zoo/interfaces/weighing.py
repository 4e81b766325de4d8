"""Weights of classes in the batches of a Keras task, where Keras itself only weighs whole rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import tensorflow as tf

from dense_lstm_zoo import checks
from dense_lstm_zoo.data.batching import Ids
from dense_lstm_zoo.training.class_weights import Weights

WeightsOf: TypeAlias = "Callable[[tf.Tensor], tf.Tensor]"  # from labels to weights in their shape


def weights_by_name(
    weights: Weights, label_names: Sequence[str], kind: str, *, is_counted: bool
) -> str | dict[str, float] | None:
    """Return ``class_weight`` of ``fit`` by the names of the classes, ``"balanced"`` or None, if it is right.

    Args:
        weights: Weights by name or index.
        label_names: The names of the classes.
        kind: The word for a class in errors.
        is_counted: Whether the labels of all texts are there to be counted.

    Raises:
        TypeError: Anything but weights by class or a string.
        ValueError: Another string, ``"balanced"`` of labels that are not counted, an unknown class, one that occurs
            twice, or a weight that is not a finite number of at least 0.
    """
    if weights is None:
        return None
    if isinstance(weights, str):
        checks.one_of("class_weight", weights, ("balanced",))
        if not is_counted:
            raise ValueError(
                f"class_weight='balanced' counts the {kind}s of raw text in memory that fit trains on; of a batch or "
                f"other data, give a weight for each {kind}."
            )
        return weights
    if not isinstance(weights, Mapping):
        raise TypeError(
            f"class_weight must be 'balanced', or a weight for each {kind} by name or index; received {weights!r:.80}."
        )
    by_name: dict[str, float] = {}
    for key, weight in weights.items():
        is_index = isinstance(key, int | np.integer) and 0 <= key < len(label_names)
        name = label_names[int(key)] if is_index else key
        if name not in label_names:
            raise checks.unknown_name(f"{kind} in class_weight:", name, label_names)
        if name in by_name:
            raise ValueError(f"class_weight has two weights for {name!r:.80}, by name and by index; leave one out.")
        checks.positive(f"class_weight[{key!r:.80}]", weight, zero=True)
        by_name[name] = float(weight)
    return by_name


def of_tokens(weights: Mapping[int, float]) -> WeightsOf:
    """Return a function from tags (batch, time) to the weight of each token. Padding and unknown tags have any."""
    values = [weights[place] for place in sorted(weights)]
    return lambda tags: tf.gather(tf.constant(values, tf.float32), tf.maximum(tags, 0))


def of_decisions(weights: Mapping[int, float]) -> WeightsOf:
    """Return a function from 0 and 1 (batch, labels) to how much each decision counts.

    A label's weight is that of the texts that have it: see ``label_sets.weights_of_decisions``.
    """
    values = [weights[place] for place in sorted(weights)]
    return lambda targets: tf.where(targets > 0, tf.constant(values, tf.float32), 1.0)


def weighed(batches: tf.data.Dataset, weights_of: WeightsOf) -> tf.data.Dataset:
    """Return a dataset of batches as ``weigh_batch`` returns them.

    Args:
        batches: A ``tf.data.Dataset``.
        weights_of: Returns the weights of labels.

    Raises:
        ValueError: Anything but a dataset.
    """
    if not hasattr(batches, "element_spec"):
        raise ValueError(
            "class_weight is for raw text and tf.data.Dataset here; received ids in memory, for which sample_weight "
            "may hold a weight for each label."
        )
    return batches.map(lambda *batch: weigh_batch(weights_of, *batch))


def weigh_batch(
    weights_of: WeightsOf, ids: Ids, labels: tf.Tensor, weights: tf.Tensor | None = None
) -> tuple[Ids, tf.Tensor, tf.Tensor]:
    """Return a batch with a weight for each item of its labels.

    Args:
        weights_of: Returns the weights of labels.
        ids: The ids of the texts.
        labels: Their labels (batch, items).
        weights: Weights of the texts (batch,), or of the items, which are multiplied by those of the labels.
    """
    of_labels = weights_of(tf.convert_to_tensor(labels))
    if weights is None:
        return ids, labels, of_labels
    weights = tf.cast(weights, tf.float32)
    return ids, labels, of_labels * (weights if weights.shape.rank == 2 else weights[:, None])
