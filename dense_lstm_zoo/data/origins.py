"""Where a corpus was read from, so that a run can say how to read it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ATTRIBUTE = "_origin"


def remember(corpus: Any, origin: Mapping[str, Any]) -> Any:
    """Note in a corpus the arguments that read it, ``dataset`` and the options of files; return the corpus.

    The note is no field: ``dataclasses.replace`` makes another corpus, which these arguments would not read.
    """
    object.__setattr__(corpus, _ATTRIBUTE, dict(origin))
    return corpus


def of(corpus: Any) -> dict[str, Any] | None:
    """Return the arguments that read a corpus, or None for one that was made in Python."""
    found: dict[str, Any] | None = getattr(corpus, _ATTRIBUTE, None)
    return found
