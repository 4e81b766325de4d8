"""Batches for ``model.fit``, ``evaluate`` and ``predict``: those that ``train`` makes, from texts or from ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.backend import check_tensorflow

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import tensorflow as tf

    from dense_lstm_zoo.classification.vocabulary import Vocabulary

_BATCH_SIZE = 200  # that of ``train``
_MOST_FREQUENT = 50_000


def text_dataset(
    texts: Iterable[str],
    labels: Iterable[Any] | None = None,
    *,
    batch_size: int = _BATCH_SIZE,
    shuffle: bool = True,
    seed: int = 1,
    sample_weight: Iterable[float] | None = None,
    vocabulary: Vocabulary | None = None,
    label_names: Iterable[str] | None = None,
    chars: bool = False,
    max_tokens: int | None = None,
    oov: str | None = None,
    vectors: str | Path | None = None,
    vector_words: int = _MOST_FREQUENT,
) -> tf.data.Dataset:
    """Return raw texts and their labels as batches of (token ids, labels) for ``model.fit``.

    They are the batches of ``train``: texts of similar length together, padded to a few lengths, and, for the same
    texts, ``batch_size`` and ``seed``, in the same order. Each pass over the dataset is another epoch, with another
    order, and every text comes once. The number of batches is known, so ``fit`` shows how far an epoch is.

    Without labels, batches hold only ids and texts stay in their order: ``predict`` returns one row per text.

    Args:
        texts: Strings.
        labels: One per text: names, or integers from 0. Or where texts may have several, a list of them for each. None
            for texts to predict.
        batch_size: Texts per batch.
        shuffle: Whether labelled texts come in another order in each epoch. Otherwise they are sorted by length.
        seed: Seed for the order.
        sample_weight: How much each text counts in the loss, one number per text. Batches are then (ids, labels,
            weights).
        vocabulary: A vocabulary to use, that of the training data or a bundle's. By default one is built from
            ``texts``.
        label_names: The names of the labels in the order of their indices. By default those that occur, sorted.
            Required with ``vocabulary``, so that labels keep the indices of the training data.
        chars: Whether ids of characters are needed as well, for models built with ``char_filters``. Batches then hold a
            dictionary with ``token_ids`` and ``char_ids``.
        max_tokens: Only the first tokens of a text are used. None means all.
        oov: What happens to unknown words, as in ``train``: ``"unk"`` or ``"drop"``.
        vectors: A word table's name or a file of word vectors to start from.
        vector_words: How many of its first words are added to the vocabulary.

    Returns:
        A ``tf.data.Dataset`` with three more attributes: ``vocabulary``, ``label_names`` (a tuple of strings, None
        without labels and names) and ``model_arguments``, what ``build`` needs to know: ``vocab_size``,
        ``num_classes``, ``labels`` where texts may have several, ``num_chars`` and, with ``vectors``,
        ``embedding_matrix`` and its sizes. A dataset that is derived from it (``map``, ``take``) does not have them.

    Raises:
        TypeError: Texts that are not strings, or labels that are neither strings nor integers.
        ValueError: No texts, another number of labels or weights, an unknown label (with near matches), or one out of
            range. Texts to predict without ``vocabulary``, options of a vocabulary beside ``vocabulary``.

    Example:
        >>> train = text_dataset(["a fine film", "dull", "a bad film"], ["up", "down", "down"], batch_size=2)
        >>> train.label_names, train.vocabulary.size, int(train.cardinality())
        (('down', 'up'), 7, 2)
        >>> dev = text_dataset(["fine"], ["up"], vocabulary=train.vocabulary, label_names=train.label_names)
        >>> [(ids.tolist(), labels.tolist()) for ids, labels in dev.as_numpy_iterator()]
        [([[4, 0, 0, 0]], [1])]
    """
    checks.sequence(texts)
    texts = [text for chunk in checks.text_chunks(texts, 1 << 20) for text in chunk]
    if not texts:
        raise ValueError("text_dataset needs at least one text; received none.")
    options: dict[str, Any] = {"chars": chars, "max_tokens": max_tokens, "oov": oov, "vectors": vectors}
    if vocabulary is None and labels is None:
        raise ValueError("Texts to predict need the vocabulary of the training data: vocabulary=train.vocabulary.")
    if vocabulary is not None and not hasattr(vocabulary, "text_to_ids"):
        raise TypeError(
            f"vocabulary must be that of another dataset or of a bundle; received {type(vocabulary).__name__}. Give "
            "train.vocabulary or bundle.vocabulary."
        )
    if vocabulary is not None and (conflicts := [name for name, value in options.items() if value]):
        raise ValueError(f"{', '.join(conflicts)} belong to a vocabulary that is built; vocabulary= has its own.")
    if vocabulary is not None and labels is not None and label_names is None:
        raise ValueError(
            "Labels of texts with the vocabulary of other data also need its names, or they could get other indices: "
            "label_names=train.label_names."
        )
    _check(batch_size, seed)
    names = None if label_names is None else tuple(label_names)
    from dense_lstm_zoo.classification import fit_inputs

    if labels is not None:
        labels, names = fit_inputs.labels_of(labels, len(texts), names)
    weights = _weights(sample_weight, labels, len(texts))
    matrix = None
    if vocabulary is None:
        vocabulary, matrix = vocabulary_of(texts, vector_words=vector_words, **options)
    dataset = _batches(vocabulary.text_to_ids().encode(texts), labels, weights, batch_size, shuffle, seed)
    dataset.vocabulary, dataset.label_names = vocabulary, names
    is_several = labels is not None and labels.ndim == 2
    dataset.model_arguments = model_arguments(vocabulary, names, matrix, is_several=is_several)
    return dataset


def vocabulary_of(
    texts: Sequence[str],
    *,
    chars: bool = False,
    max_tokens: int | None = None,
    oov: str | None = None,
    vectors: str | Path | None = None,
    vector_words: int = _MOST_FREQUENT,
) -> tuple[Vocabulary, np.ndarray | None]:
    """Return the vocabulary of training texts, and its word vectors if there are any. See ``text_dataset``."""
    import dataclasses

    from dense_lstm_zoo.classification.vocabulary import build_vocabulary

    new = build_vocabulary(texts, vectors=vectors, vector_words=vector_words, oov=oov)
    return dataclasses.replace(new.with_chars if chars else new.vocabulary, max_tokens=max_tokens), new.matrix


def bucketed(
    ids: Any,
    labels: Iterable[Any] | None = None,
    *,
    lengths: npt.ArrayLike | None = None,
    batch_size: int = _BATCH_SIZE,
    shuffle: bool = True,
    seed: int = 1,
    sample_weight: Iterable[float] | None = None,
    vocab_size: int | None = None,
    num_classes: int | None = None,
) -> tf.data.Dataset:
    """Return ids of your own and their labels as batches bucketed by length, for ``model.fit``.

    Order, epochs, weights and data without labels are as for ``text_dataset``. Id 0 is padding and 1 is the unknown
    word. A text without any id becomes one unknown word.

    Args:
        ids: The ids of each text: lists or arrays (tokens,), a ``tf.RaggedTensor``, or an array (texts, time)
            right-padded with 0. For models with more inputs, a dictionary of them with ``token_ids``, such as
            ``char_ids`` (texts, time, 24).
        labels: One integer per text, from 0, or a list of them for each where texts may have several. None for texts to
            predict.
        lengths: How many ids of each row are real. By default all before the padding.
        batch_size: Texts per batch.
        shuffle: Whether labelled texts come in another order in each epoch. Otherwise they are sorted by length.
        seed: Seed for the order.
        sample_weight: How much each text counts in the loss, one number per text.
        vocab_size: Checks that ids are below it.
        num_classes: Checks that labels are below it.

    Raises:
        TypeError: Ids or labels that are not integers.
        ValueError: No texts, another number of labels, lengths or weights, an id or label out of range, padding before
            the last id of a row.

    Example:
        >>> batches = bucketed([[2, 3, 4, 5, 6], [7, 8], [9]], [0, 1, 1], batch_size=2, shuffle=False)
        >>> [(ids.tolist(), labels.tolist()) for ids, labels in batches.as_numpy_iterator()]
        [([[7, 8, 0, 0], [9, 0, 0, 0]], [1, 1]), ([[2, 3, 4, 5, 6, 0]], [0])]
    """
    from dense_lstm_zoo.classification import fit_inputs

    _check(batch_size, seed)
    rows = fit_inputs.rows_of(ids, lengths, vocab_size)
    if labels is not None:
        labels = fit_inputs.class_targets(labels, len(rows), num_classes)
    return _batches(rows, labels, _weights(sample_weight, labels, len(rows)), batch_size, shuffle, seed)


def _check(batch_size: int, seed: int) -> None:
    checks.integer("batch_size", batch_size)
    checks.integer("seed", seed, minimum=0)
    check_tensorflow("text_dataset and bucketed")


def _weights(sample_weight: Iterable[float] | None, labels: np.ndarray | None, num_texts: int) -> np.ndarray | None:
    from dense_lstm_zoo.classification import fit_inputs

    if sample_weight is None:
        return None
    if labels is None:
        raise ValueError("sample_weight is for texts with labels; received none. Give labels, or leave it out.")
    return fit_inputs.weights_of(sample_weight, num_texts)


def _batches(
    rows: list[Any], labels: np.ndarray | None, weights: np.ndarray | None, batch_size: int, shuffle: bool, seed: int
) -> tf.data.Dataset:
    from dense_lstm_zoo.classification.batches import TrainingBatches, batches_in_order, evaluation_batches

    if labels is None:
        return batches_in_order(rows, batch_size)
    if not shuffle:
        return evaluation_batches(rows, labels, batch_size, weights)
    return TrainingBatches(rows, labels, batch_size=batch_size, seed=seed, weights=weights).dataset


def model_arguments(
    vocabulary: Vocabulary, names: tuple[str, ...] | None, matrix: np.ndarray | None, *, is_several: bool = False
) -> dict[str, Any]:
    """Return the arguments of a model that follow from the data, as ``train`` sets them."""
    arguments: dict[str, Any] = {"vocab_size": vocabulary.size, "num_frozen_words": vocabulary.num_frozen_words}
    if vocabulary.chars:
        arguments["num_chars"] = vocabulary.num_chars
    if names is not None:
        arguments["num_classes"] = len(names)
    if is_several:
        arguments["labels"] = "several"
    return arguments if matrix is None else {**arguments, "embedding_dim": matrix.shape[1], "embedding_matrix": matrix}
