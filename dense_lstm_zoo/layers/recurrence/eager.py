"""Values of tensors where there are any: checks of masks and ids are made at once in a call outside of graphs."""

from __future__ import annotations

from typing import Any

import numpy as np


def known_values(tensor: Any) -> np.ndarray | None:
    """Return a tensor's values; None while a model is built or traced, and for one on PyTorch's GPU."""
    try:
        return np.asarray(tensor)
    except (NotImplementedError, TypeError, ValueError):
        return None
