"""The schedule of a classifier's training by the number of its texts, where neither user nor recipe sets it."""

from __future__ import annotations

import math

_STEPS = 60  # per epoch, as long as the batch keeps to its bounds
# Texts. Below, a step computes little. Above, the memory traffic of long texts costs more than it saves.
_BATCH = 16, 200
_PATIENCE = 5, 100  # epochs, steps
_EPOCHS = 30, 900


def schedule(num_texts: int) -> dict[str, int]:
    """Return batch size, patience and epochs of a training on ``num_texts`` texts.

    An epoch has at least 60 steps from 1,000 texts on. Fewer texts are read more often, as patience and epochs also
    have a least number of steps.

    Args:
        num_texts: Training texts.

    Example:
        >>> schedule(100)
        {'batch_size': 16, 'patience': 15, 'epochs': 129}
        >>> schedule(5_000)
        {'batch_size': 83, 'patience': 5, 'epochs': 30}
        >>> schedule(100_000)
        {'batch_size': 200, 'patience': 5, 'epochs': 30}
    """
    batch_size = min(max(num_texts // _STEPS, _BATCH[0]), _BATCH[1])
    steps = math.ceil(num_texts / batch_size)
    patience, epochs = (max(least, math.ceil(all_steps / steps)) for least, all_steps in (_PATIENCE, _EPOCHS))
    return {"batch_size": batch_size, "patience": patience, "epochs": epochs}
