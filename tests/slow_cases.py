"""Cases of which ``make test`` runs some and ``make test-slow`` the others."""

from collections.abc import Container, Iterable
from typing import Any

import pytest


def slow_but(quick: Container[Any], values: Iterable[Any]) -> list[Any]:
    """The values as parameters of a test, marked as slow unless they are among ``quick``."""
    return [pytest.param(value, marks=[] if value in quick else pytest.mark.slow) for value in values]
