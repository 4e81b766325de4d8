"""Tagged sentences as ids, ready to be batched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from dense_lstm_zoo.data.batching import pad
from dense_lstm_zoo.data.text import to_bytes
from dense_lstm_zoo.data.token_ids import TokensToIds
from dense_lstm_zoo.tagging.corpus import TaggedSplit


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
    """

    def __init__(
        self,
        tokens_to_ids: TokensToIds,
        split: TaggedSplit,
        ids: dict[str, int],
        weights: Mapping[int, float] | None = None,
    ) -> None:
        self.rows = encode(tokens_to_ids, split.tokens)
        self.tags = [np.array([ids.get(tag, -2) for tag in tags], np.int32) for tags in split.tags]
        self.lengths = [len(tags) for tags in self.tags]
        # The last two are for padding and unknown tags, -1 and -2, which no loss counts.
        self._weights = (
            None if weights is None else np.array([*(weights[i] for i in range(len(ids))), 1, 1], np.float32)
        )

    def collate(self, indices: np.ndarray) -> tuple[Any, ...]:
        """Return a batch: padded ids, tags padded with -1, and if tags have weights, those of the tokens."""
        ids, tags = pad([self.rows[i] for i in indices]), pad([self.tags[i] for i in indices], value=-1)
        return (ids, tags) if self._weights is None else (ids, tags, self._weights[tags])
