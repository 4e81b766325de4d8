"""Tagged sentences as ids, ready to be batched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from dense_lstm_zoo.data.batching import pad
from dense_lstm_zoo.data.soft_labels import NO_LABEL
from dense_lstm_zoo.data.text import to_bytes
from dense_lstm_zoo.data.token_ids import TokensToIds
from dense_lstm_zoo.models.distillation import mean_weights
from dense_lstm_zoo.tagging.corpus import TaggedSplit
from dense_lstm_zoo.tagging.distillation import PADDING, targets


def encode(tokens_to_ids: TokensToIds, sentences: Sequence[Sequence[str]]) -> list[dict[str, np.ndarray]]:
    """Return the token ids of each sentence, by feature: int32 arrays (tokens, ...)."""
    flat = to_bytes(token for tokens in sentences for token in tokens)
    ends = np.cumsum([len(tokens) for tokens in sentences])[:-1]
    features = tokens_to_ids.of_tokens(tf.constant(flat, tf.string))
    rows_by_feature = {name: np.split(ids.numpy(), ends) for name, ids in features.items()}
    return [dict(zip(rows_by_feature, row, strict=True)) for row in zip(*rows_by_feature.values(), strict=True)]


class TaggedExamples:
    """The ids and tags of a split's sentences. A tag that is not in ``ids`` is unknown, -2.

    Args:
        tokens_to_ids: The layer that makes ids.
        split: The sentences.
        ids: The index of each tag.
        weights: The weight of each index in the loss, or None if all tokens count the same.
        temperature: Of soft labels.
    """

    def __init__(
        self,
        tokens_to_ids: TokensToIds,
        split: TaggedSplit,
        ids: dict[str, int],
        weights: Mapping[int, float] | None = None,
        temperature: float = 1.0,
    ) -> None:
        self.rows = encode(tokens_to_ids, split.tokens)
        self.tags = [np.array([ids.get(tag, -2) for tag in tags], np.int32) for tags in split.tags]
        self.lengths = [len(tags) for tags in self.tags]
        self._targets: list[np.ndarray] | None = None
        self._weights: list[np.ndarray] | None = None
        if split.is_soft:
            columns = [split.tag_names.index(tag) for tag in ids]
            shares = [rows[:, columns] for rows in split.probabilities]
            own = [
                tags if is_own else np.full_like(tags, NO_LABEL)
                for tags, is_own in zip(self.tags, split.labelled, strict=True)
            ]
            self._targets = [targets(*pair, temperature) for pair in zip(own, shares, strict=True)]
            if weights is not None:
                self._weights = [mean_weights(rows, weights) for rows in shares]
        elif weights is not None:  # the last one is for unknown tags, -2, which no loss counts
            by_tag = np.array([*(weights[i] for i in range(len(ids))), 1, 1], np.float32)
            self._weights = [by_tag[tags] for tags in self.tags]

    def collate(self, indices: np.ndarray) -> tuple[Any, ...]:
        """Return a batch: padded ids, tags padded with -1, and if tags have weights, those of the tokens.

        Of soft labels, it holds what ``distillation.targets`` returns in place of the tags.
        """
        ids = pad([self.rows[i] for i in indices])
        if self._targets is None:
            labels = pad([self.tags[i] for i in indices], value=PADDING)
        else:
            nothing = np.eye(1, self._targets[0].shape[1])[0] * PADDING
            labels = pad([self._targets[i] for i in indices], nothing, dtype=np.float32)
        if self._weights is None:
            return ids, labels
        return ids, labels, pad([self._weights[i] for i in indices], 1.0, dtype=np.float32)
