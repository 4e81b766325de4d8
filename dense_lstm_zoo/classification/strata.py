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
    another fold, if that takes no other label's texts from all folds but one.

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

    has = targets > 0
    texts, labels = np.nonzero(has)
    totals = has.sum(axis=0)
    counts = np.array([has[fold_of == fold].sum(axis=0) for fold in range(folds)])

    def is_alone() -> np.ndarray:
        return ((counts == totals) & (totals > 1)).any(axis=0)

    def exchange(label: int) -> bool:
        home = counts[:, label].argmax()
        is_last = (counts == totals - 1) & (totals > 1)  # one more text of these labels in a fold, and no other has any
        for text in np.flatnonzero(has[:, label]):
            fits = np.zeros(len(has), bool)
            for fold in np.flatnonzero(np.arange(folds) != home):
                fits |= (fold_of == fold) & has[:, is_last[fold] & has[text]].all(axis=1)
            fits[texts[(is_last[home] & ~has[text])[labels]]] = False
            if len(others := np.flatnonzero(fits)):
                # One that is divided by the same label, if there is any, so that this one stays as evenly spread.
                other = others[np.argmax(divided_by[others] == divided_by[text])]
                counts[home] += has[other].astype(int) - has[text]
                counts[fold_of[other]] += has[text].astype(int) - has[other]
                fold_of[[text, other]] = fold_of[[other, text]]
                return True
        return False

    # An exchange may make another one possible that was not before.
    while sum(exchange(label) for label in np.flatnonzero(is_alone()).tolist() if is_alone()[label]):
        pass
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
