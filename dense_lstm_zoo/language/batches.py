"""Windows of a stream of word ids, on which language models are trained and scored."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from dense_lstm_zoo import checks
from dense_lstm_zoo.data.batching import generated

IGNORED = -1  # the target that does not count

Window = tuple[dict[str, np.ndarray], np.ndarray]


class TokenWindows:
    """Parallel streams of a text, cut into windows. Iterate over it, or pass ``dataset`` to Keras.

    Each item is ``({"token_ids": int32 (batch, steps), "is_first": bool (batch,)}, targets)``. The targets, int32
    (batch, steps), are the ids one step ahead. ``is_first`` is true in the first window, where the model starts from
    zero states. After it, each row continues the one in the window before. The order is the same in every epoch. After
    the end of a row, ids are 0 and targets -1.

    Args:
        ids: The text (tokens,).
        starts: Position of each row's first input (batch,).
        lengths: Number of tokens that each row predicts (batch,).
        num_steps: Number of steps T per window.
        first: Number of windows to skip.
    """

    def __init__(
        self, ids: np.ndarray, starts: np.ndarray, lengths: np.ndarray, num_steps: int, first: int = 0
    ) -> None:
        self.ids, self.starts, self.lengths = ids, starts, lengths
        self.num_steps, self.first = num_steps, first

    def __len__(self) -> int:
        return -(-int(self.lengths.max()) // self.num_steps) - self.first

    @property
    def num_predictions(self) -> int:
        """The total number of predicted tokens."""
        return int(np.maximum(self.lengths - self.first * self.num_steps, 0).sum())

    def __iter__(self) -> Iterator[Window]:
        for window in range(self.first, self.first + len(self)):
            steps = window * self.num_steps + np.arange(self.num_steps)
            inside = steps < self.lengths[:, None]
            places = np.where(inside, self.starts[:, None] + steps, 0)
            token_ids = np.where(inside, self.ids[places], 0).astype(np.int32)
            targets = np.where(inside, self.ids[places + 1], IGNORED).astype(np.int32)
            yield {"token_ids": token_ids, "is_first": np.full(len(self.starts), window == 0)}, targets

    @functools.cached_property
    def dataset(self) -> tf.data.Dataset:
        """The windows for ``fit(..., shuffle=False)`` and ``evaluate``, with static shapes and a known length."""
        windows = tf.TensorSpec((len(self.starts), self.num_steps), tf.int32)
        signature = {"token_ids": windows, "is_first": tf.TensorSpec((len(self.starts),), tf.bool)}, windows
        return generated(lambda: iter(self), signature, len(self)).prefetch(4)

    def start_at(self, window: int) -> TokenWindows:
        """Return the windows from ``window`` (counted from 0) onwards, to resume in the middle of an epoch.

        ``is_first`` is true only in window 0. Before any other window, the caller restores the states.

        Raises:
            ValueError: There is no such window.

        Example:
            >>> windows = TrainingWindows(np.arange(100), batch_size=2, num_steps=7)
            >>> len(windows), len(windows.start_at(5)), next(iter(windows.start_at(5)))[0]["token_ids"][:, 0]
            (7, 2, array([35, 85], dtype=int32))
        """
        if checks.integer("window", window, minimum=0) >= len(self):
            raise ValueError(f"window must be from 0 to {len(self) - 1}; received {window}.")
        return TokenWindows(self.ids, self.starts, self.lengths, self.num_steps, self.first + window)


class TrainingWindows(TokenWindows):
    """Training windows: ``batch_size`` streams of floor(N / B) tokens, with full windows only.

    Tokens that do not fill a stream, or a window in it, are left out: fewer than B (T + 1) of them.

    Args:
        ids: The text (tokens,), integers: the result of ``encode``, or a memory-mapped file.
        batch_size: Number of streams B.
        num_steps: Number of steps T per window.
        vocab_size: Number of ids, to check that all are below it.

    Raises:
        ValueError: A text too short for one window, ids out of range, ``batch_size`` or ``num_steps`` below 1.

    Reference:
        Godin et al. 2017, section 4; Zaremba et al. 2014. The Penn Treebank's 929,589 tokens are 1,327 windows.

    Example:
        >>> (inputs, targets), *others = TrainingWindows(np.arange(11), batch_size=2, num_steps=3)
        >>> inputs["token_ids"].tolist(), targets.tolist(), inputs["is_first"].tolist(), len(others)
        ([[0, 1, 2], [5, 6, 7]], [[1, 2, 3], [6, 7, 8]], [True, True], 0)
    """

    def __init__(
        self, ids: np.ndarray, *, batch_size: int = 20, num_steps: int = 35, vocab_size: int | None = None
    ) -> None:
        checks.integer("batch_size", batch_size)
        checks.integer("num_steps", num_steps)
        ids = _checked_ids(ids, vocab_size)
        check_length(len(ids), batch_size, num_steps)
        length = len(ids) // batch_size
        full = np.full(batch_size, (length - 1) // num_steps * num_steps)
        super().__init__(ids, np.arange(batch_size) * length, full, num_steps)


def evaluation_windows(
    ids: np.ndarray, batch_size: int = 10, num_steps: int = 35, *, vocab_size: int | None = None
) -> TokenWindows:
    """Return windows that predict every token but the first exactly once, from the token before it.

    The streams are contiguous and differ by at most one token in length. The last window is shorter, and padded (ids 0,
    targets -1). In a short text, a row of the last window may be all padding.

    Args:
        ids: The text (tokens,), integers.
        batch_size: Number of streams, each starting from zero states.
        num_steps: Number of steps per window.
        vocab_size: Number of ids, to check that all are below it.

    Raises:
        ValueError: Too few tokens to predict one per stream, ids out of range, ``batch_size`` or ``num_steps`` below 1.

    Example:
        >>> windows = evaluation_windows(np.arange(8), batch_size=2, num_steps=3)
        >>> [targets.tolist() for _, targets in windows], windows.num_predictions
        ([[[1, 2, 3], [5, 6, 7]], [[4, -1, -1], [-1, -1, -1]]], 7)
    """
    checks.integer("batch_size", batch_size)
    checks.integer("num_steps", num_steps)
    ids = _checked_ids(ids, vocab_size)
    _check_tokens(len(ids), batch_size + 1, f"{batch_size} streams")
    edges = np.arange(batch_size + 1) * (len(ids) - 1)
    edges = -(-edges // batch_size)
    return TokenWindows(ids, edges[:-1], np.diff(edges), num_steps)


def check_length(num_tokens: int, batch_size: int, num_steps: int) -> None:
    """Raise ``ValueError`` if a text is too short for one training window."""
    _check_tokens(num_tokens, batch_size * (num_steps + 1), f"{batch_size} streams of {num_steps} steps")


def _check_tokens(num_tokens: int, minimum: int, purpose: str) -> None:
    if num_tokens < minimum:
        raise ValueError(
            f"{purpose} need at least {minimum:,} tokens; received {num_tokens:,}. "
            "Accepted: a longer text, or a smaller batch_size or num_steps."
        )


def _checked_ids(ids: np.ndarray, vocab_size: int | None) -> np.ndarray:
    ids = np.asarray(ids)
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        raise ValueError(f"ids must be integers (tokens,); received {ids.dtype} of shape {ids.shape}.")
    end = 1 << 31 if vocab_size is None else checks.integer("vocab_size", vocab_size)
    if ids.size and (ids.min() < 0 or ids.max() >= end):
        raise ValueError(f"ids must be from 0 to {end - 1:,}; received {ids.min():,} to {ids.max():,}.")
    return ids
