"""Text as one stream of word ids, and the stream in windows: what language models are trained and scored on."""

from __future__ import annotations

import functools
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np
import tensorflow as tf

from dense_lstm_zoo import checks, files
from dense_lstm_zoo.data.language import EOS, UNKNOWN, token_lines

IGNORED = -1  # the target that does not count
_BLOCK = 1 << 16  # ids

Window = tuple[dict[str, np.ndarray], np.ndarray]


def build_language_vocabulary(
    source: Iterable[str], max_size: int | None = None, min_count: int = 1
) -> tuple[str, ...]:
    """Return the words of a training text, most frequent first; among equals the one that occurs first.

    A word's id is its place: ids are 0 to V - 1, all of them words, none of them padding. ``<eos>`` and ``<unk>`` are
    always in, in the places of their counts; ``<unk>`` comes last if the text does not hold it.

    Args:
        source: Lines of the training text, nothing else; read once.
        max_size: How many words at most, ``<eos>`` and ``<unk>`` included.
        min_count: How often a word must occur.

    Raises:
        ValueError: A text without words, ``max_size`` below 2, ``min_count`` below 1.

    Example:
        >>> build_language_vocabulary(["to be or not to be", "to do"])
        ('to', 'be', '<eos>', 'or', 'not', 'do', '<unk>')
        >>> build_language_vocabulary(["to be or not to be", "to do"], max_size=4)
        ('to', 'be', '<eos>', '<unk>')
    """
    if max_size is not None:
        checks.integer("max_size", max_size, minimum=2)
    checks.integer("min_count", min_count)
    counts = Counter[str]()
    for tokens in token_lines(source):
        counts.update(tokens)
        counts[EOS] += 1
    if not counts:
        raise ValueError("The text to take words from is empty: it has no line with text in it.")
    counts.setdefault(UNKNOWN, 0)
    ranked = sorted(counts, key=counts.__getitem__, reverse=True)
    words = [word for word in ranked if counts[word] >= min_count and word not in (EOS, UNKNOWN)]
    kept = {EOS, UNKNOWN, *(words if max_size is None else words[: max_size - 2])}
    return tuple(word for word in ranked if word in kept)


def encode(source: Iterable[str], words: Sequence[str]) -> np.ndarray:
    """Return a text as one stream of ids, with ``<eos>`` at each line's end: int32 (tokens,).

    The text is read once and never held; memory is the ids, 4 bytes a token, and up to a sixteenth of them to spare.

    Args:
        source: Lines of text; blank ones are skipped.
        words: The words in the order of their ids, ``<eos>`` and ``<unk>`` among them; any other word is ``<unk>``.

    Raises:
        ValueError: A text without words, or ``words`` without ``<eos>`` or ``<unk>`` or with a word twice.

    Example:
        >>> encode(["to be", "be what"], ("be", "to", "<eos>", "<unk>")).tolist()
        [1, 0, 2, 0, 3, 2]
    """
    ids = array("i")  # it grows in place, where joining arrays would need twice the memory
    for block in _blocks(source, words):
        ids.extend(block)
    return np.frombuffer(ids, np.int32)


def encode_to_file(source: Iterable[str], words: Sequence[str], path: str | Path) -> np.memmap:
    """Do as ``encode`` for a text whose ids are larger than memory: write them to a file and return it mapped.

    The file is in NumPy's .npy format, for ``np.load(path, mmap_mode="r")`` later on. It is written whole or not at
    all: after an error ``path`` is as it was.

    Raises:
        ValueError: As ``encode``.
        OSError: The file cannot be written.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "ids.npy")
        ...     encode_to_file(["to be"], ("be", "to", "<eos>", "<unk>"), path).tolist()
        [1, 0, 2]
    """
    count = 0
    with files.new_file(path) as file:
        _write_header(file, count)
        for block in _blocks(source, words):
            block.tofile(file)
            count += len(block)
        file.seek(0)
        _write_header(file, count)
    return np.load(path, mmap_mode="r")


def _write_header(file: IO[bytes], count: int) -> None:
    """Write the header of a .npy file, which NumPy pads so that it has one length for every count."""
    header = {"descr": np.dtype(np.int32).str, "fortran_order": False, "shape": (count,)}
    np.lib.format.write_array_header_1_0(file, header)


class _Ids(dict[str, int]):
    def __missing__(self, word: str) -> int:
        return self[UNKNOWN]


def _blocks(source: Iterable[str], words: Sequence[str]) -> Iterator[array[int]]:
    """Yield the ids of whole lines, ``_BLOCK`` of them or some more at a time."""
    ids = _Ids((word, i) for i, word in enumerate(words))
    if missing := [word for word in (EOS, UNKNOWN) if word not in ids]:
        raise ValueError(f"words must hold {EOS} and {UNKNOWN}; {' and '.join(missing)} not among {len(words):,}.")
    if len(ids) < len(words):
        twice = next(word for i, word in enumerate(words) if ids[word] != i)
        raise ValueError(f"words must be different, as a word's place is its id; {twice!r} is there twice.")
    block, is_empty = array("i"), True
    for tokens in token_lines(source):
        block.extend(map(ids.__getitem__, tokens))
        block.append(ids[EOS])
        is_empty = False
        if len(block) >= _BLOCK:
            yield block
            block = array("i")
    if is_empty:
        raise ValueError("The text to encode is empty: it has no line with text in it.")
    yield block


class TokenWindows:
    """Streams of a text side by side, cut into windows: iterate over it, or give ``dataset`` to Keras.

    Each item is ``({"token_ids": int32 (batch, steps), "is_first": bool (batch,)}, targets)``: the targets, int32
    (batch, steps), are the ids one step ahead, and ``is_first``, true in the first window, tells the model to start
    from zero states; from window to window each row goes on where it ended. The order is the same in every epoch. Where
    a row has ended, ids are 0 and targets -1.

    Args:
        ids: The text (tokens,).
        starts: Where in it each row's first input is (batch,).
        lengths: How many tokens each row predicts (batch,).
        num_steps: Steps T of a window.
        first: How many windows to leave out.
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
        """How many tokens are predicted in all."""
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
        """The windows for ``fit(..., shuffle=False)`` and ``evaluate``, of static shapes and known number."""
        windows = tf.TensorSpec((len(self.starts), self.num_steps), tf.int32)
        signature = {"token_ids": windows, "is_first": tf.TensorSpec((len(self.starts),), tf.bool)}, windows
        dataset = tf.data.Dataset.from_generator(lambda: iter(self), output_signature=signature)
        return dataset.apply(tf.data.experimental.assert_cardinality(len(self))).prefetch(4)

    def start_at(self, window: int) -> TokenWindows:
        """Return the windows from ``window`` (counted from 0) on, to resume in the middle of an epoch.

        ``is_first`` is true in window 0 alone: the states before any other are the caller's to restore.

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
    """Windows to train on: ``batch_size`` streams of floor(N / B) tokens, all of their windows full.

    What does not fill a stream, and in each stream a window, is left out: fewer than B (T + 1) tokens.

    Args:
        ids: The text (tokens,), integers: what ``encode`` returns or a file of them, mapped.
        batch_size: Streams B.
        num_steps: Steps T of a window.
        vocab_size: How many ids there are, to check that all are below it.

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
        ids = _checked(ids, batch_size * (num_steps + 1), f"{batch_size} streams of {num_steps} steps", vocab_size)
        length = len(ids) // batch_size
        full = np.full(batch_size, (length - 1) // num_steps * num_steps)
        super().__init__(ids, np.arange(batch_size) * length, full, num_steps)


def evaluation_windows(
    ids: np.ndarray, batch_size: int = 10, num_steps: int = 35, *, vocab_size: int | None = None
) -> TokenWindows:
    """Return windows that predict every token but the first exactly once, from the token before it (G13).

    The streams are contiguous and differ by at most one token in length; the last window is shorter, and padded (ids 0,
    targets -1). With few tokens to spare a row of the last window may be padding altogether.

    Args:
        ids: The text (tokens,), integers.
        batch_size: Streams, each starting from zero states.
        num_steps: Steps of a window.
        vocab_size: How many ids there are, to check that all are below it.

    Raises:
        ValueError: Not a token to predict for each stream, ids out of range, ``batch_size`` or ``num_steps`` below 1.

    Example:
        >>> windows = evaluation_windows(np.arange(8), batch_size=2, num_steps=3)
        >>> [targets.tolist() for _, targets in windows], windows.num_predictions
        ([[[1, 2, 3], [5, 6, 7]], [[4, -1, -1], [-1, -1, -1]]], 7)
    """
    checks.integer("batch_size", batch_size)
    checks.integer("num_steps", num_steps)
    ids = _checked(ids, batch_size + 1, f"{batch_size} streams", vocab_size)
    edges = np.arange(batch_size + 1) * (len(ids) - 1)
    edges = -(-edges // batch_size)
    return TokenWindows(ids, edges[:-1], np.diff(edges), num_steps)


def _checked(ids: np.ndarray, minimum: int, what: str, vocab_size: int | None) -> np.ndarray:
    ids = np.asarray(ids)
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        raise ValueError(f"ids must be integers (tokens,); received {ids.dtype} of shape {ids.shape}.")
    if len(ids) < minimum:
        raise ValueError(
            f"{what} need at least {minimum:,} tokens; received {len(ids):,}. "
            "Accepted: a longer text, or a smaller batch_size or num_steps."
        )
    end = 1 << 31 if vocab_size is None else checks.integer("vocab_size", vocab_size)
    if ids.min() < 0 or ids.max() >= end:
        raise ValueError(f"ids must be from 0 to {end - 1:,}; received {ids.min():,} to {ids.max():,}.")
    return ids
