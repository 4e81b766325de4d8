"""A softmax over the target and some sampled words, for training on large vocabularies.

The sum over all words Z = sum exp(s_w) is estimated from a sample that the whole window shares: the target's own term,
and sum exp(s_w) / k_w over the sampled words except the target, where k_w is the expected number of times that w is
sampled. The estimate's expectation is Z, whatever the scores, and the loss log Z - s_target tends to that of all words
as the sample grows, and is equal to it when all words are in the sample (Bengio & Senecal 2003; Jean et al. 2015).

Words are drawn log-uniformly by their ranks, as by Zipf's law. A sample takes each of its numbers from a stratum of its
own: frequent words, whose k is 1, are always in it, and rare ones seldom, hardly ever twice. The ranks must be those of
the text: the logarithm of the estimate hardly notices how large the score of a word with a small k is. If such a word
is often the target, its score grows until it takes most of the true Z.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from dense_lstm_zoo.language.full_softmax import Gradients, losses_and_errors


class WordSampler:
    """Draws samples of words.

    Args:
        num_words: Number of words V.
        num_samples: Number of words in a sample S, at most V.
        order: The ids of all words, the most frequent first. By default, ids are ranks.

    Attributes:
        expected_counts: How often each word is expected in a sample, by its id.

    Example:
        >>> sampler = WordSampler(1000, 100)
        >>> sampler.expected_counts[[0, 20, 500]].round(3)
        array([1.   , 0.963, 0.041])
    """

    def __init__(self, num_words: int, num_samples: int, order: np.ndarray | None = None) -> None:
        self.num_words, self.num_samples = num_words, num_samples
        by_rank = _expected_counts(num_words, num_samples)
        self._ends = np.cumsum(by_rank)
        ranked = np.arange(num_words)
        self._order = None if order is None or np.array_equal(order, ranked) else np.asarray(order, np.int32)
        self.expected_counts = by_rank if self._order is None else by_rank[np.argsort(self._order)]

    def draw(self, uniform: tf.Tensor) -> tf.Tensor:
        """Return the sample's ids (num_samples,), int32, the most frequent first.

        Args:
            uniform: Random numbers from 0 to 1 (num_samples,).
        """
        # In float64: the last words' shares of the sum would vanish beside the sum itself.
        places = tf.range(self.num_samples, dtype=tf.float64) + tf.cast(uniform, tf.float64)
        ranks = tf.searchsorted(tf.constant(self._ends), places, side="right", out_type=tf.int32)
        ranks = tf.minimum(ranks, self.num_words - 1)  # the ends are rounded
        return ranks if self._order is None else tf.gather(tf.constant(self._order), ranks)

    def log_counts(self, ids: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
        """Return the logarithm of the number of times that each word is expected in a sample."""
        return tf.gather(tf.constant(np.log(self.expected_counts), dtype), ids)


def differentiate(
    features: tf.Tensor, table: tf.Variable, bias: tf.Variable, targets: tf.Tensor, scale: tf.Tensor, ids: tf.Tensor,
    log_counts: tf.Tensor,
) -> Gradients:  # fmt: skip
    """Return estimates of the losses, and the gradients of their sum times ``scale``.

    The gradients of ``table`` and ``bias`` are rows (``tf.IndexedSlices``): first the sample's, then the targets'. A
    word may come more than once. See ``add_up``.

    Args:
        features: (rows, features). Products are computed in its type, all else in that of ``bias``.
        table: A row of weights per word (words, features).
        bias: (words,).
        targets: int32 (rows,). -1 does not count.
        scale: A scalar.
        ids: The sample (samples,).
        log_counts: The logarithms of the expected counts of ``ids``.
    """
    dtype, width = bias.dtype, ids.shape[0]
    own_ids = tf.maximum(targets, 0)
    rows, own_rows = (tf.cast(tf.gather(table, indices), features.dtype) for indices in (ids, own_ids))
    scores = tf.cast(tf.matmul(features, rows, transpose_b=True), dtype) + (tf.gather(bias, ids) - log_counts)
    scores = tf.where(ids == own_ids[:, None], dtype.min, scores)  # the target has a term of its own
    wide, wide_rows = (tf.cast(x, dtype) for x in (features, own_rows))
    own = tf.reduce_sum(wide * wide_rows, axis=1) + tf.gather(bias, own_ids)
    last = tf.where(targets >= 0, width, -1)
    losses, errors = losses_and_errors(tf.concat([scores, own[:, None]], axis=1), last)

    weights = tf.where(targets >= 0, tf.cast(scale, dtype), 0)
    of_sample, of_own = tf.cast(errors[:, :width], features.dtype), errors[:, width:] * weights[:, None]
    d_features = tf.cast(tf.matmul(of_sample, rows), dtype) * weights[:, None] + of_own * wide_rows
    weighted = tf.cast(wide * weights[:, None], features.dtype)
    d_rows = tf.cast(tf.matmul(of_sample, weighted, transpose_a=True), dtype)
    d_bias = tf.linalg.matvec(errors[:, :width], weights, transpose_a=True)
    touched = tf.concat([ids, own_ids], axis=0)
    return Gradients(
        losses,
        tf.cast(d_features, features.dtype),
        tf.IndexedSlices(tf.concat([d_rows, of_own * wide], axis=0), touched, tf.shape(table)),
        tf.IndexedSlices(tf.concat([d_bias, of_own[:, 0]], axis=0), touched, tf.shape(bias)),
    )


def add_up(*gradients: tf.IndexedSlices) -> tf.IndexedSlices:
    """Return gradients of rows as one in which each row comes once."""
    ids = tf.concat([tf.cast(g.indices, tf.int32) for g in gradients], axis=0)
    values = tf.concat([g.values for g in gradients], axis=0)
    words, places = tf.unique(ids)
    values = tf.math.unsorted_segment_sum(values, places, tf.size(words))
    return tf.IndexedSlices(values, words, gradients[0].dense_shape)


def log_frequencies(num_words: int) -> np.ndarray:
    """Return the logarithms of the words' expected frequencies by their ranks: log-uniform, as by Zipf's law.

    Example:
        >>> np.exp(log_frequencies(3)).round(3).tolist()
        [0.5, 0.292, 0.208]
    """
    logs: np.ndarray = np.log(_frequencies(num_words))
    return logs


def _frequencies(num_words: int) -> np.ndarray:
    return np.diff(np.log(np.arange(1, num_words + 2))) / np.log(num_words + 1)


def _expected_counts(num_words: int, num_samples: int) -> np.ndarray:
    """Return min(1, c q) for every word, q log-uniform, with c such that they add up to ``num_samples``."""
    q = _frequencies(num_words)
    certain = 0
    # Words whose share would be more than 1 are certain, and the others share what is left.
    while certain < num_samples:
        others = (num_samples - certain) * q[certain:] / q[certain:].sum()
        more = int((others >= 1).sum())
        if not more:
            return np.concatenate([np.ones(certain), others])
        certain += more
    return np.concatenate([np.ones(certain), np.zeros(num_words - certain)])
