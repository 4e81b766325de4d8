"""Texts dealt out to folds, so that each has its share of every label."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def strata(targets: np.ndarray) -> np.ndarray:
    """Return the label that each text is divided by: its own, or of several the rarest, (texts,).

    The rarest decides because it leaves the least choice (Sechidis et al. 2011, section 3). Texts without any label are
    a group of their own, after the last label.

    Args:
        targets: What ``Split.targets`` returns.

    Example:
        >>> from dense_lstm_zoo.classification.split import Split
        >>> strata(Split(list("abcd"), [[0, 1], [0], [0], []]).targets(2)).tolist()
        [1, 0, 0, 2]
    """
    import numpy as np

    if targets.ndim == 1:
        return targets
    rarity = np.where(targets > 0, targets.sum(axis=0, dtype=int), np.iinfo(int).max)
    return np.where(targets.any(axis=1), rarity.argmin(axis=1), targets.shape[1])


def deal_out(labels: np.ndarray, folds: int) -> np.ndarray:
    """Return the fold of each example, from 0: every label is spread evenly over the folds.

    Example:
        >>> import numpy as np
        >>> np.bincount(deal_out(np.array([0, 1] * 6), 3)).tolist()
        [4, 4, 4]
    """
    import numpy as np

    generator = np.random.Generator(np.random.PCG64(0))
    fold_of = np.empty(len(labels), int)
    dealt = 0  # labels are dealt out like cards, each continuing where the last ended, so that folds are even
    for label in np.unique(labels):
        members = generator.permutation(np.flatnonzero(labels == label))
        fold_of[members] = (np.arange(len(members)) + dealt) % folds
        dealt += len(members)
    return fold_of


def folds_of(targets: np.ndarray, folds: int) -> np.ndarray:
    """Return the fold of each text, from 0: every label is spread over the folds, also those that do not divide texts.

    A label whose texts all come to one fold, so that no other fold teaches it, has one of them exchanged for a text of
    another fold, if no other label loses by that.

    Args:
        targets: What ``Split.targets`` returns.
        folds: The number of folds.

    Example:
        >>> import numpy as np
        >>> targets = np.array([[1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0], *[[0, 0, 0]] * 4])
        >>> fold_of = folds_of(targets, 2)
        >>> [targets[fold_of == fold].any(axis=0).tolist() for fold in range(2)]
        [[True, True, True], [True, True, True]]
    """
    import numpy as np

    divided_by = strata(targets)
    fold_of = deal_out(divided_by, folds)
    if targets.ndim == 1:
        return fold_of

    def in_one_fold() -> np.ndarray:
        is_in = np.array([targets[fold_of == fold].any(axis=0) for fold in range(folds)])
        return np.flatnonzero((is_in.sum(axis=0) == 1) & ((targets > 0).sum(axis=0) > 1))

    for label in in_one_fold():
        before = in_one_fold()
        if label not in before:
            continue
        texts = np.flatnonzero(targets[:, label])
        # Those that are divided by the same label come first, so that this one stays as evenly spread.
        others = (np.argsort(divided_by != divided_by[text], kind="stable") for text in texts)
        for pair in ([text, other] for text, order in zip(texts, others, strict=True) for other in order):
            fold_of[pair] = fold_of[pair[::-1]]
            if len(in_one_fold()) < len(before):
                break
            fold_of[pair] = fold_of[pair[::-1]]
    return fold_of


def give_back(is_dev: np.ndarray, targets: np.ndarray) -> None:
    """Move a text from dev to training for each label that has all of its texts in dev, the rarest label first.

    Texts are divided by the rarest of their labels, so that nothing else keeps the texts of another one together.

    Args:
        is_dev: Whether each text is in dev, (texts,), which changes.
        targets: What ``Split.targets`` returns of texts with several labels.

    Example:
        >>> import numpy as np
        >>> is_dev = np.array([True, False, True, False])
        >>> give_back(is_dev, np.array([[1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0]]))
        >>> is_dev.tolist()
        [False, False, True, False]
    """
    import numpy as np

    numbers = targets.sum(axis=0, dtype=int)
    in_train = targets[~is_dev].sum(axis=0, dtype=int)
    for label in np.argsort(numbers, kind="stable"):
        if numbers[label] and not in_train[label]:
            text = np.flatnonzero(is_dev & (targets[:, label] > 0))[0]
            is_dev[text] = False
            in_train += targets[text]
