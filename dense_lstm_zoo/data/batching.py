"""Batches bucketed by length: little padding, few shapes, and an order set only by seed and epoch."""

from __future__ import annotations

import collections
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import keras
import numpy as np
import tensorflow as tf

from dense_lstm_zoo import checks
from dense_lstm_zoo.data.stored_ids import StoredIds

if TYPE_CHECKING:
    import numpy.typing as npt

MAX_TOKENS = 1 << 16  # of a padded batch, so that a few very long texts do not exhaust memory
# Of a batch of predictions. Larger ones leave the processor's caches, and hold more padding; with fewer rows than the
# least, a program would be compiled for each shape.
_MOST_ROWS, _LEAST_ROWS, _TOKENS = 96, 40, 1 << 13
Outputs = TypeVar("Outputs")
Row = np.ndarray | dict[str, np.ndarray]  # the ids of a text: (tokens,), or several features (tokens, ...) by name
Ids: TypeAlias = tf.Tensor | dict[str, tf.Tensor]  # of a padded batch: (batch, time), or several features by name
IdsSpec: TypeAlias = tf.TensorSpec | dict[str, tf.TensorSpec]  # the signature of such a batch


def padded_length(length: int) -> int:
    """Return the smallest of the lengths 4, 6, 8, 12, 16, 24, 32, 40, 48, ... that holds ``length`` tokens.

    They grow by 8 up to 128, and from there on by an eighth of the power of 2 below. So few tokens of a long text are
    padding, and texts of one length are still enough to be shuffled. No text is cut.

    Example:
        >>> [padded_length(n) for n in (1, 4, 5, 13, 100, 130, 300)]
        [4, 4, 6, 16, 104, 144, 320]
    """
    if length <= 32:
        return program_length(length)
    length = int(length)  # an integer of NumPy has no bit_length
    unit = max(8, 1 << ((length - 1).bit_length() - 4))
    return -(-length // unit) * unit


def program_length(length: int) -> int:
    """Return the smallest of the lengths 4, 6, 8, 12, 16, 24, 32, 48, 64, ... that holds ``length`` tokens.

    With two lengths per octave, at most a third of a row is padding. They are for programs that are compiled for each.

    Example:
        >>> [program_length(n) for n in (1, 4, 5, 13, 100)]
        [4, 4, 6, 16, 128]
    """
    step = 4
    while step < length:
        step = step * 3 // 2 if step & (step - 1) == 0 else step // 3 * 4
    return step


def word_ids(row: Row) -> np.ndarray:
    """Return the ids of the words of a text: (tokens,)."""
    return row if isinstance(row, np.ndarray) else row["token_ids"]


def num_tokens(row: Row) -> int:
    """Return the number of tokens of a text."""
    return len(word_ids(row))


def lengths_of(rows: Sequence[Row]) -> np.ndarray:
    """Return the number of tokens of each text: (texts,)."""
    return rows.lengths if isinstance(rows, StoredIds) else np.array([num_tokens(row) for row in rows], int)


def pad(
    rows: Sequence[Row], value: npt.ArrayLike = 0, length: Callable[[int], int] = padded_length, dtype: type = np.int32
) -> Any:
    """Return the rows right-padded with ``value`` to ``length`` of the longest: ``dtype`` (batch, time, ...).

    The value may be a row of what follows the time.
    """
    if isinstance(rows[0], dict):
        return {name: pad([row[name] for row in rows], value, length, dtype) for name in rows[0]}
    batch = np.full((len(rows), length(max(map(len, rows))), *rows[0].shape[1:]), value, dtype)
    for row, ids in zip(batch, rows, strict=True):
        row[: len(ids)] = ids
    return batch


def plan_batches(
    lengths: Sequence[int] | np.ndarray,
    batch_size: int,
    rng: np.random.Generator | None = None,
    *,
    max_tokens: int = MAX_TOKENS,
) -> list[np.ndarray]:
    """Return the indices of each batch: similar lengths together, every index once.

    Texts left over in one length's bucket move up to the next, so all batches but the last (the longest texts) are
    full, except those of texts so long that the padded batch would exceed ``max_tokens``. A single text may exceed it.
    With ``rng``, the texts within a bucket and the batches are shuffled. The number of batches stays the same.
    """
    buckets = _padded_lengths(lengths)
    order = np.arange(len(buckets)) if rng is None else rng.permutation(len(buckets))
    order = order[np.argsort(buckets[order], kind="stable")]
    padded, batches, start = buckets[order], [], 0
    while start < len(order):
        end = min(start + batch_size, len(order))
        while end - start > 1 and int(padded[end - 1]) * (end - start) > max_tokens:
            end -= 1
        batches.append(order[start:end])
        start = end
    return batches if rng is None else [batches[i] for i in rng.permutation(len(batches))]


def _padded_lengths(lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return the ``padded_length`` of each length."""
    lengths = np.asarray(lengths, np.int32)
    steps = [padded_length(0)]
    while steps[-1] < lengths.max(initial=0):
        steps.append(padded_length(steps[-1] + 1))
    return np.array(steps, np.int32)[np.searchsorted(steps, lengths)]


def plan_predictions(lengths: Sequence[int] | np.ndarray) -> list[np.ndarray]:
    """Return the indices of each batch of predictions: sorted by length, every index once.

    Example:
        >>> [len(indices) for indices in plan_predictions([20] * 200 + [500] * 50)]
        [96, 96, 58]
    """
    order = np.argsort(lengths, kind="stable")
    longest = np.asarray(lengths, np.int64)[order]
    batches, start = [], 0
    while start < len(order):
        end = min(start + _MOST_ROWS, len(order))
        while end - start > _LEAST_ROWS and longest[end - 1] * (end - start) > _TOKENS:
            end -= 1
        if 0 < len(order) - end < _LEAST_ROWS:  # what is left over is too little for a batch of its own
            end = len(order) if len(order) - start < 2 * _LEAST_ROWS else start + (len(order) - start) // 2
        while end - start > 1 and longest[end - 1] * (end - start) > MAX_TOKENS:
            end -= 1
        batches.append(order[start:end])
        start = end
    return batches


def run_batches(run: Callable[[Any], Outputs], rows: Sequence[Row]) -> Iterator[tuple[np.ndarray, Outputs]]:
    """Yield the indices of each batch of predictions with the outputs for it.

    Batches are padded to their longest text alone: layers that need few shapes pad small batches themselves.

    Args:
        run: Maps padded ids (batch, time, ...) to outputs.
        rows: The ids of each text.
    """
    for indices in plan_predictions(lengths_of(rows)):
        yield indices, run(pad([rows[i] for i in indices], length=lambda longest: max(1, longest)))


def plan_in_order(lengths: Sequence[int] | np.ndarray, batch_size: int) -> list[np.ndarray]:
    """Return the indices of each batch in the order of the texts. Few long texts make a batch, as in ``plan_batches``.

    Example:
        >>> [indices.tolist() for indices in plan_in_order([3, 9, 1, 40_000, 40_000], batch_size=2)]
        [[0, 1], [2], [3], [4]]
    """
    batches, start = [], 0
    while start < len(lengths):
        longest = end = 0
        for end in range(start, min(start + batch_size, len(lengths))):
            longest = max(longest, padded_length(lengths[end]))
            if end > start and longest * (end - start + 1) > MAX_TOKENS:
                break
        else:
            end += 1
        batches.append(np.arange(start, end))
        start = end
    return batches


def predict_by_token(run: Callable[[np.ndarray], tf.Tensor], rows: Sequence[Row]) -> list[np.ndarray]:
    """Return an array (tokens, width) per text, in the order of ``rows``, computed in batches of similar length.

    Args:
        run: Maps padded ids (batch, time) to (batch, time, width).
        rows: The ids of each text.
    """
    results: list[Any] = [None] * len(rows)
    for indices, outputs in run_batches(run, rows):
        for i, values in zip(indices, outputs.numpy(), strict=True):
            results[i] = values[: num_tokens(rows[i])].copy()  # a view would keep the whole batch
    return results


def generated(batches: Callable[[], Iterable[Any]], signature: Any, number: int) -> tf.data.Dataset:
    """Return a dataset of the batches that a function generates, without TensorFlow's autotuning.

    There is nothing to tune, and the tuning thread sleeps for up to a minute: an iterator that was in use for longer
    often waits for it at the end of an epoch.

    Args:
        batches: Generates the batches of an epoch. It must not refer to the dataset.
        signature: The ``tf.data`` signature of a batch.
        number: The number of batches.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    # TensorFlow never frees a generator: it reaches the texts through a list that is emptied with the dataset.
    source = [batches]
    dataset = tf.data.Dataset.from_generator(lambda: source[0](), output_signature=signature)
    weakref.finalize(dataset, source.clear)
    return dataset.apply(tf.data.experimental.assert_cardinality(number)).with_options(options)


class ShuffledBatches(keras.callbacks.Callback):
    """Batches of texts of similar length for ``fit``: pass ``dataset`` as its data and the object as a callback.

    The order of epoch k depends only on ``seed`` and k, so that an interrupted run can resume with the same order.
    Without the callback, pass k over ``dataset`` has the order of epoch k, both counted from 0.

    Args:
        lengths: The length of each text.
        collate: Returns a batch for indices of texts.
        signature: The ``tf.data`` signature of a batch.
        batch_size: Texts per batch.
        seed: Seed for the order.
        max_tokens: Padded tokens per batch at most, so that batches of long texts have fewer texts.

    Raises:
        ValueError: No texts.
    """

    def __init__(
        self,
        lengths: Sequence[int] | np.ndarray,
        collate: Callable[[np.ndarray], Any],
        signature: Any,
        *,
        batch_size: int,
        seed: int,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        super().__init__()
        if not len(lengths):
            raise ValueError("Training needs texts; received none.")
        checks.integer("batch_size", batch_size)
        self._epoch = now = {"epoch": 0}

        planned = plan_batches(lengths, batch_size, max_tokens=max_tokens)
        num_batches = len(planned)
        shapes = [(padded_length(lengths[batch[-1]]), len(batch)) for batch in planned]
        # (time, batch) of an epoch's batches, those of most batches first
        self.shapes = [shape for shape, _ in collections.Counter(shapes).most_common()]
        padded = [time * size for time, size in shapes]
        self.median_tokens = int(np.median(padded))  # padded tokens in the median batch
        self.real_share = float(np.sum(lengths) / np.sum(padded))  # of all tokens of an epoch

        # The generator must not refer to the callback, which refers to the dataset: neither would ever be freed.
        def dataset(first: int) -> tf.data.Dataset:
            def batches() -> Iterator[Any]:
                rng = np.random.default_rng([seed, now["epoch"]])
                now["epoch"] += 1
                for indices in plan_batches(lengths, batch_size, rng, max_tokens=max_tokens)[first:]:
                    yield collate(indices)

            return generated(batches, signature, num_batches - first).prefetch(4)

        self._dataset, self.dataset = dataset, dataset(0)

    def start_at(self, batch: int) -> tf.data.Dataset:
        """Return the current epoch's batches from ``batch`` (counted from 0) on, to resume in the middle of it."""
        return self._dataset(batch)

    def on_epoch_begin(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Follow ``fit``'s epochs, which may start above 0."""
        self._epoch["epoch"] = epoch
