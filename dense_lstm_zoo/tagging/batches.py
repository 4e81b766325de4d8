"""Tagged sentences as ids, ready to be batched."""

from __future__ import annotations

from collections.abc import Sequence
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
    """The ids and tags of a split's sentences. A tag that is not in ``ids`` is unknown, -2."""

    def __init__(self, tokens_to_ids: TokensToIds, split: TaggedSplit, ids: dict[str, int]) -> None:
        self.rows = encode(tokens_to_ids, split.tokens)
        self.tags = [np.array([ids.get(tag, -2) for tag in tags], np.int32) for tags in split.tags]
        self.lengths = [len(tags) for tags in self.tags]

    def collate(self, indices: np.ndarray) -> tuple[Any, np.ndarray]:
        """Return a batch: padded ids, and tags padded with -1."""
        return pad([self.rows[i] for i in indices]), pad([self.tags[i] for i in indices], value=-1)
