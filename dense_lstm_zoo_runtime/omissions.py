"""Words left out of a text, one group after another, to see what each contributes, within bounds."""

from __future__ import annotations

import numpy as np

from dense_lstm_zoo_runtime.batches import BATCH

_MOST_VARIANTS = 128  # of a text
_MOST_TOKENS = 1 << 14  # of all variants together: about a second of one core
_STEP_TOKENS = 1024  # of the variants that are answered together, so that others wait for a short time only


def group_size(tokens: int) -> int:
    """Return how many neighbouring words are left out together.

    Example:
        >>> [group_size(tokens) for tokens in (0, 20, 128, 200, 2000)]
        [1, 1, 1, 3, 245]
    """
    return max(1, -(-tokens // _MOST_VARIANTS), -(-(tokens**2) // _MOST_TOKENS))


def variants_per_step(tokens: int) -> int:
    """Return how many variants of a text are answered together: one at least, and no more than a batch."""
    return min(BATCH, max(1, _STEP_TOKENS // max(1, tokens)))


def effects(whole: np.ndarray, variants: np.ndarray, label: int, *, is_several: bool = False) -> list[float]:
    """Return how much the log odds of a label are lower in each variant than in the whole text.

    Args:
        whole: Logits of the whole text, (1, labels).
        variants: Logits of the variants, (variants, labels).
        label: The position of the label.
        is_several: Whether texts may have several labels. Then a logit is the log odds of its label.

    Example:
        >>> effects(np.array([[1.0, 3.0]]), np.array([[1.0, 2.5], [1.0, 4.0]]), 1)
        [0.5, -1.0]
    """
    if is_several:
        return (whole[:, label].astype(np.float64) - variants[:, label]).tolist()
    return (_log_odds(whole, label) - _log_odds(variants, label)).tolist()


def _log_odds(logits: np.ndarray, label: int) -> np.ndarray:
    """Return log(p / (1 - p)) of a label, (texts,), from logits, since 1 - p may be too small for a float."""
    if logits.shape[1] == 1:
        return np.zeros(len(logits))
    others = np.delete(logits.astype(np.float64), label, axis=1)
    largest = others.max(axis=1)
    return logits[:, label] - largest - np.log(np.exp(others - largest[:, None]).sum(axis=1))
