"""Tagged sentences as ids, ready to be batched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from dense_lstm_zoo.data.batching import pad, padded_length
from dense_lstm_zoo.data.soft_labels import NO_LABEL
from dense_lstm_zoo.data.text import to_bytes
from dense_lstm_zoo.data.token_ids import TokensToIds
from dense_lstm_zoo.models.distillation import mean_weights
from dense_lstm_zoo.tagging.corpus import TaggedSplit
from dense_lstm_zoo.tagging.distillation import targets


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
        self._targets = _soft_targets(split, ids, self.tags, temperature) if split.is_soft else None
        self._weights: list[np.ndarray] | None = None
        if weights is not None and split.is_soft:
            self._weights = [mean_weights(shares[:, 1:], weights) for shares in _soft_targets(split, ids, self.tags)]
        elif weights is not None:  # the last one is for unknown tags, -2, which no loss counts
            by_tag = np.array([*(weights[i] for i in range(len(ids))), 1, 1], np.float32)
            self._weights = [by_tag[tags] for tags in self.tags]

    def collate(self, indices: np.ndarray) -> tuple[Any, ...]:
        """Return a batch: padded ids, tags padded with -1, and if tags have weights, those of the tokens.

        Of soft labels, it holds what ``distillation.targets`` returns in place of the tags.
        """
        ids = pad([self.rows[i] for i in indices])
        if self._targets is None:
            targets: Any = pad([self.tags[i] for i in indices], value=-1)
        else:
            targets = _padded([self._targets[i] for i in indices], [-1.0, *[0.0] * (self._targets[0].shape[1] - 1)])
        if self._weights is None:
            return ids, targets
        return ids, targets, _padded([self._weights[i] for i in indices], 1.0)


def _soft_targets(
    split: TaggedSplit, ids: Mapping[str, int], tags: list[np.ndarray], temperature: float = 1.0
) -> list[np.ndarray]:
    """Return the targets of each sentence with soft labels, with the tags in the order of ``ids``."""
    columns = [split.tag_names.index(tag) for tag in ids]
    return [
        targets(own if is_own else np.full_like(own, NO_LABEL), shares[:, columns], temperature)
        for own, shares, is_own in zip(tags, split.probabilities, split.labelled, strict=True)
    ]


def _padded(rows: list[np.ndarray], value: Any) -> np.ndarray:
    """Return rows (tokens, ...) of floats right-padded with a value: float32 (batch, time, ...)."""
    batch = np.empty((len(rows), padded_length(max(map(len, rows))), *rows[0].shape[1:]), np.float32)
    batch[:] = value
    for row, values in zip(batch, rows, strict=True):
        row[: len(values)] = values
    return batch
